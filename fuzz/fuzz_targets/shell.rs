//! The shell reader: no panic, no hang, spans inside the text, nothing unread below MEDIUM,
//! and no tier that noise before or behind the text lowers.
#![no_main]

use countersign_risk::assess::with_all_readers;
use countersign_risk::context::Context;
use countersign_risk::finding::{Doubt, Findings};
use countersign_risk::readers::read_shell;
use countersign_shell::posix;
use countersign_types::tier::Tier;
use libfuzzer_sys::fuzz_target;

/// Harmless text before and behind a command.
const NOISE: [(&str, &str); 7] = [
    ("true\n", ""),
    ("echo start; ", ""),
    (": <<'END'\nit's\nEND\n", ""),
    ("# it's a note\n", "\n# done"),
    ("", "\necho done"),
    ("( ", "\n)"),
    ("if true; then ", "\nfi"),
];

fn assess(text: &str) -> Findings {
    let mut findings = Findings::default();
    read_shell(text, 0, &with_all_readers(Context::default()), 0, &mut findings);
    findings
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let found = assess(text);
    assert_eq!(format!("{found:?}"), format!("{:?}", assess(text)), "two answers");
    for finding in &found {
        let Some(span) = finding.span else { continue };
        let (start, end) = (span.start as usize, span.end as usize);
        assert!(text.get(start..end).is_some(), "{} stands at {start}..{end}", finding.code);
    }
    if found.has_doubt(Doubt::Unreadable) || posix::check(text).is_err() {
        assert!(found.tier() >= Tier::Medium, "unread and {:?}", found.tier());
        assert!(found.has_doubt(Doubt::Unreadable));
    } else {
        for (before, after) in NOISE {
            // A backslash at the end takes the line break behind it, an open here-document all.
            if !after.is_empty() && (text.ends_with('\\') || text.contains("<<")) {
                continue;
            }
            let longer = format!("{before}{text}{after}");
            let noisy = assess(&longer).tier();
            // An open here-document takes what closes the text: bash runs nothing of it then.
            let least = match posix::check(&longer) {
                Ok(()) => found.tier(),
                Err(_) => found.tier().min(Tier::Medium),
            };
            assert!(
                noisy >= least,
                "{before:?} and {after:?} lower {:?} to {noisy:?}",
                found.tier()
            );
        }
    }
    // The oracles' view walks the same tree.
    let _ = posix::commands(text);
});
