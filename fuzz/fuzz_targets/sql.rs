//! SQL, Redis and Mongo text: same answer twice, spans inside the text, noise never lowers.
#![no_main]

use countersign_risk::assess::with_all_readers;
use countersign_risk::context::Context;
use countersign_risk::finding::{Doubt, Findings};
use countersign_risk::sql;
use countersign_types::tier::Tier;
use libfuzzer_sys::fuzz_target;

type Read = fn(&str, usize, &Context<'_>, &mut Findings);

fn assess(read: Read, text: &str) -> Findings {
    let mut findings = Findings::default();
    read(text, 0, &with_all_readers(Context::default()), &mut findings);
    findings
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let readers: [(Read, &str); 3] = [
        (sql::read, "SELECT 1;\n"),
        (sql::read_redis, "GET x\n"),
        (sql::read_mongo, "db.users.find();\n"),
    ];
    for (read, noise) in readers {
        let found = assess(read, text);
        assert_eq!(format!("{found:?}"), format!("{:?}", assess(read, text)), "two answers");
        for finding in &found {
            let Some(span) = finding.span else { continue };
            let (start, end) = (span.start as usize, span.end as usize);
            assert!(text.get(start..end).is_some(), "{} stands at {start}..{end}", finding.code);
        }
        if found.has_doubt(Doubt::Unreadable) {
            assert!(found.tier() >= Tier::Medium, "unread and {:?}", found.tier());
        }
        let noisy = assess(read, &format!("{noise}{text}")).tier();
        assert!(noisy >= found.tier(), "{noise:?} lowers {:?} to {noisy:?}", found.tier());
    }
});
