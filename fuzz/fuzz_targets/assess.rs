//! The whole assessment: any call gets an answer, the same twice, what cannot be read is asked, and
//! nothing that is added to a call lowers its tier.
#![no_main]

use countersign_json::{self as json, Value};
use countersign_risk::assess::{Assessment, assess};
use countersign_risk::call::Call;
use countersign_risk::finding::Doubt;
use countersign_risk::verdict::{Policy, Verdict};
use countersign_types::tier::Tier;
use libfuzzer_sys::fuzz_target;

fn check(call: &Call<'_>) -> Assessment {
    let found = assess(call, &Policy::default());
    let text = serde_json::to_string(&found).expect("a record is JSON");
    let again = assess(call, &Policy::default());
    assert_eq!(Ok(text), serde_json::to_string(&again).map_err(|e| e.to_string()), "two answers");
    assert!((0.0..=1.0).contains(&found.risk) && (0.0..=1.0).contains(&found.confidence));
    assert_eq!(found.tier, found.points.tier());
    if found.doubts.contains(&Doubt::Unreadable) {
        assert!(found.tier >= Tier::Medium, "unread and {:?}", found.tier);
        assert_ne!(found.verdict, Verdict::Allow, "unread and allowed");
    }
    found
}

/// The same call with arguments that mean nothing.
fn with_more_arguments<'a>(call: &Value<'a>) -> Value<'a> {
    let mut call = call.clone();
    let Value::Object(members) = &mut call else { return call };
    for (key, value) in members {
        if let Value::Object(arguments) = value
            && ["arguments", "args", "input", "tool_input", "params"].contains(&key.as_ref())
        {
            arguments.push(("zz_note".into(), Value::String("a".into())));
            arguments.push(("zz_number".into(), Value::Number("1".into())));
        }
    }
    call
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(value) = json::parse_bytes(bytes) {
        if let Ok(call) = Call::from_json(&value) {
            let tier = check(&call).tier;
            let more = with_more_arguments(&value);
            if let Ok(longer) = Call::from_json(&more) {
                let longer = check(&longer).tier;
                assert!(longer >= tier, "one more argument lowers {tier:?} to {longer:?}");
            }
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let found = check(&Call::shell(text));
        // SQL is read as SQL; what is neither is asked about.
        let sql = countersign_risk::sql::looks_like_sql(text);
        if !sql && countersign_shell::posix::check(text).is_err() {
            assert!(found.tier >= Tier::Medium, "unreadable and {:?}", found.tier);
        }
        for noise in ["true\n", "# it's\n", "SELECT 1;\n", "echo start && "] {
            let longer = format!("{noise}{text}");
            let noisy = check(&Call::shell(&longer)).tier;
            // What no shell reads runs nowhere: it has to ask, no more.
            let readable = countersign_shell::posix::check(&longer).is_ok();
            let least = if readable { found.tier } else { found.tier.min(Tier::Medium) };
            assert!(noisy >= least, "{noise:?} lowers {:?} to {noisy:?}", found.tier);
        }
        for span in found.reasons.iter().filter_map(|r| r.span) {
            let (start, end) = (span.start as usize, span.end as usize);
            assert!(text.get(start..end).is_some(), "a place at {start}..{end}");
        }
    }
});
