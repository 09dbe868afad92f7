//! The pages at the people's door; what they do in a browser is proved in `proofs`.

use axum::body::to_bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::json;

use super::{ANA_TOKEN, CODER_TOKEN, Trial, header_of, send};

const PAGES: [&str; 8] =
    ["/", "/history", "/grants", "/agents", "/people", "/channels", "/crises", "/ledger"];

async fn get(trial: &Trial, path: &str, token: Option<&str>) -> Response {
    send(&trial.people, 6001, "GET", path, token, &[], json!(null)).await
}

async fn text(response: Response) -> (StatusCode, HeaderMap, String) {
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    (parts.status, parts.headers, String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test]
async fn strangers_and_agents_see_the_login_page_and_nothing_else() {
    let trial = Trial::new().await;
    let asked = json!({ "tool": "send_email", "arguments": { "to": "bo@example.org" } });
    let (_, asked) = trial.agent("POST", "/v1/requests", asked).await;
    let id = asked["id"].as_str().unwrap();
    let one = format!("/requests/{id}");
    for token in [None, Some(CODER_TOKEN), Some("csp_nobody")] {
        for path in PAGES.into_iter().chain([one.as_str()]) {
            let (status, headers, body) = text(get(&trial, path, token).await).await;
            assert_eq!(status, StatusCode::SEE_OTHER, "{path}");
            assert!(header_of(&headers, "location").starts_with("/login?next="), "{path}");
            assert!(body.is_empty(), "{path}");
        }
        for part in ["/inbox/rail", &format!("/inbox/row/{id}"), &format!("/inbox/card/{id}")] {
            let (status, _, body) = text(get(&trial, part, token).await).await;
            assert!(status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN);
            assert!(!body.contains("bo@example.org"), "{body}");
        }
    }
    let at_the_other_door = trial.agents("GET", "/", Some(CODER_TOKEN), &[], json!(null)).await;
    assert_eq!(at_the_other_door.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn every_page_forbids_what_it_does_not_need() {
    let trial = Trial::new().await;
    for path in PAGES.into_iter().chain(["/login"]) {
        let (status, headers, body) = text(get(&trial, path, Some(ANA_TOKEN)).await).await;
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
async fn what_agents_write_is_escaped_and_made_visible() {
    let trial = Trial::new().await;
    let bad = "<script>x</script>\u{202e}\u{1b}[2J\"'";
    let asked = json!({
        "tool": "send_email", "arguments": { "to": "bo@example.org", "body": bad },
        "description": bad, "session": bad,
    });
    let (status, asked) = trial.agent("POST", "/v1/requests", asked).await;
    assert_eq!(status, StatusCode::CREATED, "{asked}");
    let id = asked["id"].as_str().unwrap();
    for path in
        ["/".to_owned(), format!("/requests/{id}"), "/history".to_owned(), "/ledger".to_owned()]
    {
        let (_, _, body) = text(get(&trial, &path, Some(ANA_TOKEN)).await).await;
        assert!(!body.contains("<script>x"), "{path}");
        assert!(!body.contains(['\u{202e}', '\u{1b}']), "{path}");
    }
}

#[tokio::test]
async fn there_is_no_page_for_nonsense_and_no_way_out() {
    let trial = Trial::new().await;
    let (status, _, _) = text(get(&trial, "/requests/nonsense", Some(ANA_TOKEN)).await).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (status, _, body) = text(get(&trial, "/login?next=//evil.example", None).await).await;
    assert_eq!(status, StatusCode::OK);
    assert!(!body.contains("evil.example"), "it leads nowhere else");
}

#[tokio::test]
async fn the_channels_page_says_how_each_one_does_and_who_answers() {
    let trial = Trial::new().await;
    let (_, _, body) = text(get(&trial, "/channels", Some(ANA_TOKEN)).await).await;
    for words in ["terminal", "desktop", "Only tells", "No message since the daemon started."] {
        assert!(body.contains(words), "{words}: {body}");
    }
    // Nobody answers through these, and only administrators send tests.
    assert!(!body.contains("data-tell"), "{body}");
}
