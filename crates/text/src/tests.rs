//! Tests of folding, words and hidden characters.

use super::words::split_words;
use super::{HiddenKind, hidden};

fn folded(text: &str) -> Vec<String> {
    split_words(text).into_iter().map(|w| w.text).collect()
}

#[test]
fn styled_letters_are_folded() {
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
fn spelled_words_are_joined_and_keep_their_offsets() {
    assert_eq!(folded("k i l l  m y s e l f"), ["kill", "myself"]);
    assert_eq!(folded("s.u.i.c"), ["suic"]);
    let list = split_words("é k-i-l-l");
    let word = list.last().unwrap();
    assert_eq!((word.text.as_str(), word.start, word.end), ("ekill", 0, 10));
}

#[test]
fn lookalikes_become_latin_only_in_words_of_mixed_scripts() {
    assert_eq!(folded("dіе"), ["die"]);
    assert_eq!(folded("уже"), ["уже"]);
}

#[test]
fn hidden_characters_are_found_with_their_offsets() {
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
