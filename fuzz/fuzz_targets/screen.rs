//! Crisis text: same answer twice, spans on characters of the text, a card exactly where a crisis
//! is likely or possible.
#![no_main]

use countersign_crisis::{Concern, ScreenOptions, screen};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let found = screen(text, &ScreenOptions::default());
    assert_eq!(found, screen(text, &ScreenOptions::default()), "two answers");
    assert_eq!(found.card.is_some(), found.crisis || found.concern != Concern::None);
    assert!(found.level <= 6);
    for signal in &found.signals {
        let (start, end) = (signal.span.start as usize, signal.span.end as usize);
        assert!(text.get(start..end).is_some(), "{} stands at {start}..{end}", signal.rule);
    }
});
