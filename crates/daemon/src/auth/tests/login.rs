//! Signing in, and guessing passphrases.

use serde_json::{Value, json};

use crate::api::session_key::test_browser::TestBrowser;
use crate::notifier::test_notifier::until;
use crate::test_daemon::{ApiSide, TestDaemon, TestReply};

async fn log_in(daemon: &TestDaemon, name: &str, passphrase: &str, channel: &str) -> TestReply {
    let body = json!({"name": name, "passphrase": passphrase, "channel": channel});
    daemon.ask(ApiSide::People, "POST /v1/login", &[], Some(body)).await
}

/// The owner signs in with a browser.
async fn log_in_browser(
    daemon: &TestDaemon,
    browser: &TestBrowser,
    headers: &[(&str, &str)],
) -> TestReply {
    let body = json!({
        "name": "owner", "passphrase": daemon.passphrase, "channel": "web",
        "key": browser.public_key(),
    });
    daemon.ask(ApiSide::People, "POST /v1/login", headers, Some(body)).await
}

#[tokio::test]
async fn the_right_passphrase_signs_in_terminals_and_browsers() {
    let daemon = TestDaemon::default().await;
    let passphrase = daemon.passphrase.clone();
    let reply = log_in(&daemon, "owner", &passphrase, "terminal").await;
    assert_eq!(reply.status, 200, "{:?}", reply.body);
    let token = reply.body["token"].as_str().unwrap().to_owned();
    assert!(token.starts_with("csp_") && token.len() >= 47);
    assert!(!reply.headers.contains_key("set-cookie"));
    assert_eq!(reply.body["role"], "administrator");
    let me = daemon.by(&token, ApiSide::People, "GET /v1/me", None).await;
    assert_eq!(me.body["channel"], "terminal");

    // A browser brings a key of its own, which never leaves it.
    assert_eq!(log_in(&daemon, "owner", &passphrase, "web").await.status, 400);
    let mut browser = TestBrowser::new("");
    let web = log_in_browser(&daemon, &browser, &[]).await;
    assert_eq!((web.status.as_u16(), web.body.get("token")), (200, None));
    assert_eq!(web.body.get("proof"), None);
    let set = web.headers["set-cookie"].to_str().unwrap().to_owned();
    assert!(set.starts_with("countersign=csp_"), "{set}");
    assert!(set.contains("; HttpOnly; SameSite=Strict; Path=/") && !set.contains("Secure"));
    let cookie = set.split(';').next().unwrap().to_owned();
    web.body["salt"].as_str().unwrap().clone_into(&mut browser.salt);
    let proof = browser.proof("DELETE /v1/login", b"", daemon.now().0);
    let headers = [("cookie", cookie.as_str()), ("x-countersign-proof", &*proof)];
    let me = daemon.ask(ApiSide::People, "GET /v1/me", &headers, None).await;
    assert_eq!(me.body["channel"], "web");
    let out = daemon.ask(ApiSide::People, "DELETE /v1/login", &headers, None).await;
    assert_eq!(out.status, 200);
    assert!(out.headers["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    assert_eq!(daemon.ask(ApiSide::People, "GET /v1/me", &headers, None).await.status, 401);
    assert_eq!(daemon.by(&token, ApiSide::People, "GET /v1/me", None).await.status, 200);
    assert_eq!(daemon.by(&token, ApiSide::People, "DELETE /v1/login", None).await.status, 200);
    assert_eq!(daemon.by(&token, ApiSide::People, "GET /v1/me", None).await.status, 401);

    let host = [("host", "approve.example.org")];
    let tls = log_in_browser(&daemon, &browser, &host).await;
    let set = tls.headers["set-cookie"].to_str().unwrap().to_owned();
    assert!(set.starts_with("__Host-countersign=csp_") && set.ends_with("; Secure"), "{set}");

    // Neither the passphrase nor a token is anywhere in the ledger.
    let ledger = Value::from(daemon.ledger().await).to_string();
    assert!(!ledger.contains(&daemon.passphrase) && !ledger.contains("csp_"));
}

#[tokio::test]
async fn unknown_names_and_wrong_passphrases_get_the_same_answer() {
    let daemon = TestDaemon::default().await;
    for _ in 0..5 {
        let wrong = log_in(&daemon, "owner", "olive-tractor", "terminal").await;
        let nobody = log_in(&daemon, "my-secret-typed-here", "olive-tractor", "terminal").await;
        assert_eq!((wrong.status.as_u16(), nobody.status.as_u16()), (401, 401));
        assert_eq!(wrong.body, nobody.body);
    }
    let passphrase = daemon.passphrase.clone();
    let locked = log_in(&daemon, "owner", &passphrase, "terminal").await;
    assert_eq!(locked.status, 429);
    let wait: u32 = locked.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((20..=30).contains(&wait), "{wait}");
    assert_eq!(daemon.count("login_failed").await, 10);
    assert_eq!(daemon.count("locked_out").await, 2);
    assert_eq!(daemon.api.login_throttle.lockouts(), 2);
    let ledger = Value::from(daemon.ledger().await).to_string();
    assert!(!ledger.contains("typed-here") && !ledger.contains("olive-tractor"));
}

#[tokio::test]
async fn a_disconnected_login_still_counts() {
    let daemon = TestDaemon::default().await;
    for _ in 0..5 {
        let guess = log_in(&daemon, "owner", "wrong", "terminal");
        // Polled once, then dropped.
        assert!(tokio::time::timeout(std::time::Duration::ZERO, guess).await.is_err());
    }
    let passphrase = daemon.passphrase.clone();
    let locked = log_in(&daemon, "owner", &passphrase, "terminal").await;
    assert_eq!(locked.status, 429);
    // Each attempt was checked to its end and recorded.
    until("all five are recorded", async || daemon.count("login_failed").await == 5).await;
    assert_eq!((daemon.count("login_failed").await, daemon.count("locked_out").await), (5, 1));
}

#[tokio::test]
async fn invalid_login_bodies_are_rejected() {
    let daemon = TestDaemon::default().await;
    let right = daemon.passphrase.clone();
    for body in [
        json!({}),
        json!([]),
        json!({"name": "owner", "passphrase": right}),
        json!({"name": "owner", "passphrase": right, "channel": "telegram"}),
        json!({"name": "owner", "passphrase": right, "channel": null}),
        json!({"name": "owner", "passphrase": right, "channel": "web", "role": "administrator"}),
        json!({"name": ["owner"], "passphrase": right, "channel": "web"}),
        json!({"name": "owner", "passphrase": "x".repeat(2_000), "channel": "web"}),
    ] {
        let reply = daemon.ask(ApiSide::People, "POST /v1/login", &[], Some(body.clone())).await;
        assert_eq!(reply.status, 400, "{body}");
    }
    let form = [("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(daemon.ask(ApiSide::People, "POST /v1/login", &form, None).await.status, 415);
    assert_eq!(daemon.ask(ApiSide::Agents, "POST /v1/login", &[], None).await.status, 404);
}

#[tokio::test]
async fn with_tls_cookies_are_secure_and_other_hosts_are_refused() {
    let daemon = TestDaemon::with("tls = true", "").await;
    let web = log_in_browser(&daemon, &TestBrowser::new(""), &[]).await;
    assert_eq!(web.status, 200, "{:?}", web.body);
    let set = web.headers["set-cookie"].to_str().unwrap();
    assert!(set.starts_with("__Host-countersign=csp_") && set.ends_with("; Secure"), "{set}");
    for side in [ApiSide::Agents, ApiSide::People] {
        let named = format!("approve.example.org:{}", daemon.port(side));
        for (host, status) in [(&*named, 200), ("approve.example.org", 200), ("evil.example", 421)]
        {
            let reply = daemon.ask(side, "GET /health", &[("host", host)], None).await;
            assert_eq!(reply.status, status, "{host}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_session_ends_and_a_restart_does_not_revive_it() {
    let daemon = TestDaemon::with("", "[people]\nidle_seconds = 3600\n").await;
    let owner = daemon.login("owner", "terminal", 1 << 40).await;
    let status = async |daemon: &TestDaemon| {
        daemon.by(&owner, ApiSide::People, "GET /v1/me", None).await.status.as_u16()
    };
    assert_eq!(status(&daemon).await, 200);
    // What a person does counts.
    daemon.forward(1_000_000);
    for _ in 0..3 {
        let here = daemon.by(&owner, ApiSide::People, "POST /v1/me", None).await;
        assert_eq!(here.status, 200, "{:?}", here.body);
        daemon.forward(3_500_000);
        assert_eq!(status(&daemon).await, 200);
    }
    // What a program reads does not.
    daemon.forward(100_000);
    assert_eq!(status(&daemon).await, 401);
    let daemon = daemon.restart("[people]\nidle_seconds = 3600\n", |_| {}).await;
    daemon.forward(20_000_000);
    assert_eq!(status(&daemon).await, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_page_that_reads_does_not_keep_its_session() {
    let daemon = TestDaemon::with("", "[people]\nidle_seconds = 1800\n").await;
    let (open, used) = (daemon.browser().await, daemon.browser().await);
    let send = async |browser: &TestBrowser, line: &str, is_signed: bool| {
        let cookie = format!("countersign={}", browser.cookie());
        let proof = browser.proof(line, b"", daemon.now().0);
        let headers = [("cookie", &*cookie), ("x-countersign-proof", &*proof)];
        let count = if is_signed { 2 } else { 1 };
        daemon.ask(ApiSide::People, line, &headers[..count], None).await.status.as_u16()
    };
    // Both sessions are 1,000 seconds old.
    daemon.forward(700_000);
    for line in ["GET /", "GET /v1/me", "GET /v1/requests"] {
        assert_eq!(send(&open, line, false).await, 200, "{line}");
    }
    // Whoever copied the cookie cannot sign.
    assert_eq!(send(&open, "POST /v1/me", false).await, 403);
    assert_eq!(send(&used, "POST /v1/me", true).await, 200);
    daemon.forward(150_000);
    assert_eq!(send(&open, "GET /v1/me", false).await, 401);
    daemon.forward(1_600_000);
    assert_eq!(send(&used, "GET /v1/me", false).await, 200);
    daemon.forward(100_000);
    assert_eq!(send(&used, "GET /v1/me", false).await, 401);
}
