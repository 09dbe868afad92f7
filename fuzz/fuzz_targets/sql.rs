//! SQL, Redis and Mongo text: same answer twice, spans inside the text.
#![no_main]

use countersign_risk::context::Context;
use countersign_risk::finding::Findings;
use countersign_risk::sql;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for read in [sql::read, sql::read_redis, sql::read_mongo] {
        let judge = || {
            let mut findings = Findings::default();
            read(text, 0, &Context::default(), &mut findings);
            findings
        };
        let found = judge();
        assert_eq!(format!("{found:?}"), format!("{:?}", judge()), "two answers");
        for finding in &found {
            let Some(span) = finding.span else { continue };
            let (start, end) = (span.start as usize, span.end as usize);
            assert!(text.get(start..end).is_some(), "{} stands at {start}..{end}", finding.code);
        }
    }
});
