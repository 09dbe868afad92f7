//! Streams: what becomes of a task, as server-sent events.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use hyper::body::Frame;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::dialect::ProtocolDialect;
use crate::node::A2aNode;
use crate::peer::Connection;
use crate::render::{TaskView, artifact_updates, status_update};
use crate::task::DelegatedTask;

/// A comment line, so that proxies do not close an idle stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How many events wait for a slow reader.
const UNREAD: usize = 8;
/// A reader that takes no event for so long is disconnected.
const STALLED: Duration = Duration::from_secs(30);

/// How an event is wrapped: in a JSON-RPC response with this id, or alone.
#[derive(Debug, Clone)]
pub struct EventForm {
    /// The id of the JSON-RPC request, if there is one.
    pub id: Option<Value>,
    /// The version.
    pub dialect: ProtocolDialect,
}

impl EventForm {
    fn line(&self, event: Value) -> Bytes {
        let data = match &self.id {
            Some(id) => serde_json::json!({ "jsonrpc": "2.0", "id": id, "result": event }),
            None => event,
        };
        Bytes::from(format!("data: {data}\n\n"))
    }

    fn first(&self, task: &DelegatedTask) -> Bytes {
        let whole = TaskView::whole(self.dialect).task(task);
        self.line(match self.dialect {
            ProtocolDialect::V1 => serde_json::json!({ "task": whole }),
            ProtocolDialect::V03 | ProtocolDialect::Original => whole,
        })
    }
}

/// A response that streams a task from its state now to its end.
pub fn stream_task(
    node: Arc<A2aNode>,
    peer: Connection,
    task: &DelegatedTask,
    form: EventForm,
) -> Response {
    let (send, receive) = mpsc::channel(UNREAD);
    tokio::spawn(follow(node, peer, task.id.clone(), form, send));
    let mut response = Response::new(Body::new(TaskEvents(receive)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn follow(
    node: Arc<A2aNode>,
    peer: Connection,
    id: String,
    form: EventForm,
    send: mpsc::Sender<Bytes>,
) {
    let mut watch = node.watch(&id);
    let mut seen = 0;
    loop {
        let Ok(task) = node.any_task(&id) else { return };
        for line in events(&task, &form, seen) {
            match tokio::time::timeout(STALLED, send.send(line)).await {
                Ok(Ok(())) => {}
                _ => return,
            }
        }
        seen = task.steps.len();
        if task.state().is_final() {
            return;
        }
        tokio::select! {
            changed = watch.changed() => {
                // Without a sender the task has ended: one last look.
                if changed.is_err() {
                    watch = node.watch(&id);
                }
            }
            () = tokio::time::sleep(KEEP_ALIVE) => {
                let line = Bytes::from_static(b": waiting\n\n");
                let sent = tokio::time::timeout(STALLED, send.send(line)).await;
                if !matches!(sent, Ok(Ok(()))) || !peer.is_still_accepted() {
                    return;
                }
            }
            () = send.closed() => return,
        }
    }
}

/// What a reader that has seen so many states is told next.
fn events(task: &DelegatedTask, form: &EventForm, seen: usize) -> Vec<Bytes> {
    if seen == 0 {
        return vec![form.first(task)];
    }
    if task.steps.len() <= seen {
        return Vec::new();
    }
    let mut lines = Vec::new();
    if task.state().is_final() {
        lines.extend(artifact_updates(task, form.dialect).into_iter().map(|one| form.line(one)));
    }
    lines.push(form.line(status_update(task, form.dialect)));
    lines
}

/// A response body that is written event by event.
struct TaskEvents(mpsc::Receiver<Bytes>);

impl hyper::body::Body for TaskEvents {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.get_mut().0.poll_recv(context).map(|line| line.map(|line| Ok(Frame::data(line))))
    }
}
