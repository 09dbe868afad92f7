//! Shell text: never a panic, same answer twice, spans inside the text, unreadable is never safe.
#![no_main]

use countersign_core::context::Context;
use countersign_core::finding::{Doubt, Findings};
use countersign_core::shell;
use countersign_core::tier::Tier;
use libfuzzer_sys::fuzz_target;

fn judge(text: &str) -> Findings {
    let mut findings = Findings::default();
    shell::read_nested(text, 0, &Context::default(), 0, &mut findings);
    findings
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let found = judge(text);
    assert_eq!(format!("{found:?}"), format!("{:?}", judge(text)), "two answers");
    for finding in &found.list {
        let Some(span) = finding.span else { continue };
        let (start, end) = (span.start as usize, span.end as usize);
        assert!(text.get(start..end).is_some(), "{} stands at {start}..{end}", finding.code);
    }
    if shell::readable(text).is_err() {
        assert!(found.tier() >= Tier::Medium, "unreadable and {:?}", found.tier());
        assert!(found.has_doubt(Doubt::Unreadable));
    }
    // The oracles' view walks the same tree.
    let _ = shell::commands(text);
});
