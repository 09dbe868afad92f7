//! A permit permits one call, to one agent, once.

use std::sync::Arc;

use crate::keys::Keys;
use crate::test_gate::{AGENT, OTHER, TestGate, test_gate};

const REDEEM: &str = "/v1/permits/redeem";
const VERIFY: &str = "/v1/permits/verify";

/// The body of a permit and a call.
fn with(permit: &str, call: &str) -> String {
    format!("{{\"permit\":\"{permit}\",{}", call.trim_start().strip_prefix('{').unwrap())
}

/// A permit for a call that passes.
async fn cheap(gate: &TestGate, n: usize) -> (String, String) {
    let call = format!("{{\"command\":\"ls -la d{n}\"}}");
    let asked = call.replace('}', ",\"permit\":true}");
    let response = gate.agent(AGENT, "/v1/requests", &asked).await;
    let permit = response.json()["permit"]
        .as_str()
        .unwrap_or_else(|| panic!("{}", response.text))
        .to_owned();
    (with(&permit, &call), permit)
}

/// `COUNTERSIGN_PERMITS` sets another number than 2,000.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_parallel_redemptions_one_succeeds() {
    let permits = std::env::var("COUNTERSIGN_PERMITS").ok().and_then(|n| n.parse().ok());
    let permits = permits.unwrap_or(2000);
    let gate = Arc::new(test_gate().await);
    let (mut redeemed, mut used) = (0, 0);
    for chunk in (0..permits).collect::<Vec<usize>>().chunks(250) {
        let mut racing = tokio::task::JoinSet::new();
        for &n in chunk {
            let gate = Arc::clone(&gate);
            racing.spawn(async move {
                let (body, _) = cheap(&gate, n).await;
                let (first, second) = tokio::join!(
                    gate.agent(AGENT, REDEEM, &body),
                    gate.agent(AGENT, REDEEM, &body)
                );
                [first, second]
            });
        }
        for response in racing.join_all().await.into_iter().flatten() {
            match (response.status, response.json()["why"].as_str()) {
                (200, None) if response.json()["redeemed"] == true => redeemed += 1,
                (409, Some("used")) => used += 1,
                other => panic!("{other:?}: {}", response.text),
            }
        }
    }
    assert_eq!((redeemed, used), (permits, permits));
}

#[tokio::test(flavor = "multi_thread")]
async fn reordered_members_are_the_same_call_and_any_other_change_is_not() {
    let gate = test_gate().await;
    let call = r#"{"tool":"send_email","arguments":{"to":["bob@example.com"],"n":[1,2.5,true,null],
        "body":"hi","deep":{"a":"x","b":"y"}},"cwd":"/srv"}"#;
    let permit = gate.permit(call).await;
    let refused = |from: &str, to: &str| {
        let changed = call.replace(from, to);
        assert_ne!(changed, call, "{from}");
        with(&permit, &changed)
    };
    for body in [
        refused("bob@", "eve@"),
        refused("[\"bob@example.com\"]", "[\"bob@example.com\",\"eve@example.com\"]"),
        refused("[\"bob@example.com\"]", "\"bob@example.com\""),
        refused("\"hi\"", "\"hi \""),
        refused("\"hi\"", "\"h\u{456}\""),
        refused("\"hi\"", "null"),
        refused("[1,2.5", "[1,2.50000000000000001"),
        refused("[1,2.5", "[2.5,1"),
        refused("[1,2.5", "[\"1\",2.5"),
        refused("true,null", "false,null"),
        refused("true,null", "true"),
        refused("\"a\":\"x\"", "\"a\":\"y\""),
        refused("\"a\":\"x\"", "\"A\":\"x\""),
        refused("\"a\":\"x\",", ""),
        refused("\"a\":\"x\"", "\"a\":\"x\",\"c\":1"),
        refused("send_email", "send_emails"),
        refused("/srv", "/srv/"),
        refused(",\"cwd\":\"/srv\"", ""),
        refused(",\"cwd\":\"/srv\"", ",\"cwd\":\"/srv\",\"environment\":\"production\""),
    ] {
        let response = gate.agent(AGENT, REDEEM, &body).await;
        assert_eq!(
            (response.status, response.json()["why"].as_str()),
            (409, Some("another-call")),
            "{body}"
        );
        assert_eq!(response.json()["outcome"], "denied");
    }
    for (body, status) in [
        (refused("\"body\":\"hi\",", "\"body\":\"hi\",\"body\":\"hi\","), 400),
        (with(&permit, r#"{"session":"s"}"#), 400),
        (refused("\"cwd\"", "\"cdw\""), 400),
        (with("x.y.z", call), 400),
    ] {
        assert_eq!(gate.agent(AGENT, REDEEM, &body).await.status, status, "{body}");
    }
    let other_order = r#"{"cwd":"/srv","arguments":{"deep":{"b":"y","a":"x"},"body":"\u0068i",
        "n":[1.0,25e-1,true,null],"to":["bob@example.com"]},"tool":"send_email"}"#;
    let body = with(&permit, other_order);
    let seen = gate.agent(AGENT, VERIFY, &body).await.json();
    assert_eq!((&seen["valid"], &seen["claims"]["sub"]), (&true.into(), &"coder".into()), "{seen}");
    assert_eq!(gate.agent(AGENT, REDEEM, &body).await.status, 200);
    let again = gate.agent(AGENT, REDEEM, &body).await.json();
    assert_eq!(again["why"], "used");
    let seen = gate.agent(AGENT, VERIFY, &format!("{{\"permit\":\"{permit}\"}}")).await.json();
    assert_eq!(seen["valid"], false, "{seen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn raw_bytes_bind_where_doubles_lose_precision() {
    let gate = test_gate().await;
    let call = r#"{"tool":"transfer_money","arguments":{"amount":9007199254740993,"to":"bob"}}"#;
    let permit = gate.permit(call).await;
    let spaced = call.replace("\"amount\":", "\"amount\": ");
    let response = gate.agent(AGENT, REDEEM, &with(&permit, &spaced)).await;
    assert_eq!(response.json()["why"], "another-call", "{}", response.text);
    assert_eq!(gate.agent(AGENT, REDEEM, &with(&permit, call)).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_agent_or_key_cannot_redeem_a_permit() {
    let gate = test_gate().await;
    let (body, permit) = cheap(&gate, 1).await;
    let response = gate.agent(OTHER, REDEEM, &body).await;
    assert_eq!((response.status, response.json()["why"].as_str()), (409, Some("another-agent")));
    assert_eq!(gate.agent("csa_nobody", REDEEM, &body).await.status, 401);
    // An older key of ours, and a forged key id: the same claims, signed by another key.
    let old = Keys::open(&gate.folder.path().join("old.key"), "countersign").unwrap();
    let claims = countersign_ledger::permit::parse(&permit).unwrap().claims;
    for forged in [old.permit(&claims).unwrap(), permit.replacen(gate.keys.kid(), old.kid(), 1)] {
        let response = gate.agent(AGENT, REDEEM, &body.replace(&permit, &forged)).await;
        let same = forged == permit;
        assert!(same || response.json()["why"] == "not-ours", "{}", response.text);
        let seen = gate.agent(AGENT, VERIFY, &format!("{{\"permit\":\"{forged}\"}}")).await;
        assert!(same || seen.json()["claims"].is_null(), "{}", seen.text);
        if same {
            break;
        }
    }
    let keys = gate.agent("csa_nobody", "/.well-known/jwks.json", "").await;
    assert_eq!(keys.json()["keys"][0]["kid"], gate.keys.kid());
}
