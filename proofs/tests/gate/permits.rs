//! Permits with two concurrent users: each is used once, for its own call, by its own agent.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use proofs::installation::{TestInstallation, UNLIMITED};
use serde_json::{Value, json};

use crate::fixture::{Fixture, decide, report_figures, risky, shared, size};

#[test]
fn a_permit_is_used_once_and_for_its_own_call() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::new(TestInstallation::new(folder.path(), UNLIMITED).unwrap());
    let other = fixture.gate.agent(&fixture.owner, "other").unwrap();
    let many = size(200, 10_000);
    let (start, used, refused) = (Instant::now(), AtomicUsize::new(0), AtomicUsize::new(0));
    for number in 0..many {
        let call = risky(number);
        let permit = approved(&fixture, &call);
        // Before it is used: another call, another agent.
        let mut swapped = call.clone();
        swapped["arguments"]["to"] = json!("eve@example.org");
        let mut agent_client = fixture.agent_client();
        let reply = agent_client.post("/v1/permits/redeem", &with(&swapped, &permit)).unwrap();
        assert_eq!((reply.status, reply.text("why")), (409, "another-call"), "{}", reply.body);
        let mut stranger = proofs::http::Client::with(fixture.gate.agents, &other);
        let reply = stranger.post("/v1/permits/redeem", &with(&call, &permit)).unwrap();
        assert_eq!((reply.status, reply.text("why")), (409, "another-agent"), "{}", reply.body);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let said = with(&call, &permit);
                    let reply = fixture.agent_client().post("/v1/permits/redeem", &said).unwrap();
                    match (reply.status, reply.text("why")) {
                        (200, _) => used.fetch_add(1, Ordering::AcqRel),
                        (409, "used") => refused.fetch_add(1, Ordering::AcqRel),
                        _ => panic!("{} {}", reply.status, reply.body),
                    };
                });
            }
        });
        let reply = agent_client.post("/v1/permits/redeem", &with(&call, &permit)).unwrap();
        assert_eq!((reply.status, reply.text("why")), (409, "used"), "a replay");
    }
    let (used, refused) = (used.into_inner(), refused.into_inner());
    assert_eq!((used, refused), (many, many));
    report_figures(&format!(
        "permits: {many} x 2 racing: {used} used, {refused} refused, {many} swaps and \
                  {many} strangers refused, {:.1?}",
        start.elapsed()
    ));
}

fn approved(fixture: &Fixture, call: &Value) -> String {
    let mut call = call.clone();
    call["permit"] = json!(true);
    let asked = fixture.agent_client().post("/v1/requests", &call).unwrap();
    let (id, digest) = (asked.text("id"), asked.text("digest"));
    let said = decide(&mut fixture.owner_client(), id, digest, true).unwrap();
    assert_eq!(said.text("state"), "approved", "{}", said.body);
    let own = fixture.agent_client().get(&format!("/v1/requests/{id}")).unwrap();
    assert_ne!(own.text("permit"), "", "{}", own.body);
    own.text("permit").to_owned()
}

fn with(call: &Value, permit: &str) -> Value {
    let mut said = call.clone();
    said["permit"] = json!(permit);
    said
}
