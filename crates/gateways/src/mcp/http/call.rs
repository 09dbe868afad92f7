//! A `tools/call` over HTTP: passed, or held on an open stream until somebody answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use countersign_json::Value;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use tokio::sync::mpsc::{self, Receiver, Sender, UnboundedReceiver};

use super::body::Out;
use super::events::{Events, event};
use super::{Learn, Proxy, copied, kind, place, said};
use crate::mcp::asking::Yes;
use crate::mcp::clients;
use crate::mcp::continued::Continued;
use crate::mcp::desk::{Desk, Holder, Told};
use crate::mcp::heard;
use crate::mcp::judge::{Asking, Judged, ask, judge};
use crate::mcp::looks;
use crate::mcp::message::{self, Id, Kind, LONGEST, Meta, ToolCall, tool_call};
use crate::mcp::reports::Ran;
use crate::mcp::rewrite;
use crate::mcp::scan;
use crate::mcp::session::lock;
use crate::mcp::words;

/// How often a held stream shows that it lives.
pub(super) const BEAT: Duration = Duration::from_secs(8);
/// How long a server may take to list its tools to us.
const LISTING: Duration = Duration::from_secs(5);
/// More pages than this are no list.
const PAGES: usize = 64;

/// A call as it came.
pub struct Called<'a> {
    pub id: Id,
    pub written: &'a str,
    pub text: &'a str,
    pub bytes: &'a Bytes,
}

impl Proxy {
    pub(super) async fn call(
        self: &Arc<Proxy>,
        parts: &Parts,
        called: Called<'_>,
        params: &Value<'_>,
    ) -> Response<Out> {
        let call = match tool_call(called.text, params) {
            Ok(call) => call,
            Err(why) => return said(StatusCode::OK, words::error(called.written, -32602, &why)),
        };
        let goes_on = lock(&self.continued).take(&call);
        if let Some(ran) = goes_on {
            return self.pass(parts, called.bytes.clone(), Learn::Outcome(ran)).await;
        }
        let unknown = lock(&self.tools).must_ask(call.name);
        if unknown {
            self.list(parts, &call.meta).await;
        }
        let seen = lock(&self.tools).see(call.name);
        let judged = match judge(&self.settings.server, &call, &seen) {
            Judged::Pass { tool } if self.reports.passes(&tool, call.raw) => {
                return self.pass(parts, called.bytes.clone(), Learn::Nothing).await;
            }
            Judged::Pass { tool } => ask(&tool, &call, &seen),
            judged => judged,
        };
        match judged {
            Judged::Ask(asking) => self.hold(parts, &called, &call, asking).await,
            Judged::No(no) => {
                let result = words::result(&no, call.meta.is_modern());
                said(StatusCode::OK, words::answer(called.written, &result))
            }
            Judged::Pass { .. } => said(
                StatusCode::OK,
                words::error(called.written, -32603, "the call could not be judged"),
            ),
        }
    }

    /// A resource or a prompt: it passes and is written down, or it waits like a call.
    pub(super) async fn look(
        self: &Arc<Proxy>,
        parts: &Parts,
        called: Called<'_>,
        method: &str,
        params: &Value<'_>,
    ) -> Response<Out> {
        let refuse = |why: &str| said(StatusCode::OK, words::error(called.written, -32602, why));
        let judged = match looks::arguments(method, params) {
            Err(why) => return refuse(&why),
            Ok(None) => None,
            Ok(Some(raw)) => match looks::as_call(method, &raw, called.text, params) {
                Err(why) => return refuse(&why),
                Ok(call) => match looks::judged(&self.settings.server, &call, &self.reports) {
                    Judged::Pass { .. } => None,
                    Judged::Ask(asking) => {
                        return self.hold(parts, &called, &call, asking).await;
                    }
                    Judged::No(no) => Some(no),
                },
            },
        };
        match judged {
            None => self.pass(parts, called.bytes.clone(), Learn::Nothing).await,
            Some(no) => said(StatusCode::OK, words::refusal(called.written, &no, true, true)),
        }
    }

    async fn hold(
        self: &Arc<Proxy>,
        parts: &Parts,
        called: &Called<'_>,
        call: &ToolCall<'_>,
        mut asking: Box<Asking>,
    ) -> Response<Out> {
        let state = call.state.and_then(scan::plain).filter(|state| Desk::is_ours(state));
        let may_be_task = call.meta.tasks && !call.is_look && state.is_none();
        if call.meta.is_modern() && may_be_task {
            match self.as_task(parts, called, call, asking).await {
                Ok(answer) => return answer,
                Err(back) => asking = back,
            }
        }
        let place = place(&parts.headers, &called.id);
        let (asking, holder, told) = self.holder(*asking, call, called.written, &place);
        self.desk.hold(asking, holder, state.as_deref());
        let held = Held {
            proxy: Arc::clone(self),
            parts: parts.clone(),
            text: called.text.to_owned(),
            written: called.written.to_owned(),
            same: Continued::key(call),
            place,
        };
        held.answered(told).await
    }

    /// A client that waits, and where it hears what becomes of its call.
    pub(super) fn holder(
        &self,
        mut asking: Asking,
        call: &ToolCall<'_>,
        written: &str,
        place: &str,
    ) -> (Asking, Holder, UnboundedReceiver<Told>) {
        let client = call.meta.client.clone().or_else(|| lock(&self.client).clone());
        let usual = || clients::patience(client.as_deref());
        let patience = self.settings.patience.unwrap_or_else(usual);
        asking.question.timeout_seconds = clients::deadline(patience);
        let (tell, told) = mpsc::unbounded_channel();
        let holder = Holder {
            place: place.to_owned(),
            id: written.to_owned(),
            modern: call.meta.is_modern(),
            is_look: call.is_look,
            progress: call.meta.progress.clone(),
            since: Instant::now(),
            patience,
            round: 0,
            // Whoever is gone is told nothing, and nothing runs for it.
            tell: Arc::new(move |what| drop(tell.send(what))),
        };
        (asking, holder, told)
    }

    /// Asks the server for its tools, as whoever calls.
    pub(super) async fn list(self: &Arc<Proxy>, parts: &Parts, meta: &Meta) {
        let _one = self.listing.lock().await;
        let came = tokio::time::timeout(LISTING, self.pages(parts, meta)).await;
        let came = came.unwrap_or_else(|_| Err("it gave no answer".to_owned()));
        lock(&self.tools).asked(came);
    }

    async fn pages(self: &Arc<Proxy>, parts: &Parts, meta: &Meta) -> Result<(), String> {
        let mut cursor: Option<String> = None;
        for page in 0..PAGES {
            let mut params = Vec::new();
            params.extend(meta.for_ours().map(|meta| format!("\"_meta\":{meta}")));
            let next = cursor.map(|next| format!("\"cursor\":{}", serde_json::Value::from(next)));
            params.extend(next);
            let id = format!("\"countersign:{page}\"");
            let body = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\",\"params\":{{{}}}}}",
                params.join(",")
            );
            let mut request = copied(parts, Bytes::from(body));
            let headers = request.headers_mut();
            headers.retain_modern("tools/list");
            let response = self.upstream.send(request).await?;
            let answer = answer_in(response, &id).await.ok_or("it gave no answer")?;
            let result = scan::member(&answer, "result").ok_or("it refused")?;
            cursor = lock(&self.tools).learn(result)?;
            if cursor.is_none() {
                return Ok(());
            }
        }
        Err("it does not come to an end".to_owned())
    }
}

/// Whether a client can be answered with a stream.
pub(super) fn hears_events(parts: &Parts) -> bool {
    let accepts = parts.headers.get_all(ACCEPT).iter();
    let mut accepts = accepts.filter_map(|value| value.to_str().ok());
    accepts.any(|value| value.contains("text/event-stream") || value.contains("*/*"))
}

/// An answer that begins at once and is fed later.
pub(super) fn stream(receiver: Receiver<Bytes>) -> Response<Out> {
    let mut response = Response::new(Out::Fed(receiver));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let buffering = HeaderName::from_static("x-accel-buffering");
    headers.insert(buffering, HeaderValue::from_static("no"));
    response
}

/// Headers that say again what the message says.
trait Modern {
    /// Makes them fit another method, which names nothing.
    fn retain_modern(&mut self, method: &'static str);
}

impl Modern for hyper::HeaderMap {
    fn retain_modern(&mut self, method: &'static str) {
        if self.contains_key("mcp-method") {
            self.insert("mcp-method", HeaderValue::from_static(method));
        }
        let named = |name: &HeaderName| {
            name.as_str() == "mcp-name" || name.as_str().starts_with("mcp-param-")
        };
        let gone: Vec<HeaderName> = self.keys().filter(|name| named(name)).cloned().collect();
        for name in gone {
            self.remove(name);
        }
    }
}

/// The answer to our own question, in whichever way it comes.
async fn answer_in(response: Response<Incoming>, id: &str) -> Option<String> {
    let is_stream = kind(response.headers()) == "text/event-stream";
    let mut body = response.into_body();
    if !is_stream {
        let whole = Limited::new(body, LONGEST).collect().await.ok()?.to_bytes();
        return String::from_utf8(whole.to_vec()).ok();
    }
    let mut events = Events::default();
    while let Some(frame) = body.frame().await {
        let Ok(bytes) = frame.ok()?.into_data() else { continue };
        let ours = |text: &String| scan::member(text, "id") == Some(id);
        if let Some(answer) = events.feed(&bytes).into_iter().find(ours) {
            return Some(answer);
        }
    }
    None
}

/// A call that waits on an open stream.
pub(super) struct Held {
    pub proxy: Arc<Proxy>,
    pub parts: Parts,
    pub text: String,
    pub written: String,
    pub same: String,
    pub place: String,
}

impl Held {
    /// The answer to the client: a stream, if it hears one.
    pub(super) async fn answered(self, told: UnboundedReceiver<Told>) -> Response<Out> {
        if !hears_events(&self.parts) {
            return self.whole(told).await;
        }
        let (feed, receiver) = mpsc::channel(16);
        tokio::spawn(self.follow(told, feed));
        stream(receiver)
    }

    /// Feeds the stream until the call is over, or the client is gone: then it is taken back.
    async fn follow(self, mut told: UnboundedReceiver<Told>, feed: Sender<Bytes>) {
        let mut beat = tokio::time::interval(BEAT);
        let mut claimed = None;
        loop {
            let next = tokio::select! {
                next = told.recv() => next,
                () = feed.closed() => {
                    self.proxy.desk.withdraw(&self.place);
                    return;
                }
                _ = beat.tick() => {
                    let _ = feed.send(Bytes::from_static(b": wait\n\n")).await;
                    continue;
                }
            };
            match next {
                None => return,
                Some(Told::Progress(text, thousandths)) => {
                    claimed = Some(f64::from(thousandths) / 1000.0);
                    let _ = feed.send(Bytes::from(event(&text))).await;
                }
                Some(Told::Answer(text)) => {
                    let _ = feed.send(Bytes::from(event(&text))).await;
                    return;
                }
                Some(Told::Run(yes)) => return self.run(yes, claimed, &feed).await,
            }
        }
    }

    /// Waits without a stream.
    async fn whole(self, mut told: UnboundedReceiver<Told>) -> Response<Out> {
        loop {
            match told.recv().await {
                Some(Told::Progress(..)) => {}
                Some(Told::Answer(text)) => return said(StatusCode::OK, text),
                Some(Told::Run(yes)) => {
                    return match self.released(&yes) {
                        Some(body) => {
                            let ran = Learn::Outcome(self.ran(&yes));
                            self.proxy.pass(&self.parts, body, ran).await
                        }
                        None => said(StatusCode::OK, self.failed("it could not be written")),
                    };
                }
                None => return said(StatusCode::OK, self.failed("it was taken back")),
            }
        }
    }

    /// The call runs, and what comes of it goes into the stream.
    async fn run(self, yes: Yes, claimed: Option<f64>, feed: &Sender<Bytes>) {
        let ran = self.ran(&yes);
        let Some(body) = self.released(&yes) else {
            let why = self.failed("it could not be written");
            let _ = feed.send(Bytes::from(event(&why))).await;
            return;
        };
        let sent = self.proxy.upstream.send(copied(&self.parts, body)).await;
        let response = match sent {
            Ok(response) => response,
            Err(why) => {
                self.proxy.reports.ran(&ran, Err(&why));
                let why = self.failed(&format!("the MCP server cannot be reached: {why}"));
                let _ = feed.send(Bytes::from(event(&why))).await;
                return;
            }
        };
        let mut listener = self.proxy.listener(Learn::Outcome(ran));
        let code = response.status();
        if kind(response.headers()) == "text/event-stream" {
            let (mut body, mut events) = (response.into_body(), Events::default());
            while let Some(Ok(frame)) = body.frame().await {
                let Ok(bytes) = frame.into_data() else { continue };
                for (raw, data) in events.take(&bytes) {
                    let data = data.unwrap_or_default();
                    listener(&data);
                    // Progress only ever grows, and we have claimed some.
                    if claimed.is_some_and(|claimed| heard::is_progress_within(&data, claimed)) {
                        continue;
                    }
                    if feed.send(Bytes::from(raw)).await.is_err() {
                        return;
                    }
                }
            }
            let _ = feed.send(Bytes::from(events.rest())).await;
            return;
        }
        let whole = Limited::new(response.into_body(), LONGEST).collect().await;
        let whole = whole.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let text = std::str::from_utf8(&whole).unwrap_or_default();
        // The status is sent already, so what is no message becomes one.
        let is_message = matches!(message::parse(text), Ok(Kind::Response));
        let text = if is_message {
            text.to_owned()
        } else {
            self.failed(&format!("the MCP server answered {}", code.as_u16()))
        };
        listener(&text);
        let _ = feed.send(Bytes::from(event(&text))).await;
    }

    pub(super) fn ran(&self, yes: &Yes) -> Ran {
        Ran {
            request: yes.request.clone(),
            tier: yes.tier.clone(),
            same: self.same.clone(),
            since: Instant::now(),
        }
    }

    pub(super) fn released(&self, yes: &Yes) -> Option<Bytes> {
        let carried = yes.carried.as_ref();
        let text = rewrite::released(&self.text, yes.edited.as_deref(), carried)?;
        Some(Bytes::from(text.into_owned()))
    }

    pub(super) fn failed(&self, why: &str) -> String {
        words::error(&self.written, -32603, why)
    }
}
