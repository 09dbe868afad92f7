//! What happens as it happens: server-sent events.

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
use crate::api::{Answered, Api, Problem, who};

/// A line that says nothing, so that nobody in between thinks the stream dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// A reader that is so many events behind is told to read the list again.
const BEHIND: usize = 64;
/// Streams at each door. Agents cannot take the people's places.
const STREAMS: usize = 256;
static AGENTS: Semaphore = Semaphore::const_new(STREAMS);
static PEOPLE: Semaphore = Semaphore::const_new(STREAMS);

/// What agents may do.
pub fn agents() -> Router<Api> {
    Router::new().route("/v1/events", get(own))
}

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/events", get(all))
}

async fn own(State(api): State<Api>, request: Request) -> Answered {
    let agent = who::agent(&api, &request)?.agent;
    stream(api, request, Reader::Agent(agent), &AGENTS)
}

async fn all(State(api): State<Api>, request: Request) -> Answered {
    who::person(&api, request.headers())?;
    stream(api, request, Reader::Person, &PEOPLE)
}

enum Reader {
    Agent(String),
    Person,
}

fn stream(api: Api, request: Request, reader: Reader, room: &'static Semaphore) -> Answered {
    let place = room.try_acquire().map_err(|_| full())?;
    // From here on nothing is missed: the caller reads the list after our headers.
    let happenings = api.gate.store().subscribe();
    let returns = request.headers().contains_key("last-event-id");
    let (parts, _) = request.into_parts();
    let (send, lines) = mpsc::channel(BEHIND);
    let told = Told { api, reader, proof: parts, send };
    tokio::spawn(told.run(happenings, returns, place));
    let mut response = Response::new(Body::new(Lines(lines)));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

fn full() -> Problem {
    let mut problem = Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "too-many-streams",
        "Too many listen already",
        "too many streams are open; read the list, or try again later",
    );
    problem.retry_after = Some(30);
    problem
}

/// One reader, and what is told to it.
struct Told {
    api: Api,
    reader: Reader,
    /// What it came with: its credential is looked at again before each event.
    proof: Parts,
    send: mpsc::Sender<Bytes>,
}

impl Told {
    async fn run(
        self,
        mut happenings: broadcast::Receiver<StoreEvent>,
        returns: bool,
        _place: SemaphorePermit<'static>,
    ) {
        let first = if returns { again() } else { Bytes::from_static(b": listening\n\n") };
        if self.send.send(first).await.is_err() {
            return;
        }
        loop {
            let heard = tokio::select! {
                heard = happenings.recv() => Some(heard),
                () = tokio::time::sleep(KEEP_ALIVE) => None,
                () = self.send.closed() => return,
                () = self.api.stopped() => return,
            };
            if !self.is_still_known() {
                return;
            }
            let line = match heard {
                None => Some(Bytes::from_static(b": still here\n\n")),
                Some(Ok(happening)) => self.event(happening).await,
                Some(Err(RecvError::Lagged(_))) => Some(again()),
                Some(Err(RecvError::Closed)) => return,
            };
            let Some(line) = line else { continue };
            // A reader that takes nothing makes us fall behind, and is told so afterwards.
            let sent = tokio::select! {
                sent = self.send.send(line) => sent.is_ok(),
                () = self.api.stopped() => false,
            };
            if !sent {
                return;
            }
        }
    }

    /// A credential that was revoked while the stream was open ends it.
    fn is_still_known(&self) -> bool {
        let proof = Request::from_parts(self.proof.clone(), Body::empty());
        match &self.reader {
            Reader::Agent(name) => {
                who::agent(&self.api, &proof).is_ok_and(|caller| caller.agent == *name)
            }
            Reader::Person => who::person(&self.api, proof.headers()).is_ok(),
        }
    }

    /// The event as this reader may see it, if it may.
    async fn event(&self, happening: StoreEvent) -> Option<Bytes> {
        let (name, id) = match happening {
            StoreEvent::Asked(id) => ("asked", id),
            StoreEvent::Voted(id) => ("voted", id),
            StoreEvent::Escalated(id, _) => ("climbed", id),
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
            // What happened cannot be told: the reader has to look for itself.
            Err(_) => return Some(again()),
        };
        let data = match &self.reader {
            Reader::Agent(agent) if stored.request.requester.is_agent(agent) => {
                requests::for_agent(&self.api, &stored)
            }
            Reader::Agent(_) => return None,
            Reader::Person => Value::Object(document::for_the_list(&stored)),
        };
        let state = stored.request.state.label();
        Some(Bytes::from(format!("event: {name}\nid: {id}-{state}\ndata: {data}\n\n")))
    }
}

/// Some events were not told: read the list again.
fn again() -> Bytes {
    Bytes::from_static(b"event: again\ndata: {}\n\n")
}

/// A body that is written as things happen.
struct Lines(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Lines {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.get_mut().0.poll_recv(context).map(|line| line.map(|line| Ok(Frame::data(line))))
    }
}
