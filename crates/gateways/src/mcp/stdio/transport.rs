//! One client and one server on pipes: lines both ways, responses found by their ids.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_json::Value;
use hyper::body::Bytes;
use tokio::sync::oneshot;

use super::pipes::{PipeRead, PipeWriter};
use super::routes::{RequestRoute, Routes};
use crate::mcp::engine::observer::ServerKnowledge;
use crate::mcp::engine::transport::{
    Forward, ProxyClient, Released, RequestError, ServerRequest, Transport,
};
use crate::mcp::message::{self, BATCH_VERSION, ClientMessage, InvalidMessage, RequestId};
use crate::mcp::raw_json;
use crate::mcp::replies;

/// The pipes and what is on its way over them.
#[derive(Clone)]
pub struct StdioTransport(Arc<Shared>);

struct Shared {
    knowledge: Arc<ServerKnowledge>,
    to_server: Mutex<Option<PipeWriter>>,
    to_client: Mutex<Option<PipeWriter>>,
    routes: Mutex<Routes>,
}

impl StdioTransport {
    /// Between these pipes.
    pub fn new(
        knowledge: Arc<ServerKnowledge>,
        to_server: PipeWriter,
        to_client: PipeWriter,
    ) -> StdioTransport {
        StdioTransport(Arc::new(Shared {
            knowledge,
            to_server: Mutex::new(Some(to_server)),
            to_client: Mutex::new(Some(to_client)),
            routes: Mutex::default(),
        }))
    }

    /// The server is gone: every request gets an error.
    pub async fn server_ended(&self) {
        self.close_server();
        let open = self.routes().take_all();
        let why = "the MCP server ended before it answered";
        for (id, route) in open {
            let mut to_engine = None;
            if let RequestRoute::Sent(sent) = route {
                sent.watch.abandon(why);
                to_engine = sent.to_engine;
            }
            match to_engine {
                Some(to_engine) => {
                    let _ = to_engine.send(Err(RequestError::Failed(why.to_owned())));
                }
                None => self.say(replies::error(&id.to_string(), -32603, why)).await,
            }
        }
    }

    /// The client is gone: what waits for it is not sent any more.
    pub fn client_ended(&self) {
        self.routes().remove_reserved();
    }

    /// Closes the server's input.
    pub fn close_server(&self) {
        self.0.to_server.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Closes the client's input.
    pub fn close_client(&self) {
        self.0.to_client.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Sends a message of our own to the client.
    pub async fn say(&self, text: String) {
        if let Some(client) = self.client_pipe() {
            client.send_line(Bytes::from(text)).await;
        }
    }

    /// Copies what the server wrote.
    pub(super) async fn copy_to_client(&self, read: PipeRead) {
        if let Some(client) = self.client_pipe() {
            client.copy(read).await;
        }
    }

    /// What is known about the server.
    pub(super) fn knowledge(&self) -> &ServerKnowledge {
        &self.0.knowledge
    }

    fn client_pipe(&self) -> Option<PipeWriter> {
        self.0.to_client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn server_pipe(&self) -> Option<PipeWriter> {
        self.0.to_server.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Requests without a response.
    pub(super) fn routes(&self) -> MutexGuard<'_, Routes> {
        self.0.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The one client is the other end of the same pipes.
impl ProxyClient for StdioTransport {
    fn scope(&self) -> String {
        String::new()
    }

    fn owner(&self) -> Option<Vec<u8>> {
        None
    }

    async fn reply(&self, id: Option<&RequestId>, text: String) {
        // A request that was cancelled meanwhile gets no response.
        let is_open = id.is_none_or(|id| !matches!(self.routes().release(id), Released::Unknown));
        if is_open {
            self.say(text).await;
        }
    }

    async fn reject(&self, text: String) {
        self.say(text).await;
    }

    async fn accept(&self) {}

    fn hold(&self) {}

    async fn notify(&self, id: &RequestId, text: String) {
        let is_held = self.routes().is_reserved(id);
        if is_held {
            self.say(text).await;
        }
    }

    async fn ask(&self, text: String) {
        self.say(text).await;
    }

    async fn keep_alive(&self) {}

    async fn withdrawn(&self, _: String) {}

    async fn left(&self) {
        // When the client ends its input, every call that waits is withdrawn at once.
        std::future::pending::<()>().await;
    }

    fn has_left(&self) -> bool {
        false
    }
}

/// Removes the route of a request that no one waits for any more.
struct RouteGuard<'a>(&'a StdioTransport, Option<RequestId>);

impl Drop for RouteGuard<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.1.take() {
            self.0.routes().release(&id);
        }
    }
}

impl Transport for StdioTransport {
    type Client = StdioTransport;
    const IS_ORDERED: bool = true;
    const TASK_DELAY: Duration = Duration::ZERO;

    fn parse<'a>(&self, text: &'a str) -> Result<ClientMessage<'a>, InvalidMessage> {
        message::read(text)
    }

    fn is_other_protocol(&self, _: &StdioTransport, _: &str) -> bool {
        false
    }

    fn check(&self, _: &StdioTransport, _: &str, _: &Value<'_>) -> Result<(), String> {
        Ok(())
    }

    fn allows_batches(&self, _: &StdioTransport, version: Option<&str>) -> bool {
        version == Some(BATCH_VERSION)
    }

    fn may_list(&self, is_ready: bool) -> bool {
        is_ready
    }

    fn reserve(&self, _: &StdioTransport, id: &RequestId) -> bool {
        self.routes().reserve(id)
    }

    fn is_reserved(&self, _: &StdioTransport, id: &RequestId) -> bool {
        self.routes().is_reserved(id)
    }

    fn release(&self, _: &StdioTransport, id: &RequestId) -> Released {
        self.routes().release(id)
    }

    fn request_of_task(
        &self,
        _: &StdioTransport,
        (_, message): (&RequestId, &Bytes),
        task: &str,
    ) -> Option<(RequestId, Bytes)> {
        let written = format!("\"{task}\"");
        let text = std::str::from_utf8(message).ok()?;
        let text = raw_json::with_members(text, &[("id", Some(&written))])?;
        Some((RequestId::read(&written)?, Bytes::from(text)))
    }

    async fn forward(&self, _: &StdioTransport, forward: Forward) {
        let Forward { message, expected, progress_floor, .. } = forward;
        {
            let mut routes = self.routes();
            for one in expected {
                routes.sent(one.id, one.watch, None, progress_floor.as_ref());
            }
        }
        if let Some(server) = self.server_pipe() {
            server.send(message).await;
        }
    }

    async fn send(&self, _: &StdioTransport, message: Bytes) {
        if let Some(server) = self.server_pipe() {
            server.send_line(message).await;
        }
    }

    async fn request(
        &self,
        client: &StdioTransport,
        request: ServerRequest,
    ) -> Result<String, RequestError> {
        let ServerRequest { id, message, watch, .. } = request;
        let (sender, response) = oneshot::channel();
        self.routes().sent(id.clone(), watch, Some(sender), None);
        let mut guard = RouteGuard(self, Some(id));
        self.send(client, message).await;
        let response = response.await.unwrap_or(Err(RequestError::Cancelled));
        // The route is gone, and the client may use the id again.
        guard.1 = None;
        response
    }
}
