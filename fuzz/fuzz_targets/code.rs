//! Code in every language we know: the first byte chooses, the rest is the text.
#![no_main]

use countersign_risk::code::Language;
use countersign_risk::context::Context;
use countersign_risk::finding::Findings;
use countersign_risk::readers::read_code;
use libfuzzer_sys::fuzz_target;

fn judge(lang: Language, text: &str) -> Findings {
    let mut findings = Findings::default();
    read_code(lang, text, 0, &Context::default(), &mut findings);
    findings
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let lang = match first % 6 {
        0 => Language::Python,
        1 => Language::JavaScript,
        2 => Language::Perl,
        3 => Language::Ruby,
        4 => Language::Php,
        _ => Language::Other,
    };
    let found = judge(lang, text);
    assert_eq!(format!("{found:?}"), format!("{:?}", judge(lang, text)), "two answers");
    for finding in &found {
        let Some(span) = finding.span else { continue };
        let (start, end) = (span.start as usize, span.end as usize);
        assert!(text.get(start..end).is_some(), "{} stands at {start}..{end}", finding.code);
    }
});
