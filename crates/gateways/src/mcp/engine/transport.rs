//! What the engine needs of a transport: its clients, and the server behind it.

use std::time::Duration;

use countersign_json::Value;
use hyper::body::Bytes;

use super::observer::{ExpectedResponse, ResponseWatch};
use crate::mcp::message::{ClientMessage, InvalidMessage, RequestId};

/// A message for the server whose responses go to the client as the server writes them.
#[derive(Debug)]
pub struct Forward {
    /// The message, byte for byte.
    pub message: Bytes,
    /// The requests in it.
    pub expected: Vec<ExpectedResponse>,
    /// The text of the id for errors of our own; `null` if it is not one request.
    pub written_id: String,
    /// Progress that the client was told before: the server's own must be greater.
    pub progress_floor: Option<ProgressFloor>,
    /// Whether a client that leaves cancels the request.
    pub leaving_cancels: bool,
}

impl Forward {
    /// A message without requests.
    pub fn without_requests(message: Bytes) -> Forward {
        let (expected, written_id) = (Vec::new(), "null".to_owned());
        Forward { message, expected, written_id, progress_floor: None, leaving_cancels: true }
    }
}

/// Progress that we reported under a client's token.
#[derive(Debug, Clone)]
pub struct ProgressFloor {
    pub token: RequestId,
    pub value: f64,
}

/// A request whose response goes to the engine.
#[derive(Debug)]
pub struct ServerRequest {
    pub id: RequestId,
    pub message: Bytes,
    pub watch: ResponseWatch,
    /// The method, if the request is our own and not the client's.
    pub own_method: Option<&'static str>,
}

/// Why a request has no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestError {
    /// The server cannot be reached, or gave no valid response.
    Failed(String),
    /// The client cancelled it.
    Cancelled,
}

/// What a released request id was used for.
#[derive(Debug)]
pub enum Released {
    /// Nothing: it is unknown, or this transport does not reserve ids.
    Unknown,
    /// A request that was not sent to the server yet.
    Reserved,
    /// A request that the server has.
    Sent(ResponseWatch),
}

/// The client that sent a message, and the way back to it.
pub trait ProxyClient: Clone + Send + Sync + 'static {
    /// Which client it is, as far as it says so: cancellations only name a request id.
    fn scope(&self) -> String;
    /// Who may ask about this client's tasks.
    fn owner(&self) -> Option<Vec<u8>>;
    /// Sends the response to a request; `id` is nothing for the response to a batch.
    fn reply(&self, id: Option<&RequestId>, text: String) -> impl Future<Output = ()> + Send;
    /// Answers an invalid message.
    fn reject(&self, text: String) -> impl Future<Output = ()> + Send;
    /// Confirms a message that needs no response.
    fn accept(&self) -> impl Future<Output = ()> + Send;
    /// The response will take long.
    fn hold(&self);
    /// Sends a notification that belongs to a held request.
    fn notify(&self, id: &RequestId, text: String) -> impl Future<Output = ()> + Send;
    /// Sends a request of our own, if this client can answer one.
    fn ask(&self, text: String) -> impl Future<Output = ()> + Send;
    /// Shows the client of a held request that the connection is alive.
    fn keep_alive(&self) -> impl Future<Output = ()> + Send;
    /// The request was withdrawn and gets no response, if the protocol allows that.
    fn withdrawn(&self, text: String) -> impl Future<Output = ()> + Send;
    /// Waits until the client has left.
    fn left(&self) -> impl Future<Output = ()> + Send;
    /// Whether the client has left.
    fn has_left(&self) -> bool;
}

/// How messages get from clients to a server and back.
pub trait Transport: Send + Sync + Sized + 'static {
    /// Its clients.
    type Client: ProxyClient;
    /// Whether the messages of a client have an order that the proxy keeps.
    const IS_ORDERED: bool;
    /// How long a client that supports tasks waits for a decision before it gets a task.
    const TASK_DELAY: Duration;

    /// Reads a message of a client.
    fn parse<'a>(&self, text: &'a str) -> Result<ClientMessage<'a>, InvalidMessage>;
    /// Whether a text that is not a message may be forwarded: no server could read it as one.
    fn is_other_protocol(&self, client: &Self::Client, text: &str) -> bool;
    /// Checks what the transport says about a request against the request itself.
    fn check(&self, client: &Self::Client, method: &str, params: &Value<'_>) -> Result<(), String>;
    /// Whether the client may send batches; `version` is the server's protocol version.
    fn allows_batches(&self, client: &Self::Client, version: Option<&str>) -> bool;
    /// Whether the server may be asked for its tools; `is_ready` after `notifications/initialized`.
    fn may_list(&self, is_ready: bool) -> bool;

    /// Reserves a request id. Returns false if it is in use.
    fn reserve(&self, client: &Self::Client, id: &RequestId) -> bool;
    /// Whether an id is still reserved for a request that was not sent yet.
    fn is_reserved(&self, client: &Self::Client, id: &RequestId) -> bool;
    /// Releases a request id.
    fn release(&self, client: &Self::Client, id: &RequestId) -> Released;
    /// The request of a task, with an id that stays unique after the client got its response.
    fn request_of_task(
        &self,
        client: &Self::Client,
        request: (&RequestId, &Bytes),
        task: &str,
    ) -> Option<(RequestId, Bytes)>;

    /// Forwards a message; the server's responses go to the client.
    fn forward(&self, client: &Self::Client, forward: Forward) -> impl Future<Output = ()> + Send;
    /// Sends a message that needs no response.
    fn send(&self, client: &Self::Client, message: Bytes) -> impl Future<Output = ()> + Send;
    /// Sends a request and returns the text of its response.
    fn request(
        &self,
        client: &Self::Client,
        request: ServerRequest,
    ) -> impl Future<Output = Result<String, RequestError>> + Send;
}
