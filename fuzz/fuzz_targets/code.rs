//! Code in every language we know: the first byte chooses, the rest is the text.
#![no_main]

use countersign_risk::assess::with_all_readers;
use countersign_risk::code::Language;
use countersign_risk::context::Context;
use countersign_risk::finding::{Doubt, Findings};
use countersign_risk::readers::{read_cmd, read_code, read_powershell};
use countersign_types::tier::Tier;
use libfuzzer_sys::fuzz_target;

fn assess(first: u8, text: &str) -> Findings {
    let mut findings = Findings::default();
    let ctx = with_all_readers(Context::default());
    let lang = match first % 8 {
        0 => Language::Python,
        1 => Language::JavaScript,
        2 => Language::Perl,
        3 => Language::Ruby,
        4 => Language::Php,
        5 => Language::Other,
        6 => {
            read_powershell(text, &ctx, &mut findings);
            return findings;
        }
        _ => {
            read_cmd(text, &ctx, &mut findings);
            return findings;
        }
    };
    read_code(lang, text, 0, &ctx, &mut findings);
    findings
}

/// A harmless line in front of a text.
fn noise(first: u8) -> &'static str {
    match first % 8 {
        0 => "print(1)\n",
        1 | 2 | 5 => "1;\n",
        3 => "puts 1\n",
        4 => "echo 1;\n",
        _ => "echo start\n",
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let found = assess(first, text);
    assert_eq!(format!("{found:?}"), format!("{:?}", assess(first, text)), "two answers");
    for finding in &found {
        let Some(span) = finding.span else { continue };
        let (start, end) = (span.start as usize, span.end as usize);
        assert!(text.get(start..end).is_some(), "{} stands at {start}..{end}", finding.code);
    }
    if found.has_doubt(Doubt::Unreadable) {
        assert!(found.tier() >= Tier::Medium, "unread and {:?}", found.tier());
    }
    // PowerShell joins a line that begins with a pipe to the one before it.
    if first % 8 == 6 && text.trim_start().starts_with('|') {
        return;
    }
    let noisy = assess(first, &format!("{}{text}", noise(first))).tier();
    assert!(noisy >= found.tier(), "noise lowers {:?} to {noisy:?}", found.tier());
});
