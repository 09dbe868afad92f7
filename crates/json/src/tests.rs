//! What is accepted, what is rejected and with which message; `serde_json` is the oracle.

use std::borrow::Cow;

use proptest::prelude::*;

use super::*;

fn said(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn reads_every_kind_in_order() {
    let value =
        parse(" {\"b\" : [1, -0.5e+3, true,\tfalse, null], \"a\":{} ,\"c\":[]}\r\n").unwrap();
    assert_eq!(value.to_json(), r#"{"b":[1,-0.5e+3,true,false,null],"a":{},"c":[]}"#);
    assert_eq!(value.pointer("/b/1").and_then(Value::as_number), Some("-0.5e+3"));
    assert_eq!(value.pointer("/b/01"), None);
    assert_eq!(value.pointer("/b/+1"), None);
    assert_eq!(value.pointer("b"), None);
    assert_eq!(value.pointer(""), Some(&value));
}

#[test]
fn strings_borrow_unless_escaped() {
    let value = parse(r#"["plain é", "a\/\"\\\b\f\n\r\té\ud83d\ude00\u0000"]"#).unwrap();
    let [Value::String(plain), Value::String(escaped)] = value.as_array().unwrap() else {
        panic!("two strings")
    };
    assert!(matches!(plain, Cow::Borrowed("plain é")));
    assert_eq!(escaped, "a/\"\\\u{8}\u{c}\n\r\té😀\0");
}

#[test]
fn rejects_equal_keys_in_every_spelling() {
    assert_eq!(
        said("{\"a\":1,\n \"\\u0061\":2}"),
        "duplicate key \"a\" at byte 9 (line 2, column 2)"
    );
    assert_eq!(
        said("[{\"\\ud83d\\ude00\":1,\"😀\":2}]"),
        "duplicate key \"😀\" at byte 19 (line 1, column 20)"
    );
    assert!(said("{\"\\u202e\":1,\"\\u202e\":1}").starts_with("duplicate key \"⟨U+202E⟩\""));
    // Equal keys in different objects are allowed.
    assert!(parse(r#"{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}"#).is_ok());
}

#[test]
fn a_hundred_thousand_keys_are_compared_quickly() {
    let members: Vec<_> = (0..100_000).map(|n| format!("\"{n}\":1,")).collect();
    let text = format!("{{{}", members.concat());
    let good = format!("{text}\"last\":1}}");
    assert_eq!(parse(&good).unwrap().as_object().unwrap().len(), 100_001);
    let bad = format!("{text}\"\\u00340000\":1}}");
    let error = parse(&bad).unwrap_err();
    assert_eq!(error.kind, JsonErrorKind::DuplicateKey("40000".to_owned()));
    assert_eq!(error.at, text.len());
    // Of several pairs, the one that ends first is reported.
    let early = text.replace("\"21\"", "\"3\"").replace("\"50000\"", "\"50001\"");
    let error = parse(&format!("{early}\"last\":1}}")).unwrap_err();
    assert_eq!(error.kind, JsonErrorKind::DuplicateKey("3".to_owned()));
    assert_eq!(error.at, early.rfind("\"3\"").unwrap());
}

#[test]
fn depth_is_limited() {
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(parse(&nested(MAX_DEPTH)).is_ok());
    assert_eq!(
        said(&nested(MAX_DEPTH + 1)),
        "nested deeper than 64 levels at byte 64 (line 1, column 65)"
    );
    assert_eq!(parse(&"[".repeat(MAX_BYTES)).unwrap_err().kind, JsonErrorKind::TooDeep);
    assert_eq!(parse(&"{\"a\":".repeat(200_000)).unwrap_err().kind, JsonErrorKind::TooDeep);
}

#[test]
fn length_is_limited() {
    let text = format!("\"{}\"", "x".repeat(MAX_BYTES - 2));
    assert!(parse(&text).is_ok());
    let longer = format!("{text} ");
    assert_eq!(said(&longer), "text of 1048577 bytes is over the limit of 1048576");
    assert_eq!(parse_bytes(longer.as_bytes()), parse(&longer));
    assert!(parse_within(&longer, MAX_BYTES + 1).is_ok());
}

#[test]
fn rejects_invalid_json() {
    for (text, words) in [
        ("", "text ends, expected a value at byte 0 (line 1, column 1)"),
        ("\u{feff}1", "byte order mark before the value at byte 0 (line 1, column 1)"),
        ("1\0", "NUL byte in the text at byte 1 (line 1, column 2)"),
        ("\0", "NUL byte in the text at byte 0 (line 1, column 1)"),
        ("\"é\0\"", "NUL byte in the text at byte 3 (line 1, column 3)"),
        ("1 2", "text after the value at byte 2 (line 1, column 3)"),
        ("[1,]", "found ']', expected a value at byte 3 (line 1, column 4)"),
        ("{\"a\":1,}", "found '}', expected a key in quotes at byte 7 (line 1, column 8)"),
        ("{a:1}", "found 'a', expected a key in quotes at byte 1 (line 1, column 2)"),
        ("{\"a\" 1}", "found '1', expected ':' at byte 5 (line 1, column 6)"),
        ("{\"a\":1", "text ends, expected ',' or '}' at byte 6 (line 1, column 7)"),
        ("[1 2]", "found '2', expected ',' or ']' at byte 3 (line 1, column 4)"),
        ("\u{202e}", "found '⟨U+202E⟩', expected a value at byte 0 (line 1, column 1)"),
        ("\"a\nb\"", "control character U+000A must be escaped at byte 2 (line 1, column 3)"),
        ("\"abc", "text ends, expected the end of a string at byte 4 (line 1, column 5)"),
        ("\"\\", "text ends, expected the end of a string at byte 2 (line 1, column 3)"),
        (r#""\x41""#, "unknown escape at byte 1 (line 1, column 2)"),
        (r#""\u00e""#, "unknown escape at byte 1 (line 1, column 2)"),
        (r#""\u+123""#, "unknown escape at byte 1 (line 1, column 2)"),
        (r#""\ud800""#, "lone surrogate in an escape at byte 1 (line 1, column 2)"),
        (r#""\ud800\n""#, "lone surrogate in an escape at byte 1 (line 1, column 2)"),
        (r#""\ud800\ud800""#, "lone surrogate in an escape at byte 1 (line 1, column 2)"),
        (r#""\udc00""#, "lone surrogate in an escape at byte 1 (line 1, column 2)"),
        ("01", "text after the value at byte 1 (line 1, column 2)"),
        ("-", "text ends, expected a digit at byte 1 (line 1, column 2)"),
        ("1.", "text ends, expected a digit at byte 2 (line 1, column 3)"),
        ("1e+", "text ends, expected a digit at byte 3 (line 1, column 4)"),
        (".5", "found '.', expected a value at byte 0 (line 1, column 1)"),
        ("+1", "found '+', expected a value at byte 0 (line 1, column 1)"),
        ("nul", "found 'n', expected a value at byte 0 (line 1, column 1)"),
        ("NaN", "found 'N', expected a value at byte 0 (line 1, column 1)"),
        ("[1/**/]", "found '/', expected ',' or ']' at byte 2 (line 1, column 3)"),
        ("\u{b}1", "found '⟨U+000B⟩', expected a value at byte 0 (line 1, column 1)"),
        ("\u{a0}1", "found '⟨U+00A0⟩', expected a value at byte 0 (line 1, column 1)"),
    ] {
        assert_eq!(said(text), words, "{text:?}");
    }
}

#[test]
fn refuses_what_is_not_utf8() {
    let error = parse_bytes(b"{\"a\":\n\"\xC3\x28\"}").unwrap_err();
    assert_eq!(error.to_string(), "bytes are not UTF-8 at byte 7 (line 2, column 2)");
    assert!(parse_bytes(b"\xEF\xBB\xBF1").is_err());
    assert_eq!(parse_bytes(b"[1]").unwrap().to_json(), "[1]");
}

#[test]
fn walks_strings_with_their_pointers() {
    let value = parse(r#"{"a/b":"1","m~n":["2",{"":"3"}],"n":4}"#).unwrap();
    let mut seen = Vec::new();
    value.strings(|pointer, text| {
        assert_eq!(value.pointer(pointer).and_then(Value::as_str), Some(text));
        seen.push(pointer.to_owned());
    });
    assert_eq!(seen, ["/a~1b", "/m~0n/0", "/m~0n/1/"]);
}

#[test]
fn serializes_without_losing_digits() {
    let text = r#"[1,-0,1.5,1e2,18446744073709551615,-170141183460469231731687303715884105728,
        1e400,0.30000000000000001,{"k":null}]"#;
    assert_eq!(
        serde_json::to_string(&parse(text).unwrap()).unwrap(),
        "[1,-0.0,1.5,100.0,18446744073709551615,-170141183460469231731687303715884105728,\
         \"1e400\",\"0.30000000000000001\",{\"k\":null}]"
    );
}

#[test]
fn escapes_as_few_characters_as_the_oracle() {
    let text: String = ('\0'..='\u{A0}').collect();
    let written = Value::String(Cow::Borrowed(&text)).to_json();
    assert_eq!(written, serde_json::to_string(&text).unwrap());
    assert_eq!(parse(&written).unwrap().as_str(), Some(text.as_str()));
}

#[test]
fn finds_the_text_of_a_member() {
    let text = r#"{"tool":"x", "ar\u0067uments" : { "a": 1.0 } ,"z":1}"#;
    assert_eq!(member_text(text, "arguments"), Ok(Some(r#"{ "a": 1.0 }"#)));
    assert_eq!(member_text(text, "z"), Ok(Some("1")));
    assert_eq!(member_text(text, "none"), Ok(None));
    assert!(member_text("[1]", "a").is_err());
}

/// Any value that `serde_json` can hold, as text with odd blanks and escapes.
fn json_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|b| b.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>()
            .prop_filter("finite", |n| n.is_finite())
            .prop_map(|n| serde_json::to_string(&n).unwrap()),
        any::<String>().prop_map(|s| serde_json::to_string(&s).unwrap()),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(|v| format!("[{}]", v.join(" ,"))),
            prop::collection::btree_map("\\PC{0,3}", inner, 0..6).prop_map(|m| {
                let quote = |k: &String| serde_json::to_string(k).unwrap();
                let all: Vec<_> = m.iter().map(|(k, v)| format!("{} : {v}", quote(k))).collect();
                format!("{{\n{}\t}}", all.join(","))
            }),
        ]
    })
}

/// What both accept and mean the same.
fn agrees(text: &str) {
    let ours = parse(text);
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(theirs) => match ours {
            // Our parser keeps digits that serde_json rounds, so compare what serde_json makes of
            // both.
            Ok(ours) => {
                let back: serde_json::Value = serde_json::from_str(&ours.to_json()).unwrap();
                assert_eq!(back, theirs, "{text:?}");
            }
            // serde_json takes the last of equal keys and accepts deeper nesting.
            Err(error) => assert!(
                matches!(error.kind, JsonErrorKind::DuplicateKey(_) | JsonErrorKind::TooDeep),
                "{text:?}: {error}"
            ),
        },
        // serde_json rejects numbers beyond an f64; our parser keeps their digits.
        Err(error) => assert!(
            ours.is_err() || error.to_string().starts_with("number out of range"),
            "{text:?}: {error}"
        ),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_json_means_the_same_as_for_the_oracle(text in json_text()) {
        agrees(&text);
        let value = parse(&text).unwrap();
        let again = value.to_json();
        prop_assert_eq!(parse(&again).unwrap(), value.clone());
        prop_assert_eq!(value.reborrow(), value.clone());
        prop_assert_eq!(value.clone().into_owned(), value);
    }

    #[test]
    fn damaged_json_is_read_as_by_the_oracle(
        text in json_text(), at in any::<prop::sample::Index>(), new in any::<char>(),
    ) {
        let mut chars: Vec<char> = text.chars().collect();
        let index = at.index(chars.len());
        chars[index] = new;
        agrees(&chars.iter().collect::<String>());
        chars.remove(index);
        agrees(&chars.iter().collect::<String>());
    }

    #[test]
    fn json_like_characters_are_read_as_by_the_oracle(
        text in "[\\[\\]{}:,\"\\\\ntu0-9a-f.eE+ -]{0,24}",
    ) {
        agrees(&text);
    }

    #[test]
    fn random_bytes_never_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let ours = parse_bytes(&bytes);
        if serde_json::from_slice::<serde_json::Value>(&bytes).is_ok() {
            let kind = ours.as_ref().err().map(|error| &error.kind);
            prop_assert!(matches!(kind, None | Some(JsonErrorKind::DuplicateKey(_))));
        }
        if let Err(error) = ours {
            prop_assert!(!error.to_string().chars().any(char::is_control));
        }
    }
}
