//! The HTTP+JSON binding of version 1.0.

use axum::Router;
use axum::extract::{Path, Query, Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::{Map, Value, json};

use crate::dialect::ProtocolDialect;
use crate::error::A2aError;
use crate::handlers::{
    NodeState, body_of, call, check_content_type, check_version, no_extended_card, peer_of,
    subscribed,
};
use crate::http_answer::http_answer;
use crate::http_push::push_routes;
use crate::list_params::{history_length, list};
use crate::methods::{Method, NewTask, new_task, strict_json};
use crate::peer::Connection;
use crate::render::TaskView;
use crate::stream::{EventForm, stream_task};

/// The routes of the binding.
pub fn http_routes() -> Router<NodeState> {
    Router::new()
        .route("/a2a/http/message:send", post(http_send))
        .route("/a2a/http/message:stream", post(http_stream))
        .route("/a2a/http/tasks", get(http_list))
        .route("/a2a/http/tasks/{task}", get(http_task).post(http_task_action))
        .route("/a2a/http/extendedAgentCard", get(async || http_answer(Err(no_extended_card()))))
        .merge(push_routes())
        .layer(middleware::from_fn(check_client))
}

/// Refuses clients of another version at every route.
async fn check_client(request: Request, next: Next) -> Response {
    match check_version(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(error) => http_answer(Err(error)),
    }
}

async fn http_new(request: Request) -> Result<(Connection, NewTask), A2aError> {
    let peer = peer_of(&request)?;
    check_content_type(request.headers())?;
    let value = strict_json(&body_of(request.into_body()).await?)?;
    let params = value.as_object();
    let params = params.ok_or_else(|| A2aError::InvalidParams("not an object".to_owned()))?;
    Ok((peer, new_task(params, ProtocolDialect::V1)?))
}

async fn http_send(State(state): State<NodeState>, request: Request) -> Response {
    let sent = match http_new(request).await {
        Ok((peer, new)) => call(&state.node, &peer, Method::Send(new), ProtocolDialect::V1).await,
        Err(error) => Err(error),
    };
    http_answer(sent)
}

async fn http_stream(State(state): State<NodeState>, request: Request) -> Response {
    let form = EventForm { id: None, dialect: ProtocolDialect::V1 };
    let submitted = http_new(request)
        .await
        .and_then(|(peer, new)| state.node.submit(&peer, new).map(|task| (peer, task)));
    match submitted {
        Ok((peer, task)) => stream_task(state.node, peer, &task, form),
        Err(error) => http_answer(Err(error)),
    }
}

async fn http_list(
    State(state): State<NodeState>,
    Query(query): Query<Map<String, Value>>,
    request: Request,
) -> Response {
    let number = |value: &Value| value.as_str().and_then(|text| text.parse::<u64>().ok());
    let params: Map<String, Value> = query
        .into_iter()
        .map(|(name, value)| {
            let read = match name.as_str() {
                "pageSize" | "historyLength" => number(&value).map(Value::from),
                "includeArtifacts" => Some(json!(value == "true")),
                _ => None,
            };
            (name, read.unwrap_or(value))
        })
        .collect();
    let listed = peer_of(&request).and_then(|peer| state.node.list(peer.agent(), &list(&params)?));
    http_answer(listed)
}

async fn http_task(
    State(state): State<NodeState>,
    Path(task): Path<String>,
    Query(query): Query<Map<String, Value>>,
    request: Request,
) -> Response {
    match (peer_of(&request), task.strip_suffix(":subscribe")) {
        (Ok(peer), Some(id)) => http_subscribe(state, peer, id),
        (Ok(peer), None) => {
            let length = query.get("historyLength").and_then(Value::as_str);
            // A text that is no number is refused like a negative number.
            let length = length.map(|text| text.parse::<i64>().unwrap_or(-1).into());
            let found = history_length(length.as_ref()).and_then(|history| {
                let task = state.node.task(peer.agent(), &task)?;
                Ok(TaskView { history, ..TaskView::whole(ProtocolDialect::V1) }.task(&task))
            });
            http_answer(found)
        }
        (Err(error), _) => http_answer(Err(error)),
    }
}

fn http_subscribe(state: NodeState, peer: Connection, id: &str) -> Response {
    let form = EventForm { id: None, dialect: ProtocolDialect::V1 };
    match subscribed(&state.node, &peer, id) {
        Ok(task) => stream_task(state.node, peer, &task, form),
        Err(error) => http_answer(Err(error)),
    }
}

async fn http_task_action(
    State(state): State<NodeState>,
    Path(task): Path<String>,
    request: Request,
) -> Response {
    let peer = match peer_of(&request) {
        Ok(peer) => peer,
        Err(error) => return http_answer(Err(error)),
    };
    if let Some(id) = task.strip_suffix(":subscribe") {
        return http_subscribe(state, peer, id);
    }
    let Some(id) = task.strip_suffix(":cancel") else {
        return http_answer(Err(A2aError::UnknownMethod("unknown action of a task".to_owned())));
    };
    let canceled = state.node.cancel(peer.agent(), id);
    http_answer(canceled.map(|task| TaskView::whole(ProtocolDialect::V1).task(&task)))
}
