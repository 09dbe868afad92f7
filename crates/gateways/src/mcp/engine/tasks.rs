//! Calls that wait as tasks, for clients that support them: answered at once, polled later.

use std::sync::Arc;
use std::time::Duration;

use countersign_json::Value;
use hyper::body::Bytes;
use serde_json::json;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::time::{Instant, timeout};

use super::calls::waiter;
use super::decisions::Decision;
use super::state::{Engine, HeldCall, TaskEntry};
use super::transport::{ProxyClient as _, Released, RequestError, ServerRequest, Transport};
use crate::mcp::client_limits;
use crate::mcp::message::RequestId;
use crate::mcp::pending_calls::Update;
use crate::mcp::plan::CallQuestion;
use crate::mcp::replies;
use crate::mcp::task::{self, PendingTask};

impl<T: Transport> Engine<T> {
    pub(super) fn has_room_for_task(&self) -> bool {
        let mut tasks = self.tasks();
        tasks.retain(|_, entry| !entry.task.is_expired());
        tasks.len() < task::MAX_TASKS
    }

    /// Holds a call as a task, unless it is decided within a moment.
    pub(super) async fn hold_as_task(
        self: Arc<Self>,
        held: HeldCall<T>,
        mut question: CallQuestion,
        time_limit: Duration,
    ) {
        let name = task::new_task_id();
        let request = name.as_deref().and_then(|name| {
            self.transport.request_of_task(&held.client, (&held.id, &held.message), name)
        });
        let (Some(name), Some((id, message))) = (name, request) else {
            let (waiter, updates) = waiter(&held, &held.id);
            self.pending.add(question, waiter, None);
            return self.follow(held, updates).await;
        };
        question.question.timeout_seconds = Some(client_limits::deadline());
        let task_id = RequestId::read(&format!("\"{name}\"")).unwrap_or_else(|| id.clone());
        let (waiter, mut updates) = waiter(&held, &task_id);
        self.pending.add(question, waiter, None);
        let delay = T::TASK_DELAY.min(time_limit);
        if !delay.is_zero() {
            let update = tokio::select! {
                biased;
                () = held.client.left() => {
                    self.pending.withdraw(held.key);
                    return;
                }
                update = timeout(delay, updates.recv()) => update,
            };
            if let Ok(update) = update {
                return self.follow(held, channel_of(update)).await;
            }
        }
        self.become_task(held, updates, &name, (id, message)).await;
    }

    async fn become_task(
        self: Arc<Self>,
        held: HeldCall<T>,
        updates: UnboundedReceiver<Update>,
        name: &str,
        (id, message): (RequestId, Bytes),
    ) {
        let (key, owner) = (held.key, held.client.owner());
        let (client, original, written) =
            (held.client.clone(), held.id.clone(), held.written_id.clone());
        self.transport.reserve(&client, &id);
        let task = PendingTask::new();
        let status = task.status(name, "task");
        let entry = TaskEntry { task, owner, key, id: id.clone(), work: None };
        self.tasks().insert(name.to_owned(), entry);
        // The request has its response: no progress may be reported for it any more.
        let end = Instant::now() + task::TIME_LIMIT;
        let held = HeldCall { id, message, progress: None, end, ..held };
        client.reply(Some(&original), replies::response_text(&written, &status)).await;
        let (engine, task_name) = (Arc::clone(&self), name.to_owned());
        let work = self.spawn(async move {
            let response = engine.task_response(held, updates).await;
            if let Some(entry) = engine.tasks().get_mut(&task_name) {
                entry.task.finish(response.as_deref().unwrap_or_default());
            }
        });
        if let Some(entry) = self.tasks().get_mut(name) {
            entry.work = Some(work);
        }
    }

    /// The response to the call of a task: the server's, or ours.
    async fn task_response(
        &self,
        held: HeldCall<T>,
        updates: UnboundedReceiver<Update>,
    ) -> Option<String> {
        let response = match self.decision(&held, updates).await {
            Decision::Run(approved, _) => match self.start_approved(&held, &approved) {
                Some((message, watch)) => {
                    let (id, own_method) = (held.id.clone(), None);
                    let request = ServerRequest { id, message, watch, own_method };
                    self.response_or_error(&held, request).await
                }
                None => Some(replies::error(&held.written_id, -32603, "it could not be written")),
            },
            Decision::Answer(text) => Some(text),
            Decision::Withdrawn => None,
        };
        self.transport.release(&held.client, &held.id);
        response
    }

    /// The response to a request, or the error that the client gets; nothing if it was cancelled.
    pub(super) async fn response_or_error(
        &self,
        held: &HeldCall<T>,
        request: ServerRequest,
    ) -> Option<String> {
        match self.transport.request(&held.client, request).await {
            Ok(response) => Some(response),
            Err(RequestError::Failed(why)) => Some(replies::error(&held.written_id, -32603, &why)),
            Err(RequestError::Cancelled) => None,
        }
    }

    /// The response to a request about a task; nothing if it is not this client's task.
    pub(super) async fn task_request(
        &self,
        client: &T::Client,
        method: &str,
        written_id: &str,
        params: &Value<'_>,
    ) -> Option<String> {
        let name = params.get("taskId").and_then(Value::as_str)?;
        let result = match method {
            "tasks/get" => {
                self.own_task(client, name, |entry| entry.task.status(name, "complete"))?
            }
            "tasks/update" => self.own_task(client, name, |_| task::ACKNOWLEDGED.to_owned())?,
            "tasks/cancel" => {
                let cancelled = self.own_task(client, name, |entry| {
                    entry.task.end("cancelled", None);
                    (entry.key, entry.id.clone(), entry.work.take())
                });
                let (key, id, work) = cancelled?;
                self.cancel_task(client, name, (key, &id)).await;
                // A request over HTTP is cancelled by closing its connection.
                if let Some(work) = work {
                    work.abort();
                }
                task::ACKNOWLEDGED.to_owned()
            }
            _ => {
                self.own_task(client, name, |_| ())?;
                return Some(replies::error(written_id, -32601, "unknown method"));
            }
        };
        Some(replies::response_text(written_id, &result))
    }

    /// Reads or changes a task; nothing if it is not this client's task.
    fn own_task<R>(
        &self,
        client: &T::Client,
        name: &str,
        read: impl FnOnce(&mut TaskEntry) -> R,
    ) -> Option<R> {
        let mut tasks = self.tasks();
        tasks.get_mut(name).filter(|entry| entry.owner == client.owner()).map(read)
    }

    async fn cancel_task(&self, client: &T::Client, name: &str, (key, id): (u64, &RequestId)) {
        self.pending.withdraw(key);
        if let Released::Sent(watch) = self.transport.release(client, id) {
            watch.abandon("the client cancelled the call while it ran");
            let notice = json!({
                "jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": { "requestId": name },
            });
            self.transport.send(client, Bytes::from(notice.to_string())).await;
        }
    }
}

/// A channel that holds one update, or is closed.
fn channel_of(update: Option<Update>) -> UnboundedReceiver<Update> {
    let (sender, receiver) = mpsc::unbounded_channel();
    if let Some(update) = update {
        // The receiver is still there.
        let _ = sender.send(update);
    }
    receiver
}
