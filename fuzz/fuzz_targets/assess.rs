//! The whole judgement: any call gets an answer, the same twice, and what cannot be read is asked.
#![no_main]

use countersign_json as json;
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

fuzz_target!(|bytes: &[u8]| {
    if let Ok(value) = json::parse_bytes(bytes) {
        if let Ok(call) = Call::from_json(&value) {
            check(&call);
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let found = check(&Call::shell(text));
        // SQL is read as SQL; what is neither is asked about.
        let sql = countersign_risk::sql::looks_like_sql(text);
        if !sql && countersign_shell::posix::check(text).is_err() {
            assert!(found.tier >= Tier::Medium, "unreadable and {:?}", found.tier);
        }
        for span in found.reasons.iter().filter_map(|r| r.span) {
            let (start, end) = (span.start as usize, span.end as usize);
            assert!(text.get(start..end).is_some(), "a place at {start}..{end}");
        }
    }
});
