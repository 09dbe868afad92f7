//! The client of one HTTP request: a response at once, or a stream of events while a call waits.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::body::Bytes;
use hyper::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use tokio::sync::{mpsc, oneshot, watch};

use super::event_stream::event;
use super::headers::accepts_events;
use super::response_body::ResponseBody;
use crate::mcp::engine::transport::ProxyClient;
use crate::mcp::message::RequestId;

/// How many parts of a stream may wait for the client.
const MAX_PARTS: usize = 16;

/// A part of a stream.
pub type StreamPart = io::Result<Bytes>;

/// The client of one request.
#[derive(Clone)]
pub struct HttpClient(Arc<Shared>);

struct Shared {
    parts: Parts,
    reply: Mutex<Reply>,
    /// Closed when the request's connection is.
    connection: watch::Receiver<()>,
}

/// How far the response is.
enum Reply {
    NotBegun(oneshot::Sender<Response<ResponseBody>>),
    Streaming(mpsc::Sender<StreamPart>),
    Done,
}

/// The other end: the response for the client.
pub struct Replying {
    response: oneshot::Receiver<Response<ResponseBody>>,
    _connection: watch::Sender<()>,
}

impl Replying {
    /// Waits for the response. Dropped before, the client has left.
    pub async fn response(self) -> Option<Response<ResponseBody>> {
        self.response.await.ok()
    }
}

impl HttpClient {
    /// The client of a request, and the other end of its reply.
    pub fn new(parts: Parts) -> (HttpClient, Replying) {
        let (sender, response) = oneshot::channel();
        let (alive, connection) = watch::channel(());
        let reply = Mutex::new(Reply::NotBegun(sender));
        let client = HttpClient(Arc::new(Shared { parts, reply, connection }));
        (client, Replying { response, _connection: alive })
    }

    /// The head of its request.
    pub fn parts(&self) -> &Parts {
        &self.0.parts
    }

    /// Sends a response, unless one was begun before.
    pub fn respond(&self, response: Response<ResponseBody>) {
        let mut reply = self.reply_state();
        if let Reply::NotBegun(_) = &*reply
            && let Reply::NotBegun(sender) = std::mem::replace(&mut *reply, Reply::Done)
        {
            // The client may have left.
            drop(sender.send(response));
        }
    }

    /// Begins a response whose body is sent in parts. Nothing if a response was begun before.
    pub fn respond_in_parts(&self, head: Response<()>) -> Option<mpsc::Sender<StreamPart>> {
        let mut reply = self.reply_state();
        let Reply::NotBegun(_) = &*reply else { return None };
        let (sender, parts) = mpsc::channel(MAX_PARTS);
        let streaming = Reply::Streaming(sender.clone());
        if let Reply::NotBegun(waiting) = std::mem::replace(&mut *reply, streaming) {
            drop(waiting.send(head.map(|()| ResponseBody::Parts(parts))));
        }
        Some(sender)
    }

    /// The stream of a held call, if there is one.
    pub fn stream(&self) -> Option<mpsc::Sender<StreamPart>> {
        match &*self.reply_state() {
            Reply::Streaming(sender) => Some(sender.clone()),
            Reply::NotBegun(_) | Reply::Done => None,
        }
    }

    fn end_stream(&self) {
        let mut reply = self.reply_state();
        if let Reply::Streaming(_) = &*reply {
            *reply = Reply::Done;
        }
    }

    async fn send_part(&self, text: String) {
        if let Some(stream) = self.stream() {
            // The client may have left.
            let _ = stream.send(Ok(Bytes::from(text))).await;
        }
    }

    fn reply_state(&self) -> MutexGuard<'_, Reply> {
        self.0.reply.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A JSON response.
pub fn json_response(status: StatusCode, text: String) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::text(text));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn text_of<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

impl ProxyClient for HttpClient {
    fn scope(&self) -> String {
        let headers = &self.0.parts.headers;
        let (session, token) =
            (text_of(headers, "mcp-session-id"), text_of(headers, "authorization"));
        format!("{session}|{token}")
    }

    fn owner(&self) -> Option<Vec<u8>> {
        self.0.parts.headers.get(AUTHORIZATION).map(|value| value.as_bytes().to_vec())
    }

    async fn reply(&self, _: Option<&RequestId>, text: String) {
        if self.stream().is_some() {
            self.send_part(event(&text)).await;
            self.end_stream();
        } else {
            self.respond(json_response(StatusCode::OK, text));
        }
    }

    async fn reject(&self, text: String) {
        self.respond(json_response(StatusCode::BAD_REQUEST, text));
    }

    async fn accept(&self) {
        let mut response = Response::new(ResponseBody::Whole(None));
        *response.status_mut() = StatusCode::ACCEPTED;
        self.respond(response);
    }

    fn hold(&self) {
        if !accepts_events(&self.0.parts.headers) {
            return;
        }
        let mut head = Response::new(());
        let headers = head.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let buffering = HeaderName::from_static("x-accel-buffering");
        headers.insert(buffering, HeaderValue::from_static("no"));
        self.respond_in_parts(head);
    }

    async fn notify(&self, _: &RequestId, text: String) {
        self.send_part(event(&text)).await;
    }

    async fn ask(&self, _: String) {
        // Several clients share the proxy, and one of them may have no stream for requests.
    }

    async fn keep_alive(&self) {
        self.send_part(": wait\n\n".to_owned()).await;
    }

    async fn withdrawn(&self, text: String) {
        self.end_stream();
        self.respond(json_response(StatusCode::OK, text));
    }

    async fn left(&self) {
        let mut connection = self.0.connection.clone();
        // The connection's end of a request ends with its response, too.
        while connection.changed().await.is_ok() {}
        let stream = match &*self.reply_state() {
            Reply::NotBegun(_) => return,
            Reply::Streaming(sender) => Some(sender.clone()),
            Reply::Done => None,
        };
        match stream {
            Some(stream) => stream.closed().await,
            // It has its response; no one waits any more.
            None => std::future::pending().await,
        }
    }

    fn has_left(&self) -> bool {
        match &*self.reply_state() {
            Reply::NotBegun(sender) => sender.is_closed(),
            Reply::Streaming(sender) => sender.is_closed(),
            Reply::Done => false,
        }
    }
}
