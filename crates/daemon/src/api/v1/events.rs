//! GET /v1/events: server-sent events.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::get;
use countersign_store::{Store as _, StoreEvent};
use countersign_types::id::Id;
use hyper::body::Frame;
use serde_json::Value;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::{Semaphore, SemaphorePermit, mpsc};

use super::{document, requests};
use crate::api::{Api, ApiProblem, ApiResult, authenticate};

/// A comment line, so that proxies do not close an idle stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// A reader with this many unread events is told to read the list again.
const MAX_UNREAD: usize = 64;
/// The most open streams of each API. Agents cannot use up the people's streams.
const STREAMS: usize = 256;
static AGENTS: Semaphore = Semaphore::const_new(STREAMS);
static PEOPLE: Semaphore = Semaphore::const_new(STREAMS);

/// The routes of the agent API.
pub fn agents() -> Router<Api> {
    Router::new().route("/v1/events", get(own))
}

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/events", get(all))
}

async fn own(State(api): State<Api>, request: Request) -> ApiResult {
    let agent = authenticate::agent(&api, &request)?.agent;
    stream(api, request, Reader::Agent(agent), &AGENTS)
}

async fn all(State(api): State<Api>, request: Request) -> ApiResult {
    authenticate::person(&api, request.headers())?;
    stream(api, request, Reader::Person, &PEOPLE)
}

enum Reader {
    Agent(String),
    Person,
}

fn stream(api: Api, request: Request, reader: Reader, permits: &'static Semaphore) -> ApiResult {
    let permit = permits.try_acquire().map_err(|_| full())?;
    // From here on no event is missed: the client reads the list after the headers.
    let events = api.gate.store().subscribe();
    let reconnects = request.headers().contains_key("last-event-id");
    let (parts, _) = request.into_parts();
    let (send, events_out) = mpsc::channel(MAX_UNREAD);
    let stream = EventStream { api, reader, proof: parts, send };
    tokio::spawn(stream.run(events, reconnects, permit));
    let mut response = Response::new(Body::new(EventBody(events_out)));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

fn full() -> ApiProblem {
    let mut problem = ApiProblem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "too-many-streams",
        "Too many streams",
        "too many event streams are open; poll the list or try again later",
    );
    problem.retry_after = Some(30);
    problem
}

/// One open stream.
struct EventStream {
    api: Api,
    reader: Reader,
    /// The request's headers: the credential is checked again before each event.
    proof: Parts,
    send: mpsc::Sender<Bytes>,
}

impl EventStream {
    async fn run(
        self,
        mut events: broadcast::Receiver<StoreEvent>,
        reconnects: bool,
        _permit: SemaphorePermit<'static>,
    ) {
        let first = if reconnects { again() } else { Bytes::from_static(b": listening\n\n") };
        if self.send.send(first).await.is_err() {
            return;
        }
        loop {
            let received = tokio::select! {
                received = events.recv() => Some(received),
                () = tokio::time::sleep(KEEP_ALIVE) => None,
                () = self.send.closed() => return,
                () = self.api.stopped() => return,
            };
            if !self.is_still_known() {
                return;
            }
            let line = match received {
                None => Some(Bytes::from_static(b": still here\n\n")),
                Some(Ok(event)) => self.event(event).await,
                Some(Err(RecvError::Lagged(_))) => Some(again()),
                Some(Err(RecvError::Closed)) => return,
            };
            let Some(line) = line else { continue };
            // A slow reader makes this task fall behind, and is told so afterwards.
            let sent = tokio::select! {
                sent = self.send.send(line) => sent.is_ok(),
                () = self.api.stopped() => false,
            };
            if !sent {
                return;
            }
        }
    }

    /// Whether the credential is still valid: a revoked one ends the stream.
    fn is_still_known(&self) -> bool {
        let proof = Request::from_parts(self.proof.clone(), Body::empty());
        match &self.reader {
            Reader::Agent(name) => {
                authenticate::agent(&self.api, &proof).is_ok_and(|caller| caller.agent == *name)
            }
            Reader::Person => authenticate::person(&self.api, proof.headers()).is_ok(),
        }
    }

    /// The event for this reader, if it may see it.
    async fn event(&self, event: StoreEvent) -> Option<Bytes> {
        let (name, id) = match event {
            StoreEvent::Asked(id) => ("asked", id),
            StoreEvent::Voted(id) => ("voted", id),
            StoreEvent::Opinion(_) if matches!(self.reader, Reader::Agent(_)) => return None,
            StoreEvent::Opinion(id) => ("opinion", id),
            StoreEvent::Escalated(id, _) => ("escalated", id),
            StoreEvent::Ended(id, _) => ("ended", id),
            StoreEvent::Undelivered(_) => return None,
            StoreEvent::Settings => {
                return matches!(self.reader, Reader::Person)
                    .then(|| Bytes::from_static(b"event: settings\ndata: {}\n\n"));
            }
        };
        self.request(name, id).await
    }

    async fn request(&self, name: &str, id: Id) -> Option<Bytes> {
        let stored = match self.api.gate.store().request(id).await {
            Ok(stored) => stored?,
            // The request cannot be read: the reader has to read the list again.
            Err(_) => return Some(again()),
        };
        let data = match &self.reader {
            Reader::Agent(agent) if stored.request.requester.is_agent(agent) => {
                requests::for_agent(&self.api, &stored)
            }
            Reader::Agent(_) => return None,
            Reader::Person => {
                let mut document = document::for_the_list(&stored);
                let opinion = self.api.gate.judge().shown(&stored);
                let opinion = opinion.map_or(Value::Null, |opinion| opinion.document());
                document.insert("judge".to_owned(), opinion);
                Value::Object(document)
            }
        };
        let state = stored.request.state.label();
        Some(Bytes::from(format!("event: {name}\nid: {id}-{state}\ndata: {data}\n\n")))
    }
}

/// Tells the reader that events were missed and that it has to read the list again.
fn again() -> Bytes {
    Bytes::from_static(b"event: again\ndata: {}\n\n")
}

/// A response body that is written event by event.
struct EventBody(mpsc::Receiver<Bytes>);

impl hyper::body::Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.get_mut().0.poll_recv(context).map(|line| line.map(|line| Ok(Frame::data(line))))
    }
}
