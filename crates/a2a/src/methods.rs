//! Requests read: JSON-RPC methods of every version, and the parameters that they share.

use serde_json::{Map, Value};

use crate::dialect::ProtocolDialect;
use crate::error::A2aError;
use crate::list_params::{ListParams, history_length, length_in, list};
use crate::push_config::{PushConfig, PushMethod, config_of_send, push_method};

/// The longest text of a task, in bytes.
pub const MAX_TEXT: usize = 64 << 10;
/// The longest metadata of a task, in bytes.
const MAX_METADATA: usize = 16 << 10;
/// The longest id that a client chooses.
const MAX_ID: usize = 128;

/// A method with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Method {
    /// Sends a task.
    Send(NewTask),
    /// Sends a task and streams what becomes of it.
    Stream(NewTask),
    /// Reads a task.
    Get {
        /// Its id.
        id: String,
        /// How many messages of the history are wanted.
        history: usize,
    },
    /// Lists the caller's tasks.
    List(ListParams),
    /// Cancels a task.
    Cancel(String),
    /// Streams what becomes of a task.
    Subscribe(String),
    /// Where a client is told about a task.
    Push(PushMethod),
    /// The extended card, which does not exist.
    ExtendedCard,
}

/// A task to be created.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTask {
    /// What to do.
    pub text: String,
    /// The conversation, if the client names one.
    pub context: Option<String>,
    /// The client's id of its message.
    pub message: Option<String>,
    /// A label that proves nothing.
    pub requester: Option<String>,
    /// The metadata.
    pub metadata: Value,
    /// Whether the answer is wanted at once.
    pub immediately: bool,
    /// How many messages of the history are wanted.
    pub history: usize,
    /// The task that the message belongs to, by the client's words.
    pub task: Option<String>,
    /// Where the client is told about the task, if it wants to be told.
    pub push: Option<PushConfig>,
}

/// A JSON-RPC request.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcRequest {
    /// Its id.
    pub id: Value,
    /// The version that its method belongs to.
    pub dialect: ProtocolDialect,
    /// The method, or why it cannot run.
    pub method: Result<Method, A2aError>,
}

/// Reads the body of a JSON-RPC request.
pub fn read_rpc(body: &[u8]) -> Result<RpcRequest, A2aError> {
    let value = strict_json(body)?;
    let bad = |why: &str| A2aError::InvalidRequest(why.to_owned());
    let members = value.as_object().ok_or_else(|| bad("the request is not an object"))?;
    let id = members.get("id").cloned().unwrap_or(Value::Null);
    if !matches!(id, Value::Null | Value::String(_) | Value::Number(_)) {
        return Err(bad("the id must be a string or a number"));
    }
    let fail =
        |error| Ok(RpcRequest { id: id.clone(), dialect: ProtocolDialect::V1, method: Err(error) });
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return fail(bad("invalid jsonrpc version"));
    }
    let Some(name) = members.get("method").and_then(Value::as_str) else {
        return fail(bad("the method is missing"));
    };
    let empty = Map::new();
    let params = match members.get("params") {
        None | Some(Value::Null) => &empty,
        Some(Value::Object(params)) => params,
        Some(_) => return fail(A2aError::InvalidParams("params must be an object".to_owned())),
    };
    let (dialect, method) = method_named(name, params);
    Ok(RpcRequest { id, dialect, method })
}

/// JSON without duplicate members, in which every reader sees the same.
pub fn strict_json(body: &[u8]) -> Result<Value, A2aError> {
    strict_json_within(body, countersign_json::MAX_BYTES)
}

/// The same for a body of at most so many bytes.
pub fn strict_json_within(body: &[u8], limit: usize) -> Result<Value, A2aError> {
    let bad = |error: &dyn std::fmt::Display| A2aError::Parse(error.to_string());
    let text = std::str::from_utf8(body).map_err(|error| bad(&error))?;
    countersign_json::parse_within(text, limit).map_err(|error| bad(&error))?;
    serde_json::from_str(text).map_err(|error| bad(&error))
}

fn method_named(
    name: &str,
    params: &Map<String, Value>,
) -> (ProtocolDialect, Result<Method, A2aError>) {
    use ProtocolDialect::{Original, V1, V03};
    match name {
        "SendMessage" => (V1, new_task(params, V1).map(Method::Send)),
        "message/send" => (V03, new_task(params, V03).map(Method::Send)),
        "SendStreamingMessage" => (V1, new_task(params, V1).map(Method::Stream)),
        "message/stream" => (V03, new_task(params, V03).map(Method::Stream)),
        "tasks/send" => (Original, original_task(params).map(Method::Send)),
        "tasks/get" if !params.contains_key("id") => {
            (Original, text(params, "taskId").map(|id| Method::Get { id, history: 0 }))
        }
        "GetTask" => (V1, get(params)),
        "tasks/get" => (V03, get(params)),
        "ListTasks" => (V1, list(params).map(Method::List)),
        "CancelTask" => (V1, text(params, "id").map(Method::Cancel)),
        "tasks/cancel" => (V03, text(params, "id").map(Method::Cancel)),
        "SubscribeToTask" => (V1, text(params, "id").map(Method::Subscribe)),
        "tasks/resubscribe" => (V03, text(params, "id").map(Method::Subscribe)),
        "GetExtendedAgentCard" => (V1, Ok(Method::ExtendedCard)),
        "agent/getAuthenticatedExtendedCard" => (V03, Ok(Method::ExtendedCard)),
        other => {
            if let Some((dialect, method)) = push_method(other, params) {
                return (dialect, method.map(Method::Push));
            }
            let shown: String = other.chars().take(60).collect();
            (V1, Err(A2aError::UnknownMethod(shown)))
        }
    }
}

fn text(params: &Map<String, Value>, name: &str) -> Result<String, A2aError> {
    let found = params.get(name).and_then(Value::as_str).map(str::trim);
    match found.filter(|text| (1..=MAX_ID).contains(&text.len())) {
        Some(text) => Ok(text.to_owned()),
        None => Err(A2aError::InvalidParams(format!("{name} is required"))),
    }
}

fn get(params: &Map<String, Value>) -> Result<Method, A2aError> {
    let history = history_length(length_in(params))?;
    Ok(Method::Get { id: text(params, "id")?, history })
}

/// The task in the parameters of `SendMessage` or `message/send`.
pub fn new_task(
    params: &Map<String, Value>,
    dialect: ProtocolDialect,
) -> Result<NewTask, A2aError> {
    let bad = |why: &str| A2aError::InvalidParams(why.to_owned());
    let message = params.get("message").and_then(Value::as_object);
    let message = message.ok_or_else(|| bad("message is required"))?;
    let task = message.get("taskId").and_then(Value::as_str).filter(|id| !id.is_empty());
    let role = message.get("role").and_then(Value::as_str);
    if !matches!(role, Some("ROLE_USER" | "user")) {
        return Err(bad("message.role must be ROLE_USER"));
    }
    let parts = message.get("parts").and_then(Value::as_array);
    let parts = parts.filter(|parts| !parts.is_empty());
    let parts = parts.ok_or_else(|| bad("message.parts is required"))?;
    let texts = parts.iter().map(part_text).collect::<Result<Vec<String>, A2aError>>()?;
    let configuration = params.get("configuration").and_then(Value::as_object);
    let flag = |name: &str| configuration.and_then(|all| all.get(name)).and_then(Value::as_bool);
    let immediately = match dialect {
        ProtocolDialect::V1 => flag("returnImmediately").unwrap_or(false),
        ProtocolDialect::V03 | ProtocolDialect::Original => !flag("blocking").unwrap_or(true),
    };
    let push = config_of_send(configuration, dialect)?;
    let history = history_length(configuration.and_then(length_in))?;
    let metadata = params.get("metadata").or_else(|| message.get("metadata"));
    checked(NewTask {
        text: texts.join("\n"),
        context: message.get("contextId").and_then(Value::as_str).map(ToOwned::to_owned),
        message: Some(text(message, "messageId")?),
        // Where `a2a send --requester` puts it: version 1.0 has no member for it.
        requester: metadata.and_then(|all| all.get("requester")).and_then(label),
        metadata: metadata.cloned().unwrap_or_else(|| Value::Object(Map::new())),
        immediately,
        history,
        task: task.map(ToOwned::to_owned),
        push,
    })
}

/// The text of one part; files are not accepted.
fn part_text(part: &Value) -> Result<String, A2aError> {
    if let Some(text) = part.get("text").and_then(Value::as_str) {
        return Ok(text.to_owned());
    }
    match part.get("data") {
        Some(data) if !data.is_null() => Ok(data.to_string()),
        _ => Err(A2aError::ContentType("only parts with text or data are accepted".to_owned())),
    }
}

fn original_task(params: &Map<String, Value>) -> Result<NewTask, A2aError> {
    let task = params.get("task").and_then(Value::as_str).map(str::trim);
    let task = task.filter(|text| !text.is_empty());
    let task = task.ok_or_else(|| A2aError::InvalidParams("task is required".to_owned()))?;
    let metadata = params.get("metadata").filter(|value| !value.is_null());
    // The original clients send no id; one that does can repeat its message.
    let message = params.contains_key("messageId").then(|| text(params, "messageId"));
    checked(NewTask {
        text: task.to_owned(),
        context: None,
        message: message.transpose()?,
        requester: params.get("requester").and_then(label),
        metadata: metadata.cloned().unwrap_or_else(|| Value::Object(Map::new())),
        immediately: true,
        history: usize::MAX,
        task: None,
        push: None,
    })
}

/// A label for people, shortened.
fn label(value: &Value) -> Option<String> {
    value.as_str().map(|text| text.chars().take(MAX_ID).collect())
}

fn checked(task: NewTask) -> Result<NewTask, A2aError> {
    let bad = |why: String| Err(A2aError::InvalidParams(why));
    if task.text.trim().is_empty() {
        return bad("the task has no text".to_owned());
    }
    if task.text.len() > MAX_TEXT {
        return bad(format!("the text of a task has at most {MAX_TEXT} bytes"));
    }
    if !task.metadata.is_object() || task.metadata.to_string().len() > MAX_METADATA {
        return bad(format!("metadata must be an object of at most {MAX_METADATA} bytes"));
    }
    if task.context.as_ref().is_some_and(|context| context.len() > MAX_ID) {
        return bad(format!("contextId has at most {MAX_ID} bytes"));
    }
    Ok(task)
}
