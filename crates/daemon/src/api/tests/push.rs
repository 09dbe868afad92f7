//! Browsers with notifications: each person's own, and only usable ones.

use super::*;
use countersign_json::base64;

/// The browser of RFC 8291, section 5.
fn browser(endpoint: &str) -> Value {
    json!({
        "endpoint": endpoint, "called": "Firefox on Linux", "auth": "BTBZMqHH6r4Tts7J_aSIgg",
        "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkN\
                   toIAiw4",
    })
}

#[tokio::test]
async fn a_browser_is_added_once_and_removed() {
    let api = TestApi::new().await;
    let add = |body| api.person("POST", "/v1/push", body);
    let (status, added) = add(browser("https://push.example.org/secret-place")).await;
    assert_eq!(status, StatusCode::CREATED, "{added}");
    assert!(api.api.channels.browsers().any());
    // The same browser again is not added twice.
    add(browser("https://push.example.org/secret-place")).await;
    let (_, list) = api.person("GET", "/v1/push", Value::Null).await;
    assert_eq!(list["browsers"].as_array().unwrap().len(), 1);
    assert!(!list.to_string().contains("secret-place"), "who knows the place can call");
    let path = format!("/v1/push/{}", added["id"].as_str().unwrap());
    let agent = send(&api.people, 6001, "DELETE", &path, Some(CODER_TOKEN), &[], Value::Null);
    assert_eq!(agent.await.status(), StatusCode::FORBIDDEN);
    assert_eq!(api.person("DELETE", &path, Value::Null).await.0, StatusCode::OK);
    assert_eq!(api.person("DELETE", &path, Value::Null).await.0, StatusCode::NOT_FOUND);
    assert!(!api.api.channels.browsers().any());
}

#[tokio::test]
async fn invalid_push_subscriptions_are_rejected() {
    let api = TestApi::new().await;
    let good = browser("https://push.example.org/x");
    let no_point = base64::encode_url(&[4; 65]);
    for (name, value) in [
        ("endpoint", json!("http://push.example.org/x")),
        ("endpoint", json!("https://user@push.example.org/x")),
        ("endpoint", json!(format!("https://push.example.org/{}", "x".repeat(2000)))),
        ("p256dh", json!(no_point)),
        ("auth", json!("AAAA")),
        ("called", json!(" ")),
        ("called", json!("a\nb")),
        ("more", json!(1)),
    ] {
        let mut body = good.clone();
        body[name] = value.clone();
        let (status, answer) = api.person("POST", "/v1/push", body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{name} {value}: {answer}");
    }
    assert!(!api.api.channels.browsers().any());
}

#[tokio::test]
async fn the_service_worker_and_the_manifest_are_served() {
    let api = TestApi::new().await;
    let get = |path: &'static str| send(&api.people, 6001, "GET", path, None, &[], Value::Null);
    let worker = get("/sw.js").await;
    assert_eq!(worker.status(), StatusCode::OK);
    assert_eq!(header_of(worker.headers(), "content-security-policy"), "default-src 'none'");
    assert_eq!(header_of(worker.headers(), "cache-control"), "no-store");
    let (_, manifest) = read(get("/manifest.webmanifest").await).await;
    for icon in manifest["icons"].as_array().unwrap() {
        let path = icon["src"].as_str().unwrap();
        let found = send(&api.people, 6001, "GET", path, None, &[], Value::Null).await;
        assert_eq!(header_of(found.headers(), "content-type"), icon["type"], "{path}");
    }
}
