//! Plans: one answer for the calls of a batch, and no other call runs by it.

use super::pages::{get, text};
use super::*;

/// How many plans of how many calls; together the figure that is promised.
const PLANS: usize = 50;
const CALLS: usize = 20;
const MANY: &str =
    "[flood]\nopen_per_agent = 1000\nasks_per_minute = 10000\nasks_per_hour = 100000\n";

fn restart(name: &str) -> Value {
    json!({ "command": format!("systemctl restart {name}"), "permit": true })
}

/// Approves every pending call of a plan with one request, as the page does.
async fn approve(api: &TestApi, group: &str) {
    let path = format!("/v1/requests?group={group}&state=pending&limit=100");
    let (_, list) = api.person("GET", &path, Value::Null).await;
    let requests: Vec<Value> = list["requests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| json!({ "id": one["id"], "digest": one["digest"] }))
        .collect();
    let answer = json!({ "choice": "approve", "reason": "", "requests": requests });
    let (status, decided) = api.person("POST", "/v1/decisions", answer).await;
    assert_eq!(status, StatusCode::OK, "{decided}");
}

/// A page, or a part of one, as a person sees it.
async fn page(api: &TestApi, path: &str) -> String {
    text(get(api, path, Some(ANA_TOKEN)).await).await.2
}

#[tokio::test]
async fn what_runs_is_what_was_approved_whatever_the_agent_changes() {
    let api = TestApi::with(MANY).await;
    let (mut ran, mut refused) = (0, 0);
    for plan in 0..PLANS {
        let names: Vec<String> = (0..CALLS).map(|at| format!("web-{plan}-{at}")).collect();
        let calls: Vec<Value> = names.iter().map(|name| restart(name)).collect();
        let body = json!({ "calls": calls, "session": "s", "timeout_seconds": 600 });
        let (_, batch) = api.agent("POST", "/v1/batches", body).await;
        let group = batch["group"].as_str().unwrap();
        approve(&api, group).await;
        let wait = format!("/v1/batches/{group}/wait?seconds=5");
        let (_, waited) = api.agent("GET", &wait, Value::Null).await;
        for (at, name) in names.iter().enumerate() {
            let permit = &waited["requests"][at]["permit"];
            assert!(permit.is_string(), "{}", waited["requests"][at]);
            let redeem = async |command: String| {
                let body = json!({ "command": command, "session": "s", "permit": permit });
                api.agent("POST", "/v1/permits/redeem", body).await.0
            };
            // A longer call, another verb, the next call of the plan: none of them.
            let next = &names[(at + 1) % CALLS];
            for drift in [
                redeem(format!("systemctl restart {name} ssh")).await,
                redeem(format!("systemctl stop {name}")).await,
                redeem(format!("systemctl restart {next}")).await,
            ] {
                assert_ne!(drift, StatusCode::OK, "{name}");
                refused += 1;
            }
            assert_eq!(redeem(format!("systemctl restart {name}")).await, StatusCode::OK);
            let again = redeem(format!("systemctl restart {name}")).await;
            assert_eq!(again, StatusCode::CONFLICT, "once");
            ran += 1;
        }
    }
    assert_eq!((ran, refused), (PLANS * CALLS, 3 * PLANS * CALLS));
}

#[tokio::test]
async fn a_plan_is_shown_in_its_order_on_one_page() {
    let api = TestApi::with(MANY).await;
    let calls = [restart("first-1"), json!({ "command": "ls" }), restart("second-2")];
    let body = json!({ "calls": calls, "session": "s", "timeout_seconds": 600 });
    let (_, batch) = api.agent("POST", "/v1/batches", body).await;
    let (_, other) = api.agent("POST", "/v1/requests", restart("other-3")).await;
    assert_eq!(other["state"], "pending");
    let group = batch["group"].as_str().unwrap();
    let shown = page(&api, &format!("/review?group={group}")).await;
    assert!(shown.contains("A plan: 2 calls are waiting"), "{shown}");
    let (first, second) = (shown.find("first-1").unwrap(), shown.find("second-2").unwrap());
    assert!(first < second && !shown.contains("other-3"), "{shown}");
    let id = batch["requests"][2]["id"].as_str().unwrap();
    let card = page(&api, &format!("/inbox/card/{id}")).await;
    assert!(card.contains("call 3 of 3"), "{card}");
    assert!(card.contains(&format!("/review?group={group}")), "{card}");
}
