//! No two texts look alike, and nothing that hides or reorders is displayed.

use proptest::prelude::*;

use super::*;

fn shown(text: &str) -> String {
    sanitize(text).text.into_owned()
}

#[test]
fn plain_text_is_borrowed() {
    let text = r#"git commit -m "it's \n $HOME" && ls ~/x | grep '[a-z]'"#;
    let found = sanitize(text);
    assert!(matches!(found.text, Cow::Borrowed(same) if same == text));
    assert!(!found.altered && !found.deceptive && !found.right_to_left);
}

#[test]
fn tricks_become_visible() {
    for (text, wanted) in [
        ("a\u{1b}[31mb", "a⟨ESC⟩[31mb"),
        ("a\u{9b}31m\u{7f}\0\u{7}\u{8}", "a⟨U+009B⟩31m⟨DEL⟩⟨NUL⟩⟨BEL⟩⟨BS⟩"),
        ("ls\rrm", "ls⟨CR⟩rm"),
        ("txt.\u{202e}cod", "txt.⟨U+202E⟩cod"),
        ("\u{2066}a\u{2069}\u{61c}", "⟨U+2066⟩a⟨U+2069⟩⟨U+061C⟩"),
        ("r\u{200b}m\u{feff}\u{2060}\u{ad}", "r⟨U+200B⟩m⟨U+FEFF⟩⟨U+2060⟩⟨U+00AD⟩"),
        ("x\u{e0041}\u{e007f}", "x⟨U+E0041⟩⟨U+E007F⟩"),
        ("a\u{2003}b\u{3164}\u{2800}", "a⟨U+2003⟩b⟨U+3164⟩⟨U+2800⟩"),
        ("a\u{2028}b\u{2029}", "a⟨U+2028⟩b⟨U+2029⟩"),
        ("\u{440}aypal.com", "⟨U+0440⟩aypal.com"),
        ("\u{430}\u{440}\u{440}.example", "⟨U+0430⟩⟨U+0440⟩⟨U+0440⟩.example"),
        ("run \u{441}\u{443}\u{440}", "run ⟨U+0441⟩⟨U+0443⟩⟨U+0440⟩"),
        ("g\u{3bf}\u{3bf}gle", "g⟨U+03BF⟩⟨U+03BF⟩gle"),
        ("evil\u{2215}x\u{2024}com\u{ff0f}y", "evil⟨U+2215⟩x⟨U+2024⟩com⟨U+FF0F⟩y"),
        ("rm \u{2013}rf \u{2212}x", "rm ⟨U+2013⟩rf ⟨U+2212⟩x"),
        ("\u{ff52}\u{ff4d} \u{1d42b}\u{1d426}", "⟨U+FF52⟩⟨U+FF4D⟩ ⟨U+1D42B⟩⟨U+1D426⟩"),
        ("r\u{200d}m", "r⟨U+200D⟩m"),
        ("http\u{589}//a\u{6d4}b", "http⟨U+0589⟩//a⟨U+06D4⟩b"),
    ] {
        let found = sanitize(text);
        assert_eq!(found.text, wanted, "{text:?}");
        assert!(found.altered && found.deceptive, "{text:?}");
    }
}

#[test]
fn honest_text_stays_readable() {
    for text in [
        "naïve café, Größe, Łódź, ışık, señor — “quoted” … 10 µs, 5 €, 10 kΩ, 3 μs",
        "Привет, как у вас дела? Нос, хор и рука.",
        "Καλημέρα κόσμε",
        "你好，世界；「テスト」（カナ）：２０２４年 한국어",
        "नमस्ते दुनिया, สวัสดี, Բարև աշխարհ։",
        "👍 ok ✅ → ≤ ½ ² ☂",
    ] {
        let found = sanitize(text);
        assert_eq!(found.text, text);
        assert!(!found.altered && !found.deceptive && !found.right_to_left, "{text}");
    }
    for text in ["שלום, עולם", "مرحبا بالعالم ١٠٫٥", "سلام دنیا۔"]
    {
        let found = sanitize(text);
        assert!(!found.altered && found.right_to_left && !found.deceptive, "{text}");
    }
    // Displayed as markers, but not deceptive.
    let ordinary = sanitize("e\u{301}\u{a0}!\r\n👨\u{200d}👩 ❤\u{fe0f}\t⟨x⟩");
    assert_eq!(ordinary.text, "e⟨U+0301⟩⟨U+00A0⟩!⟨CR⟩⏎👨⟨U+200D⟩👩 ❤⟨U+FE0F⟩⇥⟨U+27E8⟩x⟨U+27E9⟩");
    assert!(ordinary.altered && !ordinary.deceptive);
}

#[test]
fn our_own_signs_cannot_be_forged() {
    assert_eq!(shown("⟨ESC⟩"), "⟨U+27E8⟩ESC⟨U+27E9⟩");
    assert_eq!(shown("⏎⇥"), "⟨U+23CE⟩⟨U+21E5⟩");
    assert_eq!(shown("〈ESC〉"), "⟨U+3008⟩ESC⟨U+3009⟩");
}

#[test]
fn padding_is_counted() {
    let spaces = format!("ls{}; rm", " ".repeat(400));
    assert_eq!(shown(&spaces), "ls⟨400 × space⟩; rm");
    assert!(sanitize(&spaces).deceptive);
    assert_eq!(shown(&format!("a{}b", "\n".repeat(90))), "a⟨90 × line break⟩b");
    assert_eq!(shown(&format!("a{}b", "\n ".repeat(90))), "a⟨90 × line break + space⟩b");
    assert_eq!(shown(&format!("a{}b", "\r\n".repeat(90))), "a⟨90 × CR + line break⟩b");
    assert_eq!(shown(&"\u{200b}".repeat(5000)), "⟨5000 × U+200B⟩");
    let indented = format!("x\n{}y", " ".repeat(16));
    assert_eq!(shown(&indented), indented.replace('\n', "⏎"));
    assert!(!sanitize(&indented).deceptive);
    // The fast path detects padding too.
    assert_eq!(shown(&" ".repeat(17)), "⟨17 × space⟩");
    assert!(!sanitize(&" ".repeat(17)).deceptive);
}

#[test]
fn a_cut_says_how_much_is_hidden() {
    let found = sanitize_within("abcdefgh", 5);
    assert_eq!(found.text, "abcde⟨3 more bytes⟩");
    assert_eq!(found.hidden_bytes, 3);
    assert!(found.altered && !found.deceptive);
    // Neither characters nor markers are cut in two.
    assert_eq!(sanitize_within("aéé", 4).text, "aé⟨2 more bytes⟩");
    assert_eq!(sanitize_within("ab\u{202e}cd", 6).text, "ab⟨5 more bytes⟩");
    assert_eq!(sanitize_within("abc", 3).text, "abc");
    assert_eq!(sanitize_within("abc", 0).text, "⟨3 more bytes⟩");
    // A deceptive character in the part cut off still counts.
    assert!(sanitize_within("abcdefgh \u{202e}", 5).deceptive);
    let long = "rm ".repeat(100_000);
    assert_eq!(sanitize_within(&long, 3000).hidden_bytes, 297_000);
}

/// Parses a sanitized text back into its source.
fn read_back(shown: &str) -> String {
    let one = |name: &str| match name {
        "NUL" => '\0',
        "BEL" => '\u{7}',
        "BS" => '\u{8}',
        "tab" => '\t',
        "line break" => '\n',
        "CR" => '\r',
        "ESC" => '\u{1b}',
        "space" => ' ',
        "DEL" => '\u{7f}',
        code => char::from_u32(u32::from_str_radix(code.strip_prefix("U+").unwrap(), 16).unwrap())
            .unwrap(),
    };
    let mut out = String::new();
    let mut rest = shown;
    while let Some(c) = rest.chars().next() {
        rest = rest.split_at(c.len_utf8()).1;
        match c {
            LINE_BREAK => out.push('\n'),
            TAB => out.push('\t'),
            '⟨' => {
                let (marker, tail) = rest.split_once('⟩').unwrap();
                let (times, names) = marker.split_once(" × ").unwrap_or(("1", marker));
                let unit: String = names.split(" + ").map(one).collect();
                out.push_str(&unit.repeat(times.parse().unwrap()));
                rest = tail;
            }
            other => out.push(other),
        }
    }
    out
}

/// Deliberately independent of the allow-list.
fn may_never_come_out(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{61c}' | '\u{feff}' | '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{3164}')
        || matches!(c, '\u{115f}' | '\u{1160}' | '\u{ffa0}' | '\u{2800}' | '\u{2028}' | '\u{2029}')
        || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}')
        || matches!(c, '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

fn tricky() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[ -~]{1,8}",
        2 => any::<char>().prop_map(String::from),
        2 => "[ \t\r\n]{1,40}",
        1 => (prop::sample::select(vec![" ", "\n", " \n", "\t", "\r\n", "\u{200b}", "\u{202e}"]),
              1_usize..80).prop_map(|(unit, times)| unit.repeat(times)),
        2 => "[aeopcxyАВЕКМНОРСТУХасеорухіјѕοιν⟨⟩⏎⇥×+\u{200b}-\u{200f}\u{202a}-\u{202e}]{1,6}",
        1 => prop::sample::select(vec!["⟨ESC⟩", "⟨3 × space⟩", "⟨5 more bytes⟩", "U+202E", "–rf"])
            .prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// Injective: the source can be recovered, so no two texts are displayed alike.
    #[test]
    fn no_two_texts_are_shown_alike(text in tricky()) {
        let found = sanitize(&text);
        prop_assert_eq!(read_back(&found.text), text.as_str());
        prop_assert_eq!(found.hidden_bytes, 0);
        prop_assert_eq!(found.altered, found.text != text);
        prop_assert!(found.altered || !found.deceptive);
    }

    #[test]
    fn nothing_hidden_comes_out(text in tricky(), limit in 0_usize..80) {
        for found in [sanitize(&text), sanitize_within(&text, limit)] {
            let bad = found.text.chars().find(|&c| may_never_come_out(c));
            prop_assert_eq!(bad, None);
        }
    }

    #[test]
    fn a_cut_text_is_a_beginning(text in tricky(), limit in 0_usize..80) {
        let whole = sanitize(&text);
        let cut = sanitize_within(&text, limit);
        prop_assert_eq!(cut.deceptive, whole.deceptive);
        if cut.hidden_bytes == 0 {
            prop_assert_eq!(cut, whole);
        } else {
            let note = format!("⟨{} more bytes⟩", cut.hidden_bytes);
            let head = cut.text.strip_suffix(note.as_str()).unwrap();
            prop_assert!(head.len() <= limit && whole.text.starts_with(head));
            prop_assert_eq!(read_back(head).len() + cut.hidden_bytes, text.len());
        }
    }
}

#[test]
fn every_character_alone_is_safe() {
    for c in '\0'..=char::MAX {
        let text = String::from(c);
        let found = shown(&text);
        assert!(!found.chars().any(may_never_come_out), "{:04X}", u32::from(c));
        assert_eq!(read_back(&found), text);
    }
}

#[test]
fn a_sanitized_text_is_not_escaped_again() {
    let shown = sanitize("a\u{202e}b\nc\td\u{27e8}").text.into_owned();
    assert_eq!(sanitize_again(&shown, usize::MAX), shown);
    assert_eq!(sanitize_again("⟨x⟩\u{202e}\x1b", usize::MAX), "⟨x⟩⟨U+202E⟩⟨ESC⟩");
    assert_eq!(sanitize_again("⟨x⟩ long", 7), "⟨x⟩⟨5 more bytes⟩");
}
