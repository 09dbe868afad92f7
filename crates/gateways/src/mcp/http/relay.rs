//! One exchange with the server: its response goes to the client, or to the engine.

use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_LENGTH;
use hyper::{Response, StatusCode};
use tokio::sync::mpsc::Sender;

use super::client::{HttpClient, StreamPart, json_response};
use super::event_stream::{EventReader, event};
use super::headers::{self, NOT_FORWARDED};
use super::response_body::ResponseBody;
use super::upstream::Upstream;
use crate::mcp::engine::observer::{ExpectedResponse, ResponseWatch, ServerKnowledge, fail_all};
use crate::mcp::engine::transport::{Forward, ProgressFloor, ProxyClient as _, ServerRequest};
use crate::mcp::message::{self, ClientMessage, MAX_MESSAGE, RequestId};
use crate::mcp::raw_json;
use crate::mcp::replies;
use crate::mcp::server_message::{self, ServerMessage};

/// An exchange for one client.
pub struct Relay<'a> {
    pub upstream: &'a Upstream,
    pub knowledge: &'a ServerKnowledge,
    pub client: &'a HttpClient,
}

impl Relay<'_> {
    /// Forwards a message and the server's response: into the stream of a held call, or as it is.
    pub async fn forward(&self, forward: Forward) {
        let Forward { message, expected, written_id, progress_floor, .. } = forward;
        let request = headers::request_for_server(self.client.parts(), message, None);
        let response = match self.upstream.send(request).await {
            Ok(response) => response,
            Err(why) => {
                fail_all(self.knowledge, expected, &why).await;
                return self.fail(&written_id, &why).await;
            }
        };
        match self.client.stream() {
            Some(stream) => {
                self.send_into_stream(response, expected, &written_id, progress_floor, stream)
                    .await;
            }
            None => self.as_it_is(response, expected).await,
        }
    }

    async fn fail(&self, written_id: &str, why: &str) {
        let why = format!("the MCP server cannot be reached: {why}");
        if self.client.stream().is_some() {
            return self.client.reply(None, replies::error(written_id, -32603, &why)).await;
        }
        let error = replies::error("null", -32603, &why);
        self.client.respond(json_response(StatusCode::BAD_GATEWAY, error));
    }

    /// The response as it is; what it teaches is learned before the client gets it.
    async fn as_it_is(&self, response: Response<Incoming>, mut expected: Vec<ExpectedResponse>) {
        let (mut head, body) = response.into_parts();
        for name in NOT_FORWARDED.iter().filter(|name| **name != CONTENT_LENGTH) {
            head.headers.remove(name);
        }
        if headers::is_event_stream(&head.headers) {
            let head = Response::from_parts(head, ());
            if let Some(stream) = self.client.respond_in_parts(head) {
                self.copy_events(body, expected, &stream).await;
            }
            return;
        }
        if expected.iter().all(|one| matches!(one.watch, ResponseWatch::Nothing)) {
            let response = Response::from_parts(head, ResponseBody::Server(body));
            return self.client.respond(response);
        }
        let Ok(whole) = Limited::new(body, MAX_MESSAGE).collect().await else {
            let error = replies::error("null", -32603, "the MCP server's response broke off");
            return self.client.respond(json_response(StatusCode::BAD_GATEWAY, error));
        };
        let whole = whole.to_bytes();
        let text = std::str::from_utf8(&whole).unwrap_or_default();
        self.knowledge.observe(text, &mut expected).await;
        let body = ResponseBody::Whole(Some(whole));
        self.client.respond(Response::from_parts(head, body));
    }

    /// Copies the server's stream byte for byte; each event is read before it passes.
    async fn copy_events(
        &self,
        mut body: Incoming,
        mut expected: Vec<ExpectedResponse>,
        stream: &Sender<StreamPart>,
    ) {
        let mut events = EventReader::default();
        while let Some(frame) = body.frame().await {
            let bytes = match frame.map(hyper::body::Frame::into_data) {
                Ok(Ok(bytes)) => bytes,
                Ok(Err(_)) => continue,
                Err(error) => {
                    let _ = stream.send(Err(std::io::Error::other(error))).await;
                    return;
                }
            };
            for data in events.feed(&bytes) {
                self.knowledge.observe(&data, &mut expected).await;
            }
            // If the client has left, only the outcome is awaited.
            let is_gone = stream.send(Ok(bytes)).await.is_err();
            if is_gone && expected.is_empty() {
                return;
            }
        }
    }

    /// Puts the response into the stream of a held call, whose status is sent already.
    async fn send_into_stream(
        &self,
        response: Response<Incoming>,
        mut expected: Vec<ExpectedResponse>,
        written_id: &str,
        floor: Option<ProgressFloor>,
        stream: Sender<StreamPart>,
    ) {
        let status = response.status().as_u16();
        if headers::is_event_stream(response.headers()) {
            let (mut body, mut events) = (response.into_body(), EventReader::default());
            while let Some(Ok(frame)) = body.frame().await {
                let Ok(bytes) = frame.into_data() else { continue };
                for (raw, data) in events.take(&bytes) {
                    let data = data.unwrap_or_default();
                    self.knowledge.observe(&data, &mut expected).await;
                    let is_old = |floor: &ProgressFloor| {
                        server_message::is_progress_within(&data, floor.value)
                    };
                    // If the client has left, only the outcome is awaited.
                    if !floor.as_ref().is_some_and(is_old) {
                        let _ = stream.send(Ok(Bytes::from(raw))).await;
                    }
                }
                if stream.is_closed() && expected.is_empty() {
                    return;
                }
            }
            let _ = stream.send(Ok(Bytes::from(events.rest()))).await;
            return self.client.withdrawn(String::new()).await;
        }
        let whole = Limited::new(response.into_body(), MAX_MESSAGE).collect().await;
        let whole = whole.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let text = std::str::from_utf8(&whole).unwrap_or_default();
        let is_response = matches!(message::parse(text), Ok(ClientMessage::Response));
        let text = if is_response {
            text.to_owned()
        } else {
            replies::error(written_id, -32603, &format!("the MCP server answered {status}"))
        };
        self.knowledge.observe(&text, &mut expected).await;
        let _ = stream.send(Ok(Bytes::from(event(&text)))).await;
        self.client.withdrawn(String::new()).await;
    }

    /// One request of the engine: the text of its response. Other messages go into the client's
    /// stream, if it has one.
    pub async fn request(&self, request: ServerRequest) -> Result<String, String> {
        let ServerRequest { id, message, watch, own_method } = request;
        let mut expected = vec![ExpectedResponse { id: id.clone(), watch }];
        let request = headers::request_for_server(self.client.parts(), message, own_method);
        let response = match self.upstream.send(request).await {
            Ok(response) => response,
            Err(why) => {
                fail_all(self.knowledge, expected, &why).await;
                return Err(format!("the MCP server cannot be reached: {why}"));
            }
        };
        let status = response.status().as_u16();
        if headers::is_event_stream(response.headers()) {
            return self.response_among_events(response.into_body(), expected, &id).await;
        }
        let whole = Limited::new(response.into_body(), MAX_MESSAGE).collect().await;
        let whole = whole.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let text = std::str::from_utf8(&whole).unwrap_or_default().trim();
        // Some servers answer as they were asked before: with a list.
        let single = raw_json::items(text).and_then(|items| match items.as_slice() {
            [only] => Some(*only),
            _ => None,
        });
        let text = single.unwrap_or(text);
        if !is_response_to(text, &id) {
            let why = format!("the MCP server answered {status}");
            fail_all(self.knowledge, expected, &why).await;
            return Err(why);
        }
        self.knowledge.observe(text, &mut expected).await;
        Ok(text.to_owned())
    }

    async fn response_among_events(
        &self,
        mut body: Incoming,
        mut expected: Vec<ExpectedResponse>,
        id: &RequestId,
    ) -> Result<String, String> {
        let (mut events, stream) = (EventReader::default(), self.client.stream());
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(bytes) = frame.into_data() else { continue };
            for (raw, data) in events.take(&bytes) {
                let data = data.unwrap_or_default();
                self.knowledge.observe(&data, &mut expected).await;
                if is_response_to(&data, id) {
                    return Ok(data);
                }
                if let Some(stream) = &stream {
                    let _ = stream.send(Ok(Bytes::from(raw))).await;
                }
            }
        }
        Err("the MCP server gave no response".to_owned())
    }
}

fn is_response_to(text: &str, id: &RequestId) -> bool {
    matches!(server_message::read(text), Some(ServerMessage::Response { id: found, .. })
        if found == *id)
}
