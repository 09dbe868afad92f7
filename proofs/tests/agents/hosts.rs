//! The hosts as they are: what each does with its hook's answer, its silence and its death.

use countersign_gateways::live::{SUBJECTS, named};

use crate::bench::{HARM, trial};

#[test]
fn without_a_gate_the_harm_is_done() {
    let only = std::env::var("AGENT").ok();
    for subject in SUBJECTS {
        if only.as_deref().is_some_and(|name| name != subject.name) {
            continue;
        }
        let Some(trial) = trial(subject, HARM, 90, |_| {}) else { continue };
        println!("{} {:?} {}", subject.name, trial.run.took, trial.ran);
        if only.is_some() {
            assert!(trial.seen.proposed && trial.ran, "{}: {trial:?}", subject.name);
        }
    }
    let _ = named("claude");
}
