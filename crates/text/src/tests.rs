//! Tests of folding, words and hidden characters.

use super::words::words;
use super::{HiddenKind, hidden};

fn folded(text: &str) -> Vec<String> {
    words(text).into_iter().map(|w| w.text).collect()
}

#[test]
fn crisis_text_folds_costumes() {
    assert_eq!(
        folded("Ｆｕｌｌ Ⓒircled 𝔪ath éàü Straße"),
        ["full", "circled", "math", "eau", "strasse"]
    );
    assert_eq!(folded("Don’t stop. Go"), ["dont", "stop", "", "go"]);
    assert_eq!(folded("j'ai"), ["j", "ai"]);
    assert_eq!(folded("死にタイ"), ["死", "に", "た", "い"]);
    assert_eq!(folded("أُريد"), ["اريد"]);
}

#[test]
fn crisis_text_joins_spelled_words_and_keeps_places() {
    assert_eq!(folded("k i l l  m y s e l f"), ["kill", "myself"]);
    assert_eq!(folded("s.u.i.c"), ["suic"]);
    let list = words("é k-i-l-l");
    let word = list.last().unwrap();
    assert_eq!((word.text.as_str(), word.start, word.end), ("ekill", 0, 10));
}

#[test]
fn crisis_text_unmasks_lookalikes_only_where_scripts_mix() {
    assert_eq!(folded("dіе"), ["die"]);
    assert_eq!(folded("уже"), ["уже"]);
}

#[test]
fn hidden_characters_are_found_where_they_are() {
    let kinds = |text: &str| hidden(text).into_iter().map(|h| h.kind).collect::<Vec<_>>();
    assert!(hidden("plain ASCII, tabs\tand lines\n, and ünïcode μs 中文").is_empty());
    assert_eq!(kinds("a\u{200B}b"), [HiddenKind::ZeroWidth]);
    assert_eq!(kinds("a\u{202E}b"), [HiddenKind::Bidi]);
    assert_eq!(kinds("a\u{E0041}\u{E0042}"), [HiddenKind::Tag]);
    assert_eq!(kinds("a\u{1B}[31mb\u{1B}[0m"), [HiddenKind::Control, HiddenKind::Control]);
    assert_eq!(kinds("rm\rls"), [HiddenKind::Control]);
    assert_eq!(kinds("windows\r\n"), []);
    assert_eq!(kinds("pаypal"), [HiddenKind::MixedScript]);
    assert_eq!(kinds("привет world"), []);
    let found = hidden("x \u{1B}[31mred").first().copied().unwrap();
    assert_eq!((found.span.start, found.span.end), (2, 7));
}
