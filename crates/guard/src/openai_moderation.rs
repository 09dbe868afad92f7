//! The moderation endpoint of `OpenAI` and servers with the same shape: `POST /v1/moderations`.

use std::collections::BTreeSet;

use countersign_json::{self as json, Value};
use serde_json::json;

use crate::verdict::{GuardCategory, GuardFailure, GuardVerdict};

/// The path of the endpoint.
pub const PATH: &str = "/v1/moderations";

/// The categories that every reply has.
const REQUIRED: [GuardCategory; 11] = [
    GuardCategory::new("harassment", "Harassment"),
    GuardCategory::new("harassment/threatening", "Threats"),
    GuardCategory::new("hate", "Hate"),
    GuardCategory::new("hate/threatening", "Hate with Threats"),
    GuardCategory::self_harm("self-harm", "Self-Harm"),
    GuardCategory::self_harm("self-harm/instructions", "Instructions for Self-Harm"),
    GuardCategory::self_harm("self-harm/intent", "Intent of Self-Harm"),
    GuardCategory::new("sexual", "Sexual Content"),
    GuardCategory::new("sexual/minors", "Sexual Content with Minors"),
    GuardCategory::new("violence", "Violence"),
    GuardCategory::new("violence/graphic", "Graphic Violence"),
];

/// The categories that older models do not have or leave empty.
const OPTIONAL: [GuardCategory; 2] = [
    GuardCategory::new("illicit", "Illicit Acts"),
    GuardCategory::new("illicit/violent", "Violent Illicit Acts"),
];

/// Every category that this version does not know.
const OTHER: GuardCategory = GuardCategory::new("other", "Other");

/// The body of a request.
pub fn body(model: &str, text: &str) -> Vec<u8> {
    json!({ "model": model, "input": text }).to_string().into_bytes()
}

/// Reads a reply with exactly one result. Safe needs `flagged: false` and every required category
/// as false; a category that is true makes it unsafe, whatever `flagged` says.
pub fn parse(body: &[u8]) -> GuardVerdict {
    let Ok(reply) = json::parse_bytes(body) else {
        return GuardVerdict::Unavailable(GuardFailure::Unparseable);
    };
    if reply.get("error").is_some_and(|error| !error.is_null()) {
        return GuardVerdict::Unavailable(GuardFailure::ServerError);
    }
    read(&reply).unwrap_or(GuardVerdict::Unavailable(GuardFailure::Unparseable))
}

fn read(reply: &Value<'_>) -> Option<GuardVerdict> {
    let [result] = reply.get("results")?.as_array()? else { return None };
    let flagged = result.get("flagged")?.as_bool()?;
    let categories = result.get("categories")?.as_object()?;
    let mut found = BTreeSet::new();
    let mut required = 0;
    for (name, value) in categories {
        let in_list = |list: &[GuardCategory]| list.iter().copied().find(|one| one.code == &**name);
        let (known, optional) = (in_list(&REQUIRED), in_list(&OPTIONAL));
        match value.as_bool() {
            Some(true) => {
                found.insert(known.or(optional).unwrap_or(OTHER));
            }
            Some(false) => {}
            None if value.is_null() && optional.is_some() => {}
            None => return None,
        }
        required += usize::from(known.is_some());
    }
    if required != REQUIRED.len() {
        return None;
    }
    Some(if flagged || !found.is_empty() {
        GuardVerdict::Unsafe(found)
    } else {
        GuardVerdict::Safe
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(flagged: &str, change: (&str, &str)) -> GuardVerdict {
        let categories: Vec<String> =
            REQUIRED.iter().map(|one| format!("\"{}\":false", one.code)).collect();
        let categories = categories.join(",");
        let result = format!(r#"{{"flagged":{flagged},"categories":{{{categories}}}}}"#);
        let whole = format!(r#"{{"id":"x","model":"m","results":[{result}]}}"#);
        parse(whole.replacen(change.0, change.1, 1).as_bytes())
    }

    #[test]
    fn only_a_whole_unflagged_reply_is_safe() {
        assert_eq!(reply("false", ("", "")), GuardVerdict::Safe);
        let found = reply("true", ("\"self-harm/intent\":false", "\"self-harm/intent\":true"));
        assert!(found.is_self_harm());
        let unflagged = reply("false", ("\"violence\":false", "\"violence\":true"));
        assert!(matches!(unflagged, GuardVerdict::Unsafe(_)), "a true category is unsafe");
        assert_eq!(reply("true", ("", "")), GuardVerdict::Unsafe(BTreeSet::new()));
        let new = reply("false", ("\"hate\":false", "\"hate\":false,\"new\":true"));
        assert_eq!(new, GuardVerdict::Unsafe([OTHER].into()));
        let old = reply("false", ("\"hate\":false", "\"hate\":false,\"illicit\":null"));
        assert_eq!(old, GuardVerdict::Safe);
    }

    #[test]
    fn every_other_reply_is_no_verdict() {
        for change in [
            ("\"hate\":false,", ""),
            ("\"hate\":false", "\"hate\":null"),
            ("\"hate\":false", "\"hate\":0"),
            ("\"hate\":false", "\"hate\":true,\"hate\":false"),
            ("\"flagged\":false,", ""),
            ("\"flagged\":false", "\"flagged\":\"false\""),
            ("]}", "]"),
            ("}]", "},{\"flagged\":false}]"),
            ("results", "result"),
        ] {
            let verdict = reply("false", change);
            assert!(matches!(verdict, GuardVerdict::Unavailable(_)), "{change:?}: {verdict:?}");
        }
        let error = parse(br#"{"error":{"message":"no quota"}}"#);
        assert_eq!(error, GuardVerdict::Unavailable(GuardFailure::ServerError));
    }
}
