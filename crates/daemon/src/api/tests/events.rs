//! Events: one's own only, in time, and an honest word when some were missed.

use super::*;
use axum::body::{Bytes, HttpBody as _};
use std::pin::Pin;
use std::time::Duration;

async fn next(body: &mut Body) -> Option<String> {
    let frame = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context));
    let frame = tokio::time::timeout(Duration::from_secs(5), frame).await.ok()??;
    let bytes: Bytes = frame.unwrap().into_data().unwrap();
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

async fn listen(trial: &Trial, token: &str) -> Body {
    let (router, port) =
        if token == ANA_TOKEN { (&trial.people, 6001) } else { (&trial.agents, 6000) };
    let response = send(router, port, "GET", "/v1/events", Some(token), &[], Value::Null).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(header_of(response.headers(), "content-type"), "text/event-stream");
    let mut body = response.into_body();
    assert_eq!(next(&mut body).await.unwrap(), ": listening\n\n");
    body
}

#[tokio::test]
async fn an_agent_hears_of_its_own_requests_and_people_of_all() {
    let trial = Trial::new().await;
    let mut ana = listen(&trial, ANA_TOKEN).await;
    let mut coder = listen(&trial, CODER_TOKEN).await;
    let mut other = listen(&trial, OTHER_TOKEN).await;
    let asks = json!({ "command": "rm -rf /srv/x" });
    let (_, asked) = trial.agent("POST", "/v1/requests", asks).await;
    let id = asked["id"].as_str().unwrap();
    for (name, body) in [("ana", &mut ana), ("coder", &mut coder)] {
        let event = next(body).await.unwrap();
        let head = format!("event: asked\nid: {id}-pending\ndata: {{");
        assert!(event.starts_with(&head) && event.ends_with("}\n\n"), "{name}: {event}");
        assert!(!event.contains("\"card\""), "{name}");
    }
    trial.approve(&asked).await;
    let event = next(&mut coder).await.unwrap();
    assert!(event.starts_with(&format!("event: ended\nid: {id}-approved\n")), "{event}");
    assert!(event.contains("\"permit\":\"ey"), "the agent that asked gets its permit");
    let event = next(&mut ana).await.unwrap();
    assert!(event.contains("ended") && !event.contains("permit\":\"ey"), "{event}");
    let body = json!({ "command": "rm -rf /srv/y" });
    let asked = trial.agents("POST", "/v1/requests", Some(OTHER_TOKEN), &[], body).await;
    let (_, asked) = read(asked).await;
    let event = next(&mut other).await.unwrap();
    assert!(event.contains(asked["id"].as_str().unwrap()), "the first it hears is its own");
}

#[tokio::test]
async fn who_falls_behind_is_told_to_read_again() {
    let trial = Trial::with(
        "[flood]\nopen_per_agent = 100000\nasks_per_minute = 100000\n\
                             asks_per_hour = 100000\n",
    )
    .await;
    let mut ana = listen(&trial, ANA_TOKEN).await;
    let mut batches = tokio::task::JoinSet::new();
    for round in 0..45 {
        let calls: Vec<_> =
            (0..100).map(|at| json!({ "command": format!("rm -rf /srv/{round}/{at}") })).collect();
        let (router, body) = (trial.agents.clone(), json!({ "calls": calls }));
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
        send(&trial.people, 6001, "GET", "/v1/events", Some(ANA_TOKEN), &again, Value::Null);
    let mut body = returns.await.into_body();
    assert!(next(&mut body).await.unwrap().starts_with("event: again\n"));
}

#[tokio::test]
async fn streams_end_with_the_credential_and_with_the_daemon() {
    let trial = Trial::new().await;
    for (method, token) in [("GET", None), ("GET", Some("csa_nobody")), ("GET", Some(ANA_TOKEN))] {
        let response = trial.agents(method, "/v1/events", token, &[], Value::Null).await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{token:?}");
    }
    let mut ana = listen(&trial, ANA_TOKEN).await;
    let mut coder = listen(&trial, CODER_TOKEN).await;
    let agents = trial.api.gate.store().agents().await.unwrap();
    let mut revoked = agents.into_iter().find(|agent| agent.name == CODER).unwrap();
    revoked.revoked = Some(trial.api.gate.clock().now().at);
    trial.api.gate.store().save_agent(revoked, note()).await.unwrap();
    trial.api.book.read(trial.api.gate.store()).await.unwrap();
    let body = json!({ "command": "rm -rf /srv/x" });
    trial.agents("POST", "/v1/requests", Some(OTHER_TOKEN), &[], body).await;
    assert_eq!(next(&mut coder).await, None, "a revoked agent hears nothing more");
    trial.stop.send(true).unwrap();
    while let Some(event) = next(&mut ana).await {
        assert!(event.starts_with("event: "), "{event}");
    }
    assert!(ana.is_end_stream() || next(&mut ana).await.is_none());
}
