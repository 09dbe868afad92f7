//! The pages of the people API; `proofs` tests them in a browser.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::json;
use tower_service::Service as _;

use super::{ANA_TOKEN, CODER_TOKEN, TestApi, header_of, send};
use crate::listeners::Peer;

const PAGES: [&str; 16] = [
    "/",
    "/review",
    "/history",
    "/sessions",
    "/grants",
    "/servers",
    "/fleet",
    "/agents",
    "/people",
    "/devices",
    "/channels",
    "/crises",
    "/ledger",
    "/settings",
    "/attention",
    "/calibration",
];

pub(super) async fn get(api: &TestApi, path: &str, token: Option<&str>) -> Response {
    send(&api.people, 6001, "GET", path, token, &[], json!(null)).await
}

pub(super) async fn text(response: Response) -> (StatusCode, HeaderMap, String) {
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    (parts.status, parts.headers, String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test]
async fn callers_without_a_session_see_only_the_login_page() {
    let api = TestApi::new().await;
    let asked = json!({ "tool": "send_email", "arguments": { "to": "bo@example.org" } });
    let (_, asked) = api.agent("POST", "/v1/requests", asked).await;
    let id = asked["id"].as_str().unwrap();
    let one = format!("/requests/{id}");
    for token in [None, Some(CODER_TOKEN), Some("csp_nobody")] {
        for path in PAGES.into_iter().chain([one.as_str()]) {
            let (status, headers, body) = text(get(&api, path, token).await).await;
            assert_eq!(status, StatusCode::SEE_OTHER, "{path}");
            assert!(header_of(&headers, "location").starts_with("/login?next="), "{path}");
            assert!(body.is_empty(), "{path}");
        }
        for part in
            ["/inbox/rail", "/inbox/ids", &format!("/inbox/row/{id}"), &format!("/inbox/card/{id}")]
        {
            let (status, _, body) = text(get(&api, part, token).await).await;
            assert!(status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN);
            assert!(!body.contains("bo@example.org"), "{body}");
        }
    }
    let on_the_agent_api = api.agents("GET", "/", Some(CODER_TOKEN), &[], json!(null)).await;
    assert_eq!(on_the_agent_api.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn every_page_has_a_strict_content_security_policy() {
    let api = TestApi::new().await;
    for path in PAGES.into_iter().chain(["/login"]) {
        let (status, headers, body) = text(get(&api, path, Some(ANA_TOKEN)).await).await;
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
        let policy = header_of(&headers, "content-security-policy");
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(header_of(&headers, "cache-control"), "no-store");
        for inline in [" style=", " onclick=", "<script>", "javascript:"] {
            assert!(!body.contains(inline), "{path}: {inline}");
        }
    }
}

#[tokio::test]
async fn agent_text_is_escaped_and_sanitized() {
    let api = TestApi::new().await;
    let bad = "<script>x</script>\u{202e}\u{1b}[2J\"'";
    let asked = json!({
        "tool": "send_email", "arguments": { "to": "bo@example.org", "body": bad },
        "description": bad, "session": bad,
    });
    let (status, asked) = api.agent("POST", "/v1/requests", asked).await;
    assert_eq!(status, StatusCode::CREATED, "{asked}");
    let id = asked["id"].as_str().unwrap();
    let one = format!("/requests/{id}");
    for path in ["/", &one, "/history", "/ledger", "/review", "/sessions", "/attention"] {
        let (_, _, body) = text(get(&api, path, Some(ANA_TOKEN)).await).await;
        assert!(!body.contains("<script>x"), "{path}");
        assert!(!body.contains(['\u{202e}', '\u{1b}']), "{path}");
    }
}

#[tokio::test]
async fn unknown_requests_are_not_found_and_redirects_stay_local() {
    let api = TestApi::new().await;
    let (status, _, _) = text(get(&api, "/requests/nonsense", Some(ANA_TOKEN)).await).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (status, _, body) = text(get(&api, "/login?next=//evil.example", None).await).await;
    assert_eq!(status, StatusCode::OK);
    assert!(!body.contains("evil.example"), "it leads nowhere else");
}

#[tokio::test]
async fn critical_calls_are_never_approved_together() {
    let api = TestApi::new().await;
    let mut ids = Vec::new();
    for command in ["systemctl restart web", "git push --force", "mkfs.ext4 /dev/sda"] {
        let (_, asked) = api.agent("POST", "/v1/requests", json!({ "command": command })).await;
        ids.push(json!({
            "id": asked["id"], "digest": asked["digest"], "word": asked["phrase"],
        }));
    }
    let answer = |choice: &str| json!({ "choice": choice, "reason": "why not", "requests": ids });
    let (_, approved) = api.person("POST", "/v1/decisions", answer("approve")).await;
    let state = |at: usize| approved["results"][at]["state"].as_str();
    assert_eq!([state(0), state(1), state(2)], [Some("approved"), Some("approved"), None]);
    assert_eq!(approved["results"][2]["problem"]["status"], 409);
    // A denial is always accepted.
    let (_, denied) = api.person("POST", "/v1/decisions", answer("deny")).await;
    assert_eq!(denied["results"][2]["state"], "denied");
}

#[tokio::test]
async fn calibration_counts_only_answered_calls() {
    let api = TestApi::new().await;
    api.grant("send_message").await;
    for (at, choice) in ["approve", "deny", "deny"].into_iter().enumerate() {
        let asked = json!({ "command": format!("systemctl restart web-{at}") });
        let (_, asked) = api.agent("POST", "/v1/requests", asked).await;
        let path = format!("/v1/requests/{}/decision", asked["id"].as_str().unwrap());
        let said = json!({ "choice": choice, "digest": asked["digest"] });
        assert_eq!(api.person("POST", &path, said).await.0, StatusCode::OK);
    }
    let waits = json!({ "command": "systemctl restart web-9" });
    api.agent("POST", "/v1/requests", waits).await;
    let (status, found) = api.person("GET", "/v1/calibration", json!(null)).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(found["now"], json!({ "low_confidence": 0.8, "medium": 1.5 }));
    let bucket = &found["buckets"][0];
    let counts = [&bucket["approved"], &bucket["denied"], &bucket["expired"]];
    assert_eq!(counts, [&json!(1), &json!(2), &json!(0)], "{found}");
    assert_eq!(
        (&bucket["tier"], found["buckets"].as_array().unwrap().len()),
        (&json!("MEDIUM"), 1)
    );
    let path = "/calibration?medium=300&low=60";
    let (_, _, body) = text(get(&api, path, Some(ANA_TOKEN)).await).await;
    assert!(body.contains("3 questions would have been avoided; 2 denied calls would have passed"));
    for nonsense in ["medium=x", "medium=99999", "low=-1", "low=1e9"] {
        let path = format!("/calibration?{nonsense}");
        assert_eq!(get(&api, &path, Some(ANA_TOKEN)).await.status(), StatusCode::OK, "{path}");
    }
}

#[tokio::test]
async fn approvers_see_only_their_own_attention() {
    let api = TestApi::new().await;
    let (_, asked) =
        api.agent("POST", "/v1/requests", json!({ "command": "systemctl restart web" })).await;
    api.approve(&asked).await;
    let (_, _, body) = text(get(&api, "/attention", Some(ANA_TOKEN)).await).await;
    assert!(body.contains("1 answer: 1 approved, 0 denied (100 % approved)"), "{body}");
}

#[tokio::test]
async fn the_channels_page_shows_state_and_limits() {
    let api = TestApi::new().await;
    let (_, _, body) = text(get(&api, "/channels", Some(ANA_TOKEN)).await).await;
    for words in
        ["terminal", "desktop", "Notifications only", "No message since the daemon started."]
    {
        assert!(body.contains(words), "{words}: {body}");
    }
    // These channels have no answers, and only administrators send tests.
    assert!(!body.contains("data-tell"), "{body}");
}

/// A form as a browser without JavaScript sends it.
async fn plain(api: &TestApi, origin: &str, kind: &str, form: &str) -> StatusCode {
    let request = Request::post("/plain/deny")
        .header("host", "127.0.0.1:6001")
        .header("origin", origin)
        .header("content-type", kind)
        .extension(Peer::Network { local: true })
        .body(Body::from(form.to_owned()));
    api.people.clone().call(request.unwrap()).await.unwrap().status()
}

#[tokio::test]
async fn failed_passphrases_without_javascript_count_as_failed_logins() {
    const OURS: &str = "http://127.0.0.1:6001";
    const FORM: &str = "application/x-www-form-urlencoded";
    let api = TestApi::new().await;
    let asked = json!({ "command": "systemctl restart web" });
    let (_, asked) = api.agent("POST", "/v1/requests", asked).await;
    let id = asked["id"].as_str().unwrap();
    let form = format!("request={id}&name=ana&passphrase=a+guess");
    // A request that is not our form is not a login attempt.
    let json = "application/json";
    assert_eq!(plain(&api, "http://127.0.0.1:7000", FORM, &form).await.as_u16(), 421);
    assert_eq!(plain(&api, "null", FORM, &form).await.as_u16(), 421);
    assert_eq!(plain(&api, OURS, json, &form).await.as_u16(), 400);
    for strange in ["", "request=x&name=ana&passphrase=y", &format!("{form}&choice=approve")] {
        assert_eq!(plain(&api, OURS, FORM, strange).await.as_u16(), 400, "{strange}");
    }
    let mut last = StatusCode::OK;
    for _ in 0..6 {
        last = plain(&api, OURS, FORM, &form).await;
        assert!(last.is_client_error(), "{last}");
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    let said = json!({ "name": "ana", "passphrase": "a guess", "channel": "terminal" });
    let at_the_login = api.person("POST", "/v1/login", said).await.0;
    assert_eq!(at_the_login, StatusCode::TOO_MANY_REQUESTS, "one count for both ways");
    let (_, stands) = api.agent("GET", &format!("/v1/requests/{id}"), json!(null)).await;
    assert_eq!(stands["state"], "pending");
}

#[tokio::test]
async fn the_card_in_a_crisis_shows_signs_turns_and_helplines_until_it_is_decided() {
    let api = TestApi::new().await;
    let words = "nobody would miss me. I want to kill myself tonight";
    let body = json!({ "text": words, "session": "s", "country": "de" });
    api.agent("POST", "/v1/screen", body).await;
    let call = json!({
        "tool": "send_message", "arguments": { "to": "bo", "text": "all is well" },
        "session": "s",
    });
    let (_, held) = api.agent("POST", "/v1/requests", call).await;
    let path = format!("/inbox/card/{}", held["id"].as_str().unwrap());
    let (_, _, card) = text(get(&api, &path, Some(ANA_TOKEN)).await).await;
    for part in ["Signs: ", "kill myself", "nobody would miss me", "TelefonSeelsorge", "112"] {
        assert!(card.contains(part), "{part}: {card}");
    }
    let (_, _, page) = text(get(&api, "/crises", Some(ANA_TOKEN)).await).await;
    assert!(page.contains("Signs: ") && page.contains("TelefonSeelsorge"), "{page}");
    let (status, _) = api.approve(&held).await;
    assert_eq!(status, StatusCode::OK);
    let (_, _, card) = text(get(&api, &path, Some(ANA_TOKEN)).await).await;
    assert!(!card.contains("kill myself") && !card.contains("nobody would"), "{card}");
}

#[tokio::test]
async fn calls_that_people_always_approve_are_suggested_on_the_page_of_grants() {
    let api = TestApi::new().await;
    let call =
        json!({ "tool": "Bash", "arguments": { "command": "frobnicate --rebuild <index>" } });
    let approve = async || {
        let (_, held) = api.agent("POST", "/v1/requests", call.clone()).await;
        let (status, _) = api.approve(&held).await;
        assert_eq!(status, StatusCode::OK, "{held}");
        let path = format!("/v1/requests/{}/outcome", held["id"].as_str().unwrap());
        api.agent("POST", &path, json!({ "status": "ok" })).await;
        held
    };
    let page = async || text(get(&api, "/grants", Some(ANA_TOKEN)).await).await.2;
    for _ in 0..9 {
        approve().await;
    }
    assert!(!page().await.contains("Suggested"));
    let held = approve().await;
    let shown = page().await;
    assert!(shown.contains("approved 10 times in a row"), "{shown}");
    assert!(shown.contains("frobnicate --rebuild &lt;index&gt;"), "{shown}");
    let list = api.person("GET", "/v1/grants/suggestions", json!(null)).await.1;
    let one = &list["suggestions"][0];
    assert_eq!((&one["approvals"], &one["request"]), (&json!(10), &held["id"]), "{list}");
    let (status, _) = api.person("GET", "/v1/grants/suggestions?approvals=0", json!(null)).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    // An approver sees it; only an administrator can give it.
    assert!(!shown.contains("Allow for 30 days"), "{shown}");
    let (_, held) = api.agent("POST", "/v1/requests", call.clone()).await;
    let path = format!("/v1/requests/{}/decision", held["id"].as_str().unwrap());
    let denial = json!({ "choice": "deny", "reason": "no", "digest": held["digest"] });
    let (status, denied) = api.person("POST", &path, denial).await;
    assert_eq!(status, StatusCode::OK, "{denied}");
    assert!(!page().await.contains("Suggested"), "a denial takes it back");
}
