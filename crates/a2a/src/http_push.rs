//! Configurations of push notifications in the HTTP+JSON binding of version 1.0.

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use axum::routing::get;
use serde_json::{Map, Value, json};

use crate::dialect::ProtocolDialect;
use crate::error::A2aError;
use crate::handlers::{NodeState, body_of, check_version, peer_of};
use crate::http_answer::http_answer;
use crate::methods::strict_json;
use crate::object::set;
use crate::push_config::push_method;

/// The routes of configurations.
pub fn push_routes() -> Router<NodeState> {
    let all = "/a2a/http/tasks/{task}/pushNotificationConfigs";
    let one = "/a2a/http/tasks/{task}/pushNotificationConfigs/{id}";
    Router::new().route(all, get(list).post(create)).route(one, get(read).delete(remove))
}

/// Runs the method with this name of JSON-RPC.
fn run(state: &NodeState, request: &Request, name: &str, params: &Value) -> Response {
    let run = || {
        let peer = peer_of(request)?;
        check_version(request.headers())?;
        let empty = Map::new();
        let method = push_method(name, params.as_object().unwrap_or(&empty));
        let unknown = || A2aError::UnknownMethod(name.to_owned());
        let (_, method) = method.ok_or_else(unknown)?;
        state.node.push_method(&peer, method?, ProtocolDialect::V1)
    };
    http_answer(run())
}

async fn list(
    State(state): State<NodeState>,
    Path(task): Path<String>,
    request: Request,
) -> Response {
    run(&state, &request, "ListTaskPushNotificationConfigs", &json!({ "taskId": task }))
}

async fn create(
    State(state): State<NodeState>,
    Path(task): Path<String>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let read = body_of(body).await.and_then(|bytes| strict_json(&bytes));
    let mut params = match read {
        Ok(params) => params,
        Err(error) => return http_answer(Err(error)),
    };
    set(&mut params, "taskId", json!(task));
    let request = Request::from_parts(parts, axum::body::Body::empty());
    run(&state, &request, "CreateTaskPushNotificationConfig", &params)
}

async fn read(
    State(state): State<NodeState>,
    Path((task, id)): Path<(String, String)>,
    request: Request,
) -> Response {
    let params = json!({ "taskId": task, "id": id });
    run(&state, &request, "GetTaskPushNotificationConfig", &params)
}

async fn remove(
    State(state): State<NodeState>,
    Path((task, id)): Path<(String, String)>,
    request: Request,
) -> Response {
    let params = json!({ "taskId": task, "id": id });
    run(&state, &request, "DeleteTaskPushNotificationConfig", &params)
}
