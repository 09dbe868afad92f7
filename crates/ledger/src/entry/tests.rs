//! Entries: golden forms, every rejection, and agreement with another canonicalizer.

use super::*;
use countersign_json::Value;

fn policy() -> Digest {
    Digest::of(b"policy")
}

fn full() -> Entry<'static> {
    Entry {
        agent: Some("coder".into()),
        session: Some("s-1".into()),
        person: Some("Ana \"A\" \u{e9}\n".into()),
        request: Some("r-42".into()),
        digest: Some(Digest::of(b"call")),
        facts: vec![
            ("tool".into(), Value::String("Bash".into())),
            ("tier".into(), Value::String("HIGH".into())),
            ("points".into(), Value::Number("3.50".into())),
        ],
        ..Entry::new(1_763_190_000_123, EntryKind::Approve, policy())
    }
}

const POLICY: &str = "823412d1eacb67956220e532959f0104603057c88704863ca38e7cd188fda812";

#[test]
fn golden_forms() {
    let least = Entry::new(0, EntryKind::Start, policy()).encode().unwrap();
    assert_eq!(least, format!(r#"{{"at":0,"kind":"start","policy":"{POLICY}","v":1}}"#));
    let text = full().encode().unwrap();
    let parts = [
        r#"{"agent":"coder","at":1763190000123,"digest":""#,
        &Digest::of(b"call").to_string(),
        r#"","facts":{"points":3.5,"tier":"HIGH","tool":"Bash"},"kind":"approve","#,
        r#""person":"Ana \"A\" é\n","policy":""#,
        POLICY,
        r#"","request":"r-42","session":"s-1","v":1}"#,
    ];
    assert_eq!(text, parts.concat());
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json_canonicalizer::to_string(&value).unwrap(), text);
}

#[test]
fn encoded_entries_are_decoded() {
    for &kind in EntryKind::ALL {
        for at in [0, 1, -1, MAX_TIME, -MAX_TIME] {
            let entry = Entry { at, kind, ..full() };
            let text = entry.encode().unwrap();
            let again = Entry::decode(text.as_bytes()).unwrap();
            assert_eq!((again.at, again.kind), (at, kind));
            assert_eq!(again.encode().unwrap(), text);
        }
    }
    let text = full().encode().unwrap();
    let again = Entry::decode(text.as_bytes()).unwrap();
    assert_eq!(again.person.as_deref(), Some("Ana \"A\" \u{e9}\n"));
    assert_eq!(again.digest, Some(Digest::of(b"call")));
    assert_eq!(again.facts.len(), 3);
}

#[test]
fn the_words_are_stable_and_unique() {
    let words: Vec<&str> = EntryKind::ALL.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(
        words.join(" "),
        "start stop pass ask vote approve deny expire cancel escalate notified notify_failed permit \
         redeem outcome grant revoke used_grant screen crisis_begin crisis_lift \
         crisis_takeover person agent \
         login_failed locked_out config clock gap checkpoint_sent edit quarantine \
         gate_unprotected gate_protected acknowledge \
         clock_rebased frozen thawed label key_rotated certificate judge_release \
         judge_opinion judge_state review_begin review_result review_end roll_back \
         rows_recorded feedback"
    );
    for &kind in EntryKind::ALL {
        assert_eq!(EntryKind::parse(kind.as_str()), Some(kind));
    }
    assert_eq!(EntryKind::parse("Pass"), None);
}

#[test]
fn only_the_canonical_form_is_accepted() {
    let text = Entry::new(7, EntryKind::Pass, policy()).encode().unwrap();
    let refused = |bad: String, why: fn(&EntryError) -> bool| {
        assert_ne!(bad, text);
        let error = Entry::decode(bad.as_bytes()).unwrap_err();
        assert!(why(&error), "{bad}: {error:?}");
    };
    let not_canonical = |error: &EntryError| *error == EntryError::NotCanonical;
    refused(text.replace(':', ": "), not_canonical);
    refused(text.replace("pass", "p\\u0061ss"), not_canonical);
    refused(
        text.replace("\"at\":7", "\"agent\":\"a\",\"at\":7")
            .replace("{\"agent\":\"a\",\"at\":7", "{\"at\":7,\"agent\":\"a\""),
        not_canonical,
    );
    refused(text.replace("\"kind\"", "\"facts\":{},\"kind\""), not_canonical);
    refused(text.replace("\"kind\"", "\"facts\":{\"b\":1,\"a\":1},\"kind\""), not_canonical);
    refused(text.replace("\"kind\"", "\"facts\":{\"a\":1.0},\"kind\""), not_canonical);
    refused(text.replace(":7,", ":-0,"), not_canonical);
    refused(format!("{text}\n"), not_canonical);
    refused(text.replace(":7,", ":7.0,"), |e| *e == EntryError::Time);
    refused(text.replace(":7,", ":9007199254740993,"), |e| *e == EntryError::Time);
    refused(text.replace(":7,", ":\"7\","), |e| *e == EntryError::Time);
    refused(text.replace("\"v\":1", "\"v\":2"), |e| *e == EntryError::Version);
    refused(text.replace("\"v\":1", "\"v\":\"1\""), |e| *e == EntryError::Version);
    refused(text.replace(",\"v\":1", ""), |e| *e == EntryError::Version);
    refused(text.replace("\"at\":7,", ""), |e| *e == EntryError::Missing("at"));
    refused(text.replace("\"kind\":\"pass\",", ""), |e| *e == EntryError::Missing("kind"));
    refused(text.replace("pass", "passed"), |e| matches!(e, EntryError::Kind(_)));
    refused(text.replace(POLICY, "00"), |e| *e == EntryError::Member("policy"));
    let upper = text.replace(POLICY, &POLICY.to_uppercase());
    refused(upper, |e| *e == EntryError::Member("policy"));
    let null = text.replace("\"kind\"", "\"digest\":null,\"kind\"");
    refused(null, |e| *e == EntryError::Member("digest"));
    let list = text.replace("\"kind\"", "\"facts\":[1],\"kind\"");
    refused(list, |e| *e == EntryError::Member("facts"));
    let more = text.replace("\"v\":1", "\"v\":1,\"w\":1");
    refused(more, |e| matches!(e, EntryError::Unknown(_)));
    let twice = text.replace("\"v\":1", "\"v\":1,\"v\":1");
    refused(twice, |e| matches!(e, EntryError::Json(_)));
    let number = text.replace("\"kind\"", "\"facts\":{\"a\":9007199254740993},\"kind\"");
    refused(number, |e| *e == EntryError::Number);
    refused("[]".into(), |e| *e == EntryError::NoObject);
    assert!(matches!(Entry::decode(b"\xff"), Err(EntryError::Json(_))));
}

#[test]
fn entries_that_could_not_be_decoded_are_not_encoded() {
    let with = |value: Value<'static>| Entry { facts: vec![("a".into(), value)], ..full() };
    let mut deep = Value::Null;
    for _ in 0..MAX_DEPTH - 2 {
        deep = Value::Array(vec![deep]);
    }
    let text = with(deep.clone()).encode().unwrap();
    assert!(Entry::decode(text.as_bytes()).is_ok());
    assert_eq!(with(Value::Array(vec![deep])).encode(), Err(EntryError::TooDeep));
    let number = Value::Number("9007199254740993".into());
    assert_eq!(with(number).encode(), Err(EntryError::Number));
    let twice = Value::Object(vec![("x".into(), Value::Null), ("x".into(), Value::Null)]);
    assert_eq!(with(Value::Array(vec![twice])).encode(), Err(EntryError::Twice));
    let long = Value::String("x".repeat(MAX_ENTRY).into());
    assert!(matches!(with(long).encode(), Err(EntryError::TooLong { .. })));
    for at in [MAX_TIME + 1, -MAX_TIME - 1, i64::MAX, i64::MIN] {
        assert_eq!(Entry { at, ..full() }.encode(), Err(EntryError::Time));
    }
    let mut out = "old".to_owned();
    assert!(Entry { at: i64::MAX, ..full() }.encode_into(&mut out).is_err());
    assert_eq!(out, "");
}
