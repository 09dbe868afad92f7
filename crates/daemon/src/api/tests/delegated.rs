//! The story of a delegated task on the page of the fleet.

use axum::body::to_bytes;
use serde_json::json;

use super::{ANA_TOKEN, StatusCode, TestApi, send};

async fn page(api: &TestApi) -> String {
    let reply = send(&api.people, 6001, "GET", "/fleet", Some(ANA_TOKEN), &[], json!(null)).await;
    assert_eq!(reply.status(), StatusCode::OK);
    let bytes = to_bytes(reply.into_body(), usize::MAX).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn a_task_is_shown_from_its_request_to_its_result() {
    let api = TestApi::new().await;
    assert!(page(&api).await.contains("No task was delegated yet."));
    let call = json!({
        "tool": "delegate_task", "session": "a2a:alice",
        "arguments": { "from": "alice", "chain": ["carol", "alice"], "task": "Count the <files>" },
        "description": "Task from agent carol → alice",
    });
    let (_, held) = api.agent("POST", "/v1/requests", call).await;
    let shown = page(&api).await;
    for part in ["Task from agent carol → alice", "Count the &lt;files&gt;", "Waits for a person"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let (status, _) = api.approve(&held).await;
    assert_eq!(status, StatusCode::OK);
    let path = format!("/v1/requests/{}/outcome", held["id"].as_str().unwrap());
    let outcome = json!({
        "status": "ok", "duration_ms": 1250, "summary": "<b>42</b> files",
        "result_digest": "ab".repeat(32),
    });
    let (status, kept) = api.agent("POST", &path, outcome).await;
    assert_eq!(status, StatusCode::OK, "{kept}");
    let shown = page(&api).await;
    for part in
        ["Approved by ana", "Completed after 1.2 s", "&lt;b&gt;42&lt;/b&gt; files", "abababab"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // A run that ended with a question is not the end of its task.
    let call = json!({
        "tool": "delegate_task", "session": "a2a:alice",
        "arguments": { "from": "alice", "chain": ["alice"], "task": "Merge" },
    });
    let (_, held) = api.agent("POST", "/v1/requests", call).await;
    api.approve(&held).await;
    let path = format!("/v1/requests/{}/outcome", held["id"].as_str().unwrap());
    let outcome = json!({ "status": "ok", "summary": "Asked its sender: Which branch?" });
    api.agent("POST", &path, outcome).await;
    let shown = page(&api).await;
    assert!(shown.contains("Asked its sender: <q>Which branch?</q>"), "{shown}");
    // Another tool is no task, even with the same words.
    let other = json!({
        "tool": "send_message", "arguments": { "to": "bo", "text": "delegate_task" },
        "description": "Pretends to be a task",
    });
    api.agent("POST", "/v1/requests", other).await;
    assert!(!page(&api).await.contains("Pretends to be a task"));
}
