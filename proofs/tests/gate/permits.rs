//! Permits raced by two: each is used once, for its own call, by its own agent.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use proofs::house::{House, OPEN_HOUSE};
use serde_json::{Value, json};

use crate::setting::{Setting, decide, risky, say, shared, size};

#[test]
fn a_permit_is_used_once_and_for_its_own_call() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let setting = Setting::new(House::new(folder.path(), OPEN_HOUSE).unwrap());
    let other = setting.gate.agent(&setting.owner, "other").unwrap();
    let many = size(200, 10_000);
    let (start, used, refused) = (Instant::now(), AtomicUsize::new(0), AtomicUsize::new(0));
    for number in 0..many {
        let call = risky(number);
        let permit = approved(&setting, &call);
        // Before it is used: another call, another agent.
        let mut swapped = call.clone();
        swapped["arguments"]["to"] = json!("eve@example.org");
        let mut asks = setting.asks();
        let reply = asks.post("/v1/permits/redeem", &with(&swapped, &permit)).unwrap();
        assert_eq!((reply.status, reply.text("why")), (409, "another-call"), "{}", reply.body);
        let mut stranger = proofs::http::Client::with(setting.gate.agents, &other);
        let reply = stranger.post("/v1/permits/redeem", &with(&call, &permit)).unwrap();
        assert_eq!((reply.status, reply.text("why")), (409, "another-agent"), "{}", reply.body);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let said = with(&call, &permit);
                    let reply = setting.asks().post("/v1/permits/redeem", &said).unwrap();
                    match (reply.status, reply.text("why")) {
                        (200, _) => used.fetch_add(1, Ordering::AcqRel),
                        (409, "used") => refused.fetch_add(1, Ordering::AcqRel),
                        _ => panic!("{} {}", reply.status, reply.body),
                    };
                });
            }
        });
        let reply = asks.post("/v1/permits/redeem", &with(&call, &permit)).unwrap();
        assert_eq!((reply.status, reply.text("why")), (409, "used"), "a replay");
    }
    let (used, refused) = (used.into_inner(), refused.into_inner());
    assert_eq!((used, refused), (many, many));
    say(&format!(
        "permits: {many} x 2 racing: {used} used, {refused} refused, {many} swaps and \
                  {many} strangers refused, {:.1?}",
        start.elapsed()
    ));
}

fn approved(setting: &Setting, call: &Value) -> String {
    let mut call = call.clone();
    call["permit"] = json!(true);
    let asked = setting.asks().post("/v1/requests", &call).unwrap();
    let (id, digest) = (asked.text("id"), asked.text("digest"));
    let said = decide(&mut setting.decides(), id, digest, true).unwrap();
    assert_eq!(said.text("state"), "approved", "{}", said.body);
    let own = setting.asks().get(&format!("/v1/requests/{id}")).unwrap();
    assert_ne!(own.text("permit"), "", "{}", own.body);
    own.text("permit").to_owned()
}

fn with(call: &Value, permit: &str) -> Value {
    let mut said = call.clone();
    said["permit"] = json!(permit);
    said
}
