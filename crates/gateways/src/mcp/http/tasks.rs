//! Calls that wait as tasks over HTTP, for clients that can: answered at once, asked about later.

use std::sync::Arc;
use std::time::Duration;

use countersign_json::Value;
use hyper::header::{AUTHORIZATION, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::batch::Work;
use super::body::Out;
use super::call::{Called, Held};
use super::{Proxy, said};
use crate::mcp::continued::Continued;
use crate::mcp::desk::Desk;
use crate::mcp::judge::Asking;
use crate::mcp::message::ToolCall;
use crate::mcp::session::lock;
use crate::mcp::task::{self, Task};
use crate::mcp::words;

/// What is answered so soon needs no task.
const MOMENT: Duration = Duration::from_secs(2);

/// A client that leaves before it has its task takes its call back.
struct Leaving(Option<(Arc<Desk>, String)>);

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some((desk, place)) = self.0.take() {
            desk.withdraw(&place);
        }
    }
}

/// A task, and who may ask about it.
pub(super) struct Kept {
    task: Task,
    owner: Option<HeaderValue>,
    running: Option<AbortHandle>,
}

impl Proxy {
    /// Holds a call as a task, unless it is answered in a moment: then that is the answer. The
    /// call comes back where it has to wait without a task.
    pub(super) async fn as_task(
        self: &Arc<Proxy>,
        parts: &Parts,
        called: &Called<'_>,
        call: &ToolCall<'_>,
        asking: Box<Asking>,
    ) -> Result<Response<Out>, Box<Asking>> {
        let Some(name) = task::fresh_name() else { return Err(asking) };
        {
            let mut tasks = lock(&self.tasks);
            tasks.retain(|_, kept| !kept.task.is_old());
            if tasks.len() >= task::MOST {
                return Err(asking);
            }
        }
        let task = Task::new();
        let (asking, mut holder, mut news) = self.holder(*asking, call, called.written, &name);
        let moment = MOMENT.min(holder.patience);
        // The request is answered soon: nothing may be said about its progress after that.
        (holder.patience, holder.progress) = (task::PATIENCE, None);
        self.desk.hold(asking, holder, None);
        let held = Held {
            proxy: Arc::clone(self),
            parts: parts.clone(),
            text: called.text.to_owned(),
            written: called.written.to_owned(),
            same: Continued::key(call),
            place: name.clone(),
        };
        let mut leaving = Leaving(Some((Arc::clone(&self.desk), name.clone())));
        let soon = tokio::time::timeout(moment, news.recv()).await;
        leaving.0 = None;
        if let Ok(soon) = soon {
            let (tell, told) = mpsc::unbounded_channel();
            if let Some(soon) = soon {
                drop(tell.send(soon));
            }
            return Ok(held.answered(told).await);
        }
        let told = task.told(&name, "task");
        let owner = parts.headers.get(AUTHORIZATION).cloned();
        lock(&self.tasks).insert(name.clone(), Kept { task, owner, running: None });
        let (proxy, place) = (Arc::clone(self), name.clone());
        let running = tokio::spawn(async move {
            let answer = Work::Waits(held, news).answer(None).await;
            if let Some(kept) = lock(&proxy.tasks).get_mut(&place) {
                kept.task.answered(answer.as_deref().unwrap_or_default());
            }
        });
        if let Some(kept) = lock(&self.tasks).get_mut(&name) {
            kept.running = Some(running.abort_handle());
        }
        let written = called.written;
        let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{written},\"result\":{told}}}");
        Ok(said(StatusCode::OK, answer))
    }

    /// What a client asks about a task of ours; nothing if it is none of ours, or not its own.
    pub(super) fn about_task(
        &self,
        parts: &Parts,
        method: &str,
        written: &str,
        params: &Value<'_>,
    ) -> Option<Response<Out>> {
        let name = params.get("taskId").and_then(Value::as_str)?;
        let mut tasks = lock(&self.tasks);
        let kept = tasks.get_mut(name)?;
        if kept.owner.as_ref() != parts.headers.get(AUTHORIZATION) {
            return None;
        }
        let result = match method {
            "tasks/get" => kept.task.told(name, "complete"),
            "tasks/update" => task::DONE.to_owned(),
            "tasks/cancel" => {
                kept.task.end("cancelled", None);
                let running = kept.running.take();
                drop(tasks);
                self.desk.withdraw(name);
                // A call that runs is taken back by leaving: its server sees the stream close.
                if let Some(running) = running {
                    running.abort();
                }
                task::DONE.to_owned()
            }
            _ => {
                let no = words::error(written, -32601, "there is nothing like that");
                return Some(said(StatusCode::OK, no));
            }
        };
        let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{written},\"result\":{result}}}");
        Some(said(StatusCode::OK, answer))
    }
}
