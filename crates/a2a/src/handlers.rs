//! What the JSON-RPC and HTTP handlers share: reading a request, running a method.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use crate::card::ServedCard;
use crate::dialect::ProtocolDialect;
use crate::error::A2aError;
use crate::methods::{Method, NewTask};
use crate::node::A2aNode;
use crate::peer::Connection;
use crate::render::{TaskView, reply};
use crate::task::DelegatedTask;

/// The longest body of a request.
const MAX_BODY: usize = 256 << 10;
/// How long a client may take to send a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a request that waits for its task is held.
const MAX_WAIT: Duration = Duration::from_mins(1);

/// What every handler receives.
#[derive(Debug, Clone)]
pub struct NodeState {
    /// The node.
    pub node: Arc<A2aNode>,
    /// Its card.
    pub card: Arc<ServedCard>,
}

/// A response with a JSON body.
pub fn json_response(status: StatusCode, body: &Value) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (status, kind, body.to_string()).into_response()
}

/// The peer of a request.
pub fn peer_of(request: &Request) -> Result<Connection, A2aError> {
    let peer = request.extensions().get::<Connection>().cloned();
    peer.ok_or_else(|| A2aError::NotAllowed("the connection has no certificate".to_owned()))
}

/// The body of a request, bounded in size and time.
pub async fn body_of(body: Body) -> Result<Vec<u8>, A2aError> {
    match tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, MAX_BODY)).await {
        Ok(Ok(bytes)) => Ok(bytes.to_vec()),
        Ok(Err(_)) => Err(A2aError::InvalidRequest(format!("a body has at most {MAX_BODY} bytes"))),
        Err(_) => Err(A2aError::InvalidRequest("the body did not arrive in time".to_owned())),
    }
}

/// Whether the client speaks a version that is served.
pub fn check_version(headers: &HeaderMap) -> Result<(), A2aError> {
    let Some(version) = headers.get("a2a-version") else { return Ok(()) };
    let text = version.to_str().unwrap_or("unreadable").trim();
    let known = ["", "1.0", "0.3", "0.3.0", "1.0.0", "1.0.1"];
    if known.contains(&text) { Ok(()) } else { Err(A2aError::Version(text.to_owned())) }
}

/// Whether a body has a type that is read; a body without one is taken for JSON.
pub fn check_content_type(headers: &HeaderMap) -> Result<(), A2aError> {
    let Some(kind) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let known = ["application/json", "application/a2a+json"];
    if known.iter().any(|one| kind.eq_ignore_ascii_case(one)) {
        return Ok(());
    }
    Err(A2aError::ContentType("the body must be application/json".to_owned()))
}

/// A method with a single answer.
pub async fn call(
    node: &Arc<A2aNode>,
    connection: &Connection,
    method: Method,
    dialect: ProtocolDialect,
) -> Result<Value, A2aError> {
    let peer = connection.agent();
    let view = TaskView::whole(dialect);
    match method {
        Method::Send(new) | Method::Stream(new) => {
            let view = TaskView { history: new.history, ..view };
            let waits = !new.immediately;
            let task = send(node, connection, new).await?;
            if let Some(reply) = reply(&task, dialect).filter(|_| waits) {
                return Ok(match dialect {
                    ProtocolDialect::V1 => json!({ "message": reply }),
                    ProtocolDialect::V03 | ProtocolDialect::Original => reply,
                });
            }
            let body = view.task(&task);
            Ok(if dialect == ProtocolDialect::V1 { json!({ "task": body }) } else { body })
        }
        Method::Get { id, history } => {
            Ok(TaskView { history, ..view }.task(&node.task(peer, &id)?))
        }
        Method::List(params) => node.list(peer, &params),
        Method::Cancel(id) => Ok(view.task(&node.cancel(peer, &id)?)),
        Method::Subscribe(_) => Err(A2aError::Unsupported("use a stream".to_owned())),
        Method::Push(method) => node.push_method(connection, method, dialect),
        Method::ExtendedCard => Err(no_extended_card()),
    }
}

/// The card does not promise an extended one.
pub fn no_extended_card() -> A2aError {
    A2aError::Unsupported("this agent has no extended card".to_owned())
}

/// Takes a task; unless the client wants the answer at once, waits until it ends or a person must
/// decide.
async fn send(
    node: &Arc<A2aNode>,
    peer: &Connection,
    new: NewTask,
) -> Result<DelegatedTask, A2aError> {
    if new.immediately {
        return node.submit(peer, new);
    }
    let task = node.submit_awaited(peer, new)?;
    let mut watch = node.watch(&task.id);
    let waiting = async {
        loop {
            let task = node.any_task(&task.id)?;
            if task.state().is_final() || task.state().is_interrupted() {
                return Ok(task);
            }
            if watch.changed().await.is_err() {
                return node.any_task(&task.id);
            }
        }
    };
    if let Ok(waited) = tokio::time::timeout(MAX_WAIT, waiting).await {
        return waited;
    }
    node.sync()?;
    node.any_task(&task.id)
}

/// A task that has not ended, for a stream.
pub fn subscribed(
    node: &Arc<A2aNode>,
    peer: &Connection,
    id: &str,
) -> Result<DelegatedTask, A2aError> {
    let task = node.task(peer.agent(), id)?;
    if task.state().is_final() {
        return Err(A2aError::Unsupported("the task has ended; read it instead".to_owned()));
    }
    Ok(task)
}
