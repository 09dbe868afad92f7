//! The routes: the card, JSON-RPC, and the HTTP binding.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde_json::{Map, Value, json};

use crate::card::{CardSettings, agent_card};
use crate::error::A2aError;
use crate::methods::{self, Method, NewTask, read_rpc, strict_json};
use crate::node::Node;
use crate::peer::Connection;
use crate::render::{Dialect, TaskView};
use crate::state::TaskState;
use crate::stream::{EventForm, stream_task};
use crate::task::DelegatedTask;

/// The longest body of a request.
const MAX_BODY: usize = 256 << 10;
/// How long a client may take to send a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a request that waits for its task is held.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// What every handler receives.
#[derive(Debug, Clone)]
pub struct NodeState {
    /// The node.
    pub node: Arc<Node>,
    /// What its card says.
    pub card: Arc<CardSettings>,
}

/// The routes of a node. Each request carries the `Connection` of its peer.
pub fn node_routes(state: NodeState) -> Router {
    Router::new()
        .route("/.well-known/agent-card.json", get(card))
        .route("/agent-card.json", get(card))
        .route("/a2a/rpc", post(rpc))
        .route("/a2a/http/message:send", post(http_send))
        .route("/a2a/http/message:stream", post(http_stream))
        .route("/a2a/http/tasks", get(http_list))
        .route("/a2a/http/tasks/{task}", get(http_task).post(http_task_action))
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

async fn card(State(state): State<NodeState>) -> Response {
    json_response(StatusCode::OK, &agent_card(&state.card))
}

fn json_response(status: StatusCode, body: &Value) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (status, kind, body.to_string()).into_response()
}

fn peer_of(request: &Request) -> Result<Connection, A2aError> {
    let peer = request.extensions().get::<Connection>().cloned();
    peer.ok_or_else(|| A2aError::NotAllowed("the connection has no certificate".to_owned()))
}

async fn body_of(body: Body) -> Result<Vec<u8>, A2aError> {
    match tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, MAX_BODY)).await {
        Ok(Ok(bytes)) => Ok(bytes.to_vec()),
        Ok(Err(_)) => Err(A2aError::InvalidRequest(format!("a body has at most {MAX_BODY} bytes"))),
        Err(_) => Err(A2aError::InvalidRequest("the body did not arrive in time".to_owned())),
    }
}

fn check_version(headers: &HeaderMap) -> Result<(), A2aError> {
    let Some(version) = headers.get("a2a-version") else { return Ok(()) };
    let text = version.to_str().unwrap_or("unreadable").trim();
    let known = ["", "1.0", "0.3", "0.3.0", "1.0.0", "1.0.1"];
    if known.contains(&text) { Ok(()) } else { Err(A2aError::Version(text.to_owned())) }
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
        Method::Stream(new) => match state.node.submit(peer.agent(), new) {
            Ok(task) => stream_task(state.node, peer, &task, form),
            Err(error) => answer(id, Err(error)),
        },
        Method::Subscribe(task) => match subscribed(&state.node, &peer, &task) {
            Ok(task) => stream_task(state.node, peer, &task, form),
            Err(error) => answer(id, Err(error)),
        },
        method => answer(id, call(&state.node, peer.agent(), method, dialect).await),
    }
}

/// A method with a single answer.
async fn call(
    node: &Arc<Node>,
    peer: &str,
    method: Method,
    dialect: Dialect,
) -> Result<Value, A2aError> {
    let view = TaskView::whole(dialect);
    match method {
        Method::Send(new) | Method::Stream(new) => {
            let task = send(node, peer, new).await?;
            let body = view.task(&task);
            Ok(if dialect == Dialect::V1 { json!({ "task": body }) } else { body })
        }
        Method::Get { id, history } => {
            Ok(TaskView { history, ..view }.task(&node.task(peer, &id)?))
        }
        Method::List(params) => node.list(peer, &params),
        Method::Cancel(id) => Ok(view.task(&node.cancel(peer, &id)?)),
        Method::Subscribe(_) => Err(A2aError::Unsupported("use a stream".to_owned())),
        Method::Push => Err(A2aError::NoPush),
        Method::ExtendedCard => Err(A2aError::NoExtendedCard),
    }
}

/// Takes a task; unless the client wants the answer at once, waits until it ends or a person must
/// decide.
async fn send(node: &Arc<Node>, peer: &str, new: NewTask) -> Result<DelegatedTask, A2aError> {
    let immediately = new.immediately;
    let task = node.submit(peer, new)?;
    if immediately {
        return Ok(task);
    }
    let mut watch = node.watch(&task.id);
    let waiting = async {
        loop {
            let task = node.any_task(&task.id)?;
            if task.state().is_final() || task.state() == TaskState::AuthRequired {
                return Ok(task);
            }
            if watch.changed().await.is_err() {
                return node.any_task(&task.id);
            }
        }
    };
    match tokio::time::timeout(MAX_WAIT, waiting).await {
        Ok(waited) => waited,
        Err(_) => node.any_task(&task.id),
    }
}

/// A task that has not ended, for a stream.
fn subscribed(node: &Arc<Node>, peer: &Connection, id: &str) -> Result<DelegatedTask, A2aError> {
    let task = node.task(peer.agent(), id)?;
    if task.state().is_final() {
        return Err(A2aError::Unsupported("the task has ended; read it instead".to_owned()));
    }
    Ok(task)
}

fn http_answer(result: Result<Value, A2aError>) -> Response {
    match result {
        Ok(body) => json_response(StatusCode::OK, &body),
        Err(error) => {
            let status = StatusCode::from_u16(error.http_status());
            json_response(status.unwrap_or(StatusCode::BAD_REQUEST), &error.to_http())
        }
    }
}

async fn http_new(request: Request) -> Result<(Connection, NewTask), A2aError> {
    let peer = peer_of(&request)?;
    check_version(request.headers())?;
    let value = strict_json(&body_of(request.into_body()).await?)?;
    let params = value.as_object();
    let params = params.ok_or_else(|| A2aError::InvalidParams("not an object".to_owned()))?;
    Ok((peer, methods::new_task(params, Dialect::V1)?))
}

async fn http_send(State(state): State<NodeState>, request: Request) -> Response {
    let sent = match http_new(request).await {
        Ok((peer, new)) => call(&state.node, peer.agent(), Method::Send(new), Dialect::V1).await,
        Err(error) => Err(error),
    };
    http_answer(sent)
}

async fn http_stream(State(state): State<NodeState>, request: Request) -> Response {
    let form = EventForm { id: None, dialect: Dialect::V1 };
    let submitted = http_new(request)
        .await
        .and_then(|(peer, new)| state.node.submit(peer.agent(), new).map(|task| (peer, task)));
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
                "pageSize" => number(&value).map(Value::from),
                "includeArtifacts" => Some(json!(value == "true")),
                _ => None,
            };
            (name, read.unwrap_or(value))
        })
        .collect();
    let listed =
        peer_of(&request).and_then(|peer| state.node.list(peer.agent(), &methods::list(&params)?));
    http_answer(listed)
}

async fn http_task(
    State(state): State<NodeState>,
    Path(task): Path<String>,
    request: Request,
) -> Response {
    match (peer_of(&request), task.strip_suffix(":subscribe")) {
        (Ok(peer), Some(id)) => http_subscribe(state, peer, id),
        (Ok(peer), None) => {
            let found = state.node.task(peer.agent(), &task);
            http_answer(found.map(|task| TaskView::whole(Dialect::V1).task(&task)))
        }
        (Err(error), _) => http_answer(Err(error)),
    }
}

fn http_subscribe(state: NodeState, peer: Connection, id: &str) -> Response {
    let form = EventForm { id: None, dialect: Dialect::V1 };
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
    http_answer(canceled.map(|task| TaskView::whole(Dialect::V1).task(&task)))
}
