//! People, agents and grants: changed by administrators, effective at once.

use countersign_store::Role;
use serde_json::{Value, json};

use crate::test_daemon::{ApiSide, TestDaemon};

#[tokio::test]
async fn a_person_is_added_and_revoked() {
    let daemon = TestDaemon::default().await;
    let owner = daemon.owner().await;
    let add = async |name: &str, role: &str| {
        let body = json!({"name": name, "role": role});
        daemon.change(&owner, "POST /v1/people", Some(body)).await
    };
    let added = add("ana", "approver").await;
    assert_eq!(added.status, 201, "{:?}", added.body);
    let passphrase = added.body["passphrase"].as_str().unwrap().to_owned();
    assert_eq!(passphrase.split('-').count(), 7);
    for (name, role, status) in [
        ("ana", "approver", 409),
        ("ANA", "approver", 409),
        ("", "approver", 400),
        ("a b", "approver", 400),
        ("policy", "approver", 400),
        ("bob", "root", 400),
    ] {
        assert_eq!(add(name, role).await.status, status, "{name}");
    }
    let body = json!({"name": "ana", "passphrase": passphrase, "channel": "terminal"});
    let login = daemon.ask(ApiSide::People, "POST /v1/login", &[], Some(body.clone())).await;
    let ana = login.body["token"].as_str().unwrap().to_owned();
    let list = daemon.by(&owner, ApiSide::People, "GET /v1/people", None).await;
    assert!(!list.body.to_string().contains("argon2"));

    // A new passphrase ends all sessions except the current one.
    let second = daemon.login("ana", "web", 1_000_000).await;
    let line = "POST /v1/people/ana/passphrase";
    let changed = daemon.change_with(&ana, &passphrase, line, Some(json!({}))).await;
    assert_eq!(changed.status, 200, "{:?}", changed.body);
    let cookie = format!("countersign={second}");
    let web = daemon.ask(ApiSide::People, "GET /v1/me", &[("cookie", &cookie)], None).await;
    assert_eq!(web.status, 401);
    assert_eq!(daemon.by(&ana, ApiSide::People, "GET /v1/me", None).await.status, 200);
    let old = daemon.ask(ApiSide::People, "POST /v1/login", &[], Some(body)).await;
    assert_eq!(old.status, 401);
    // No one can read another person's passphrase, with any proof.
    let fresh = changed.body["passphrase"].as_str().unwrap();
    let owners = "POST /v1/people/owner/passphrase";
    assert_eq!(daemon.change_with(&ana, fresh, owners, Some(json!({}))).await.status, 403);
    let reset = daemon.change(&owner, line, Some(json!({}))).await;
    assert_eq!((reset.status.as_u16(), &reset.body["why"]), (409, &json!("recovery")));

    let line = "DELETE /v1/people/ana";
    assert_eq!(daemon.change(&owner, line, None).await.status, 200);
    assert_eq!(daemon.by(&ana, ApiSide::People, "GET /v1/me", None).await.status, 401);
    assert_eq!(daemon.change(&owner, line, None).await.status, 404);
    assert_eq!(add("ana", "approver").await.status, 409);
    assert_eq!(daemon.change(&owner, owners, Some(json!({}))).await.status, 200);
    assert_eq!(add("bo", "approver").await.status, 403, "the old passphrase");
}

#[tokio::test]
async fn the_last_administrator_stays_even_when_two_revoke_each_other() {
    let daemon = TestDaemon::default().await;
    let owner = daemon.owner().await;
    let line = "DELETE /v1/people/owner";
    assert_eq!(daemon.change(&owner, line, None).await.status, 409);
    daemon.person("bob", Role::Administrator).await;
    daemon.person("ana", Role::Approver).await;
    let bob = daemon.login("bob", "terminal", 1_000_000).await;
    let (one, other) = tokio::join!(
        daemon.change(&bob, "DELETE /v1/people/owner", None),
        daemon.change(&owner, "DELETE /v1/people/bob", None),
    );
    let mut statuses = [one.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 401]);
    let left = if one.status == 200 { (bob, "bob") } else { (owner, "owner") };
    let line = format!("DELETE /v1/people/{}", left.1);
    assert_eq!(daemon.change(&left.0, &line, None).await.status, 409);
}

#[tokio::test]
async fn an_agent_is_added_and_revoked() {
    let daemon = TestDaemon::default().await;
    let owner = daemon.owner().await;
    daemon.person("ana", Role::Approver).await;
    let add = async |body: Value| daemon.change(&owner, "POST /v1/agents", Some(body)).await;
    let added = add(json!({"name": "claude", "uid": 4242, "own_addresses": ["a@x.org"]})).await;
    assert_eq!(added.status, 201, "{:?}", added.body);
    let token = added.body["token"].as_str().unwrap().to_owned();
    assert!(token.starts_with("csa_") && token.len() == 47);
    for (body, status) in [
        (json!({"name": "claude"}), 409),
        (json!({"name": "Claude"}), 409),
        (json!({"name": "other", "uid": 4242}), 409),
        (json!({"name": "anonymous"}), 400),
        (json!({"name": "uid:0"}), 400),
        (json!({"name": "owner"}), 400),
        (json!({"name": "System"}), 400),
        (json!({"name": "ana"}), 409),
        (json!({"name": "x", "days": 0}), 400),
        (json!({"name": "x", "uid": -1}), 400),
        (json!({"name": "x", "uid": "0"}), 400),
        (json!({"name": "x", "own_addresses": "a@x.org"}), 400),
        (json!({"name": "x", "tokens": 1}), 400),
    ] {
        assert_eq!(add(body.clone()).await.status, status, "{body}");
    }
    let asks = async |token: &str| {
        daemon.by(token, ApiSide::Agents, "GET /v1/requests", None).await.status.as_u16()
    };
    assert_eq!(asks(&token).await, 200);
    let (directory, now) = (&daemon.api.directory, daemon.now());
    assert_eq!(directory.socket_peer(4242, now).agent, "claude");
    let later = countersign_types::time::Timestamp(now.0 + 366 * 86_400_000);
    assert_eq!(directory.socket_peer(4242, later).agent, "uid:4242");
    let line = "POST /v1/agents/claude/token";
    let changed = daemon.change(&owner, line, Some(json!({}))).await;
    let fresh = changed.body["token"].as_str().unwrap().to_owned();
    assert_eq!((asks(&token).await, asks(&fresh).await), (401, 200));
    let line = "DELETE /v1/agents/claude";
    assert_eq!(daemon.change(&owner, line, None).await.status, 200);
    assert_eq!(asks(&fresh).await, 401);
    assert_eq!(daemon.api.directory.socket_peer(4242, now).agent, "uid:4242");
    assert_eq!(add(json!({"name": "claude"})).await.status, 409);
    let ledger = Value::from(daemon.ledger().await).to_string();
    assert!(!ledger.contains("csa_"));
}

#[tokio::test]
async fn a_grant_is_given_used_and_revoked() {
    let daemon = TestDaemon::default().await;
    let owner = daemon.owner().await;
    let agent = daemon.agent("claude", 1_000_000).await;
    let give = async |body: Value| daemon.change(&owner, "POST /v1/grants", Some(body)).await;
    for (body, status) in [
        (json!({"shape": "action", "tool": "send_email"}), 409),
        (json!({"shape": "action", "tool": "crypto_tx"}), 409),
        (json!({"shape": "to_self", "tool": "contact_emergency_services"}), 409),
        (json!({"shape": "everything"}), 400),
        (json!({"shape": "action"}), 400),
        (json!({"shape": "targets", "tool": "send_message", "targets": []}), 400),
        (json!({"shape": "action", "tool": "send_message", "minutes": 0}), 400),
        (json!({"shape": "action", "tool": "send_message", "minutes": 99_999}), 400),
        (json!({"shape": "action", "tool": "send_message", "uses": 0}), 400),
        (json!({"shape": "action", "tool": "send_message", "session": "s"}), 400),
        (json!({"shape": "action", "tool": "send_message", "agent": "nobody"}), 404),
        (json!({"shape": "action", "tool": "send_message", "made_by": "ana"}), 400),
        (json!({"shape": "exact", "digest": "0".repeat(64)}), 400),
    ] {
        assert_eq!(give(body.clone()).await.status, status, "{body}");
    }
    let body = json!({"shape": "action", "tool": "send_message", "agent": "claude", "uses": 1});
    let given = give(body).await;
    assert_eq!(given.status, 201, "{:?}", given.body);
    let ask = async || {
        let call = json!({"tool": "send_message", "arguments": {"to": "bo", "text": "hi"}});
        daemon.by(&agent, ApiSide::Agents, "POST /v1/requests", Some(call)).await.body
    };
    let first = ask().await;
    assert_eq!(first["decision"]["by"]["grant"], given.body["id"], "{first}");
    assert_eq!(ask().await["state"], "pending");
    let body = json!({"shape": "action", "tool": "send_message", "minutes": 5});
    let id = give(body).await.body["id"].as_str().unwrap().to_owned();
    assert_eq!(ask().await["state"], "approved");
    let line = format!("DELETE /v1/grants/{id}");
    assert_eq!(daemon.change(&owner, &line, None).await.status, 200);
    assert_eq!(daemon.change(&owner, &line, None).await.status, 404);
    assert_eq!(ask().await["state"], "pending");
    let all = daemon.by(&owner, ApiSide::People, "GET /v1/grants?all=true", None).await;
    let live = daemon.by(&owner, ApiSide::People, "GET /v1/grants", None).await;
    let count = |reply: &Value| reply["grants"].as_array().map_or(0, Vec::len);
    // The default whitelist: mail to oneself.
    assert_eq!((count(&all.body), count(&live.body)), (3, 1), "{:?}", live.body);
    assert_eq!(live.body["grants"][0]["name"], "whitelist:send_email");
}
