//! Foreign web pages: DNS rebinding, cross-site requests, stolen and injected cookies.

use axum::body::Body;
use axum::extract::Request;
use serde_json::json;

use crate::api::session_key::test_browser::TestBrowser;
use crate::test_daemon::{ApiSide, TestDaemon};

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "DELETE", "OPTIONS"];

/// Hosts for an API, and whether it allows them.
fn hosts(side: ApiSide, port: u16) -> Vec<(Vec<String>, bool)> {
    let one = |host: String, ours: bool| (vec![host], ours);
    vec![
        one(format!("127.0.0.1:{port}"), true),
        one(format!("LOCALHOST:{port}"), true),
        one(format!("[::1]:{port}"), true),
        one("approve.example.org".to_owned(), side == ApiSide::People),
        one("127.0.0.1".to_owned(), false),
        one("localhost:1".to_owned(), false),
        one(format!("evil.example.com:{port}"), false),
        one(format!("127.0.0.1.nip.io:{port}"), false),
        one(format!("localhost.:{port}"), false),
        one(format!("x@127.0.0.1:{port}"), false),
        (vec![], false),
        (vec![format!("127.0.0.1:{port}"), format!("127.0.0.1:{port}")], false),
    ]
}

fn origins(port: u16) -> [(Option<String>, bool); 10] {
    [
        (None, true),
        (Some(format!("http://127.0.0.1:{port}")), true),
        (Some(format!("http://localhost:{port}")), true),
        (Some("https://approve.example.org".to_owned()), true),
        (Some("null".to_owned()), false),
        (Some("http://localhost:3000".to_owned()), false),
        (Some("https://evil.example.com".to_owned()), false),
        (Some(format!("https://127.0.0.1:{port}")), false),
        (Some("http://approve.example.org".to_owned()), false),
        (Some(format!("http://127.0.0.1:{port}.evil.example.com")), false),
    ]
}

const SITES: [(Option<&str>, bool); 5] = [
    (None, true),
    (Some("same-origin"), true),
    (Some("none"), true),
    (Some("same-site"), false),
    (Some("cross-site"), false),
];

#[tokio::test]
async fn only_allowed_hosts_and_origins_are_served() {
    let daemon = TestDaemon::default().await;
    let (mut seen, mut through) = (0, 0);
    for side in [ApiSide::Agents, ApiSide::People] {
        let port = daemon.port(side);
        for (host, host_ours) in hosts(side, port) {
            for (origin, origin_ours) in origins(port) {
                for (site, site_ours) in SITES {
                    for method in METHODS {
                        let mut request = Request::builder().method(method).uri("/health");
                        for host in &host {
                            request = request.header("host", host);
                        }
                        if let Some(origin) = &origin {
                            request = request.header("origin", origin);
                        }
                        if let Some(site) = site {
                            request = request.header("sec-fetch-site", site);
                        }
                        let request = request.body(Body::empty()).unwrap();
                        let reply = daemon.send(side, request).await;
                        // The agent API allows no page at all.
                        let page = origin.is_some() || site.is_some();
                        let allowed = match side {
                            ApiSide::Agents => host_ours && !page,
                            ApiSide::People => host_ours && origin_ours && site_ours,
                        };
                        let case = format!("{side:?} {method} {host:?} {origin:?} {site:?}");
                        assert_eq!(reply.status.as_u16() != 421, allowed, "{case}");
                        assert_eq!(reply.status.is_success(), allowed && method == "GET", "{case}");
                        assert!(!reply.headers.contains_key("access-control-allow-origin"));
                        seen += 1;
                        through += i32::from(allowed);
                    }
                }
            }
        }
    }
    assert_eq!((seen, through), (6_000, 15 + 4 * 4 * 3 * 5));
}

#[tokio::test]
async fn duplicate_headers_are_rejected() {
    let daemon = TestDaemon::default().await;
    let owner = format!("Bearer {}", daemon.owner().await);
    let line = "GET /v1/me";
    let once = daemon.ask(ApiSide::People, line, &[("authorization", &owner)], None).await;
    assert_eq!(once.status, 200);
    let twice = [("authorization", owner.as_str()), ("authorization", owner.as_str())];
    assert_eq!(daemon.ask(ApiSide::People, line, &twice, None).await.status, 401);
    let site = [("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")];
    assert_eq!(daemon.ask(ApiSide::People, line, &site, None).await.status, 421);
    let port = daemon.port(ApiSide::People);
    let ours = format!("http://127.0.0.1:{port}");
    let origin = [("origin", ours.as_str()), ("origin", ours.as_str())];
    assert_eq!(daemon.ask(ApiSide::People, line, &origin, None).await.status, 421);
    let absolute = format!("http://evil.example.com:{port}/v1/me");
    let named = daemon.ask(ApiSide::People, &format!("GET {absolute}"), &[], None).await;
    assert_eq!(named.status, 421);
}

#[tokio::test]
async fn a_stolen_cookie_reads_but_changes_nothing() {
    let daemon = TestDaemon::default().await;
    let browser = daemon.browser().await;
    let secret = browser.cookie();
    let cookie = format!("countersign={secret}");
    let me = daemon.ask(ApiSide::People, "GET /v1/me", &[("cookie", &cookie)], None).await;
    assert_eq!((me.status.as_u16(), me.body["person"].as_str()), (200, Some("owner")));
    let line = "POST /v1/grants";
    let body = json!({"shape": "action", "tool": "send_message", "minutes": 5});
    // The attacker knows the passphrase, so that only the cookie is tested.
    let known = crate::test_daemon::step_up_proof(&daemon.passphrase);
    let give = async |headers: &[(&str, &str)]| {
        let headers = [headers, &[(crate::api::STEP_UP, &*known)]].concat();
        daemon.ask(ApiSide::People, line, &headers, Some(body.clone())).await.status.as_u16()
    };
    let wrong = "0".repeat(64);
    let bearer = format!("Bearer {secret}");
    let twice = format!("{cookie}; {cookie}");
    let (text, now) = (body.to_string(), daemon.now().0);
    let signed = browser.proof(line, text.as_bytes(), now);
    let proof = ("x-countersign-proof", signed.as_str());
    assert_eq!(give(&[("cookie", &cookie)]).await, 403);
    // Everything that scripts could read of the browser: the salt and the public key. Another key,
    // a proof of another request, and an old proof do not help.
    let stored = format!("{}.{}", browser.salt, browser.public_key());
    let thief = TestBrowser::new(&browser.salt).proof(line, text.as_bytes(), now);
    let (_, forged) = thief.rsplit_once('.').unwrap();
    let forged = format!("{stored}.{now}.{forged}");
    let other = browser.proof(line, b"{}", now);
    let moved = browser.proof("POST /v1/people", text.as_bytes(), now);
    let old = browser.proof(line, text.as_bytes(), now - 400_000);
    for stolen in [&browser.salt, &stored, &thief, &forged, &other, &moved, &old] {
        assert_eq!(give(&[("cookie", &cookie), ("x-countersign-proof", stolen)]).await, 403);
    }
    assert_eq!(give(&[("cookie", &cookie), ("x-countersign-proof", &wrong)]).await, 403);
    assert_eq!(give(&[("cookie", &cookie), proof, proof]).await, 403);
    // As a bearer token the cookie would need no proof.
    assert_eq!(give(&[("authorization", &bearer)]).await, 401);
    // A page on another port set a second cookie.
    assert_eq!(give(&[("cookie", &twice), proof]).await, 401);
    // Over TLS only the cookie counts that no other page can set.
    let host = ("host", "approve.example.org");
    assert_eq!(give(&[host, ("cookie", &cookie), proof]).await, 401);
    let prefixed = format!("__Host-{cookie}");
    assert_eq!(give(&[host, ("cookie", &prefixed), proof]).await, 201);
    assert_eq!(give(&[("cookie", &cookie), proof]).await, 201);
    let no_token = format!("countersign={}", daemon.owner().await);
    assert_eq!(give(&[("cookie", &no_token), proof]).await, 401);
}

#[tokio::test]
async fn cookies_are_ignored_by_the_agent_api() {
    let daemon = TestDaemon::default().await;
    let cookie = format!("countersign={}", daemon.login("owner", "web", 1_000_000).await);
    let body = json!({"request_id": "0".repeat(26), "approved": true});
    let headers = [("cookie", cookie.as_str())];
    let reply = daemon.ask(ApiSide::Agents, "POST /respond", &headers, Some(body.clone())).await;
    assert_eq!(reply.status, 401);
    let closed = TestDaemon::with("respond_on_agent_api = false", "").await;
    let owner = closed.owner().await;
    let reply = closed.by(&owner, ApiSide::Agents, "POST /respond", Some(body.clone())).await;
    assert_eq!((reply.status.as_u16(), reply.body["status"].as_u64()), (404, Some(404)));
    assert_eq!(reply.headers["content-type"], "application/problem+json");
    // The route is unknown, not the request.
    assert_eq!(reply.body["detail"], "route not found");
    let reply = closed.by(&owner, ApiSide::People, "POST /respond", Some(body)).await;
    assert_eq!(reply.body["detail"], "unknown request");
}
