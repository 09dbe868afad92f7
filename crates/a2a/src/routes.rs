//! The routes of a node: the card, JSON-RPC, and the HTTP binding.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};

use crate::error::A2aError;
use crate::handlers::{
    NodeState, body_of, call, check_content_type, check_version, json_response, peer_of, subscribed,
};
use crate::http_binding::http_routes;
use crate::methods::{Method, read_rpc};
use crate::peer::Connection;
use crate::stream::{EventForm, stream_task};

/// The routes of a node. Each request carries the `Connection` of its peer.
pub fn node_routes(state: NodeState) -> Router {
    Router::new()
        .route("/.well-known/agent-card.json", get(card))
        .route("/agent-card.json", get(card))
        .route("/a2a/rpc", post(rpc))
        // Some clients add a slash to the address in the card.
        .route("/a2a/rpc/", post(rpc))
        .merge(http_routes())
        .layer(middleware::from_fn(check_peer))
        .with_state(state)
}

/// Ends a request whose peer is not accepted any more.
async fn check_peer(request: Request, next: Next) -> Response {
    match request.extensions().get::<Connection>() {
        Some(peer) if peer.is_still_accepted() => next.run(request).await,
        _ => {
            let mut response = StatusCode::FORBIDDEN.into_response();
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            response
        }
    }
}

async fn card(State(state): State<NodeState>, headers: HeaderMap) -> Response {
    let card = state.card.current();
    let kept = headers.get(header::IF_NONE_MATCH).and_then(|tag| tag.to_str().ok());
    let is_known = kept.is_some_and(|tags| tags.split(',').any(|tag| tag.trim() == card.tag));
    let headers = [
        (header::CONTENT_TYPE, "application/json".to_owned()),
        (header::CACHE_CONTROL, "private, max-age=60".to_owned()),
        (header::ETAG, card.tag.clone()),
    ];
    if is_known {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, card.text.clone()).into_response()
}

async fn rpc(State(state): State<NodeState>, request: Request) -> Response {
    let answer = |id: Value, result: Result<Value, A2aError>| {
        let body = match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error.to_rpc() }),
        };
        json_response(StatusCode::OK, &body)
    };
    let (peer, version) = (peer_of(&request), check_version(request.headers()));
    if let Err(error) = check_content_type(request.headers()) {
        return answer(Value::Null, Err(error));
    }
    let body = body_of(request.into_body()).await;
    let read = match body.and_then(|bytes| read_rpc(&bytes)) {
        Ok(read) => read,
        Err(error) => return answer(Value::Null, Err(error)),
    };
    let (id, dialect) = (read.id, read.dialect);
    let ready = version.and(peer).and_then(|peer| Ok((peer, read.method?)));
    let (peer, method) = match ready {
        Ok(ready) => ready,
        Err(error) => return answer(id, Err(error)),
    };
    let form = EventForm { id: Some(id.clone()), dialect };
    match method {
        Method::Stream(new) => match state.node.submit(&peer, new) {
            Ok(task) => stream_task(state.node, peer, &task, form),
            Err(error) => answer(id, Err(error)),
        },
        Method::Subscribe(task) => match subscribed(&state.node, &peer, &task) {
            Ok(task) => stream_task(state.node, peer, &task, form),
            Err(error) => answer(id, Err(error)),
        },
        method => answer(id, call(&state.node, &peer, method, dialect).await),
    }
}
