//! What may and may not change the digest of a call.

use std::borrow::Cow;

use super::*;
use crate::context::{Environment, Platform};
use countersign_json::{Value, parse};
use countersign_types::tier::Tier;

fn call(text: &str) -> CallDigest {
    let value = parse(text).unwrap();
    digest(&Call::from_json(&value).unwrap(), text.as_bytes())
}

#[test]
fn the_digest_of_a_call_is_fixed() {
    let text = r#"{"tool":"pay","arguments":{"to":"é","amount":1.50},"agent":"a1","cwd":"/w"}"#;
    let hashed = "countersign/call/1\0{\"agent\":\"a1\",\
        \"arguments\":{\"amount\":1.5,\"to\":\"é\"},\
        \"cwd\":\"/w\",\"environment\":\"workstation\",\"tool\":\"pay\"}";
    let found = call(text);
    assert_eq!(found.canonical, Digest::of(hashed.as_bytes()));
    assert_eq!(found.raw, Digest::of(text.as_bytes()));
    assert!(!found.both_bind);
    // From sha256sum, so that an upgrade of the hash cannot change it unseen.
    assert_eq!(
        Digest::of(b"abc").to_string(),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}

#[test]
fn form_does_not_change_the_digest() {
    let one = call(r#"{"tool":"t","arguments":{"a":1,"b":[1.0,"x"]}}"#);
    let two = call("{\"arguments\": {\"b\":[ 1e0,\"\\u0078\"], \"a\":1},\n\"tool\":\"t\"}");
    assert_eq!(one.canonical, two.canonical);
    assert_ne!(one.raw, two.raw);
    assert!(one.binds(&two));
    let string = call(r#"{"tool":"t","arguments":"{\"b\":[1,\"x\"],\"a\":1}"}"#);
    assert!(one.binds(&string));
}

#[test]
fn what_changes_the_action_changes_the_digest() {
    let value = parse(r#"{"tool":"t","arguments":{"a":1}}"#).unwrap();
    let base = Call::from_json(&value).unwrap();
    let of = |change: &dyn Fn(&mut Call<'static>)| {
        let mut call = Call { arguments: base.arguments.clone().into_owned(), ..Call::shell("") };
        call.tool = Cow::Borrowed("t");
        change(&mut call);
        digest(&call, b"").canonical
    };
    let same = of(&|_| {});
    assert_eq!(same, digest(&base, b"").canonical);
    let different = [
        of(&|c| c.tool = Cow::Borrowed("T")),
        of(&|c| c.arguments = Value::Object(Vec::new())),
        of(&|c| c.arguments = parse("{\"a\":\"1\"}").unwrap()),
        of(&|c| c.agent = Some(Cow::Borrowed(""))),
        of(&|c| c.agent = Some(Cow::Borrowed("null"))),
        of(&|c| c.context.cwd = Some("")),
        of(&|c| c.context.cwd = Some("/")),
        of(&|c| c.context.environment = Environment::Production),
        of(&|c| c.context.environment = Environment::Ci),
        of(&|c| c.context.environment = Environment::Container),
    ];
    let mut all: std::collections::HashSet<_> = different.into_iter().collect();
    assert!(all.insert(same));
    assert_eq!(all.len(), 11);
    // Where the person sits and what is claimed do not.
    assert_eq!(of(&|c| c.session = Some(Cow::Borrowed("s"))), same);
    assert_eq!(of(&|c| c.context.platform = Platform::Discord), same);
    assert_eq!(of(&|c| c.claimed = Some(Tier::Critical)), same);
    assert_eq!(of(&|c| c.annotations.destructive = Some(true)), same);
}

#[test]
fn both_digests_bind_where_a_number_is_not_held() {
    let one = call(r#"{"tool":"t","arguments":{"id":9007199254740993}}"#);
    let two = call(r#"{"tool":"t","arguments":{"id":9007199254740992}}"#);
    let form = call(r#"{"tool":"t", "arguments":{"id":9007199254740993}}"#);
    assert!(one.both_bind && !two.both_bind);
    assert!(one.binds(&one) && !one.binds(&two) && !two.binds(&one));
    assert_eq!(one.canonical, form.canonical);
    assert!(!one.binds(&form));
}
