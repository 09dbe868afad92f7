//! What people are shown: one line, nothing hidden, and different texts look different.
#![no_main]

use countersign_text::sanitize::{show, show_within};
use libfuzzer_sys::fuzz_target;

// Two texts in one: cut at the first NUL byte.
fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (one, other) = text.split_once('\0').unwrap_or((text, ""));
    let (first, second) = (show(one), show(other));
    if one != other {
        assert_ne!(first.text, second.text, "two texts look alike");
    }
    for (source, shown) in [(one, &first), (other, &second), (text, &show(text))] {
        assert_eq!(shown.altered, shown.text != source);
        assert_eq!(shown.hidden_bytes, 0);
        let turns = |c| matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
        let bad = |c: char| c.is_control() || turns(c);
        assert!(!shown.text.contains(bad), "{:?}", shown.text);
    }
    // A cut text says so, and what it shows is where the whole begins.
    let limit = one.len() % 64;
    let cut = show_within(one, limit);
    if cut.hidden_bytes > 0 {
        let kept = cut.text.rsplit_once('⟨').map_or("", |(kept, _)| kept);
        assert!(first.text.starts_with(kept), "{kept:?} is not the start of {:?}", first.text);
        assert!(kept.len() <= limit);
    }
});
