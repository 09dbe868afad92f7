//! Events: only one's own, in time, and a notice if some were missed.

use super::*;
use axum::body::{Bytes, HttpBody as _};
use std::pin::Pin;
use std::time::Duration;

/// The next event, or `None` at the end of the stream.
async fn next(body: &mut Body) -> Option<String> {
    let frame = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context));
    let frame = tokio::time::timeout(Duration::from_secs(30), frame).await;
    let frame = frame.expect("neither an event nor the end of the stream came")?;
    let bytes: Bytes = frame.unwrap().into_data().unwrap();
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

async fn listen(api: &TestApi, token: &str) -> Body {
    let (router, port) = if token == ANA_TOKEN { (&api.people, 6001) } else { (&api.agents, 6000) };
    let response = send(router, port, "GET", "/v1/events", Some(token), &[], Value::Null).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(header_of(response.headers(), "content-type"), "text/event-stream");
    let mut body = response.into_body();
    assert_eq!(next(&mut body).await.unwrap(), ": listening\n\n");
    body
}

#[tokio::test]
async fn agents_get_events_of_their_own_requests_and_people_of_all() {
    let api = TestApi::new().await;
    let mut ana = listen(&api, ANA_TOKEN).await;
    let mut coder = listen(&api, CODER_TOKEN).await;
    let mut other = listen(&api, OTHER_TOKEN).await;
    let asks = json!({ "command": "rm -rf /srv/x" });
    let (_, asked) = api.agent("POST", "/v1/requests", asks).await;
    let id = asked["id"].as_str().unwrap();
    for (name, body) in [("ana", &mut ana), ("coder", &mut coder)] {
        let event = next(body).await.unwrap();
        let head = format!("event: asked\nid: {id}-pending\ndata: {{");
        assert!(event.starts_with(&head) && event.ends_with("}\n\n"), "{name}: {event}");
        assert!(!event.contains("\"card\""), "{name}");
    }
    api.approve(&asked).await;
    let event = next(&mut coder).await.unwrap();
    assert!(event.starts_with(&format!("event: ended\nid: {id}-approved\n")), "{event}");
    assert!(event.contains("\"permit\":\"ey"), "the agent that asked gets its permit");
    let event = next(&mut ana).await.unwrap();
    assert!(event.contains("ended") && !event.contains("permit\":\"ey"), "{event}");
    let body = json!({ "command": "rm -rf /srv/y" });
    let asked = api.agents("POST", "/v1/requests", Some(OTHER_TOKEN), &[], body).await;
    let (_, asked) = read(asked).await;
    let event = next(&mut other).await.unwrap();
    assert!(event.contains(asked["id"].as_str().unwrap()), "the first it hears is its own");
}

#[tokio::test]
async fn a_slow_reader_is_told_to_read_the_list_again() {
    let api = TestApi::with(
        "[flood]\nopen_per_agent = 100000\nasks_per_minute = 100000\nasks_per_hour = 100000\n",
    )
    .await;
    let mut ana = listen(&api, ANA_TOKEN).await;
    let mut batches = tokio::task::JoinSet::new();
    for round in 0..45 {
        let calls: Vec<_> =
            (0..100).map(|at| json!({ "command": format!("rm -rf /srv/{round}/{at}") })).collect();
        let (router, body) = (api.agents.clone(), json!({ "calls": calls }));
        batches.spawn(async move {
            let token = Some(CODER_TOKEN);
            send(&router, 6000, "POST", "/v1/batches", token, &[], body).await.status()
        });
    }
    while let Some(status) = batches.join_next().await {
        assert_eq!(status.unwrap(), StatusCode::CREATED);
    }
    let mut heard = 0;
    loop {
        let event = next(&mut ana).await.expect("`again` must come");
        if event.starts_with("event: again\n") {
            break;
        }
        heard += 1;
    }
    assert!(heard < 4500);
    let again = [("last-event-id", "x")];
    let returns =
        send(&api.people, 6001, "GET", "/v1/events", Some(ANA_TOKEN), &again, Value::Null);
    let mut body = returns.await.into_body();
    assert!(next(&mut body).await.unwrap().starts_with("event: again\n"));
}

#[tokio::test]
async fn streams_end_when_the_credential_is_revoked_or_the_daemon_stops() {
    let api = TestApi::new().await;
    for (method, token) in [("GET", None), ("GET", Some("csa_nobody")), ("GET", Some(ANA_TOKEN))] {
        let response = api.agents(method, "/v1/events", token, &[], Value::Null).await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{token:?}");
    }
    let mut ana = listen(&api, ANA_TOKEN).await;
    let mut coder = listen(&api, CODER_TOKEN).await;
    let agents = api.api.gate.store().agents().await.unwrap();
    let mut revoked = agents.into_iter().find(|agent| agent.name == CODER).unwrap();
    revoked.revoked = Some(api.api.gate.clock().now().at);
    api.api.gate.store().save_agent(revoked, note()).await.unwrap();
    api.api.directory.reload(api.api.gate.store()).await.unwrap();
    let body = json!({ "command": "rm -rf /srv/x" });
    api.agents("POST", "/v1/requests", Some(OTHER_TOKEN), &[], body).await;
    assert_eq!(next(&mut coder).await, None, "a revoked agent hears nothing more");
    api.stop.send(true).unwrap();
    while let Some(event) = next(&mut ana).await {
        assert!(event.starts_with("event: "), "{event}");
    }
    assert!(ana.is_end_stream() || next(&mut ana).await.is_none());
}
