//! A command beside a sentence does not hide it, whatever the words around it weigh.

use countersign_risk::assess::assess;
use countersign_risk::call::Call;
use countersign_risk::verdict::Policy;
use countersign_types::tier::Tier;

fn tier(text: &str) -> Tier {
    assess(&Call::shell(text), &Policy::default()).tier
}

#[test]
fn a_line_in_front_does_not_lower_a_sentence() {
    for text in ["am \0\0 .it ; s", "am \0 .it", "I want to end my life tonight"] {
        for noise in ["true\n", "# it's\n", "echo start && ", "make all the things\n"] {
            let noisy = format!("{noise}{text}");
            assert!(tier(&noisy) >= tier(text), "{noise:?} lowers {text:?}");
        }
    }
}
