//! Commands of one form that people approved: suggested with what a grant would also allow.

use super::pages::{get, text};
use super::*;

async fn answer(api: &TestApi, command: &str, approves: bool) -> Value {
    let call = json!({ "tool": "Bash", "arguments": { "command": command } });
    let (_, held) = api.agent("POST", "/v1/requests", call).await;
    assert_eq!(held["state"], "pending", "{held}");
    if approves {
        assert_eq!(api.approve(&held).await.0, StatusCode::OK, "{held}");
    } else {
        let path = format!("/v1/requests/{}/decision", held["id"].as_str().unwrap());
        let denial = json!({ "choice": "deny", "reason": "no", "digest": held["digest"] });
        assert_eq!(api.person("POST", &path, denial).await.0, StatusCode::OK, "{held}");
    }
    held
}

#[tokio::test]
async fn forms_are_suggested_with_the_denied_calls_that_they_would_allow() {
    let api = TestApi::new().await;
    answer(&api, "frobnicate task 66", false).await;
    let mut held = Value::Null;
    for number in 0..10 {
        held = answer(&api, &format!("frobnicate task {number}"), true).await;
    }
    let list = api.person("GET", "/v1/grants/suggestions", json!(null)).await.1;
    let one = &list["forms"][0];
    assert_eq!(one["pattern"], "frobnicate task <number>", "{list}");
    assert_eq!((&one["approvals"], &one["request"]), (&json!(10), &held["id"]), "{list}");
    assert_eq!(one["commands"].as_array().unwrap().len(), 10, "{list}");
    assert_eq!(one["also_allows"]["denied"], 1, "{list}");
    let (_, _, page) = text(get(&api, "/grants", Some(ANA_TOKEN)).await).await;
    assert!(page.contains("frobnicate task &lt;number&gt;"), "{page}");
    assert!(page.contains("People denied 1 calls that this would allow"), "{page}");
    assert!(page.contains("frobnicate task 66"), "{page}");
    // An approver sees it; only an administrator can give it.
    assert!(!page.contains("Allow for 30 days"), "{page}");
    let path = format!("/requests/{}", held["id"].as_str().unwrap());
    let (_, _, page) = text(get(&api, &path, Some(ANA_TOKEN)).await).await;
    assert!(page.contains("Allow commands like this"), "{page}");
    answer(&api, "frobnicate task 67", false).await;
    let list = api.person("GET", "/v1/grants/suggestions", json!(null)).await.1;
    assert_eq!(list["forms"], json!([]), "a denial starts again: {list}");
}
