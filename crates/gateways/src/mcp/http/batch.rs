//! Several messages in one body: planned once, asked about as one group, answered as one.

use std::sync::Arc;

use countersign_client::ReportStatus;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Bytes;
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use tokio::sync::mpsc::{self, Sender, UnboundedReceiver};
use tokio::task::JoinSet;

use super::body::Out;
use super::call::{BEAT, Held, hears_events, stream};
use super::events::{Events, event};
use super::{Learn, Proxy, copied, kind, place, refused, said};
use crate::mcp::continued::Continued;
use crate::mcp::desk::Told;
use crate::mcp::judge::{Judged, ask, judge};
use crate::mcp::message::{self, BATCHES, Id, Kind, LONGEST, ToolCall, tool_call};
use crate::mcp::reports::Ran;
use crate::mcp::several::{self, Member};
use crate::mcp::{heard, scan, words};

/// What becomes of a request of a batch.
pub(super) enum Work {
    /// We answer it.
    Said(String),
    /// It goes to the server.
    Goes(Held),
    /// It waits for a person.
    Waits(Held, UnboundedReceiver<Told>),
}

/// The requests of a batch, each with its place in the answer.
struct Plan {
    /// One stage after the other.
    stages: Vec<Vec<(usize, Work)>>,
    places: Vec<String>,
    count: usize,
}

impl Proxy {
    pub(super) async fn batch(
        self: &Arc<Proxy>,
        parts: &Parts,
        items: &[&str],
        bytes: &Bytes,
    ) -> Response<Out> {
        // Who says no version speaks the one that had no header for it.
        let version = parts.headers.get("mcp-protocol-version");
        if version.is_some_and(|version| version != BATCHES) {
            let why = "batches are known in protocol version 2025-03-26 only";
            return refused(StatusCode::BAD_REQUEST, "null", -32600, why);
        }
        let members = match several::read(items) {
            Ok(members) => members,
            Err(answer) => return said(StatusCode::BAD_REQUEST, answer),
        };
        if let Some(meta) = self.unknown(&members) {
            self.list(parts, &meta).await;
        }
        let Some(plan) = self.plan(parts, &members) else {
            return self.pass(parts, bytes.clone(), Learn::Nothing).await;
        };
        for member in &members {
            self.pass_other(parts, member).await;
        }
        if !hears_events(parts) {
            return said(StatusCode::OK, plan.run(None).await);
        }
        let (feed, receiver) = mpsc::channel(16);
        tokio::spawn(plan.follow(Arc::clone(self), feed));
        stream(receiver)
    }

    /// Whether the server must be asked for its tools first, and as whom.
    fn unknown(&self, members: &[Member<'_>]) -> Option<message::Meta> {
        members.iter().filter(|member| member.is_call()).find_map(|member| {
            let Kind::Request { params, .. } = &member.kind else { return None };
            let call = tool_call(member.text, params).ok()?;
            super::lock(&self.tools).must_ask(call.name).then_some(call.meta)
        })
    }

    /// How a batch runs; nothing where all of it passes as it is.
    fn plan(self: &Arc<Proxy>, parts: &Parts, members: &[Member<'_>]) -> Option<Plan> {
        let requests: Vec<&Member<'_>> =
            members.iter().filter(|member| member.id().is_some()).collect();
        let mut work: Vec<Option<Work>> = Vec::with_capacity(requests.len());
        let mut calls: Vec<(usize, ToolCall<'_>)> = Vec::new();
        let (mut asked, mut places, mut all_pass) = (Vec::new(), Vec::new(), true);
        for (at, member) in requests.iter().enumerate() {
            let Kind::Request { id, written, params, .. } = &member.kind else { continue };
            let held = |same: String| Held {
                proxy: Arc::clone(self),
                parts: parts.clone(),
                text: member.text.to_owned(),
                written: (*written).to_owned(),
                same,
                place: place(&parts.headers, id),
            };
            if let Some(answer) = several::look(&self.settings.server, member, &self.reports) {
                all_pass = false;
                work.push(Some(Work::Said(answer)));
                continue;
            }
            if !member.is_call() {
                work.push(Some(Work::Goes(held(String::new()))));
                continue;
            }
            let call = match tool_call(member.text, params) {
                Ok(call) => call,
                Err(why) => {
                    all_pass = false;
                    work.push(Some(Work::Said(words::error(written, -32602, &why))));
                    continue;
                }
            };
            let seen = super::lock(&self.tools).see(call.name);
            let judged = match judge(&self.settings.server, &call, &seen) {
                // What cannot be written down goes through the gate.
                Judged::Pass { tool } if !self.reports.passes(&tool, call.raw) => {
                    ask(&tool, &call, &seen)
                }
                judged => judged,
            };
            all_pass &= matches!(judged, Judged::Pass { .. });
            let held = held(Continued::key(&call));
            work.push(Some(match judged {
                Judged::Pass { .. } => Work::Goes(held),
                Judged::No(no) => Work::Said(words::answer(written, &words::result(&no, false))),
                Judged::Ask(asking) => {
                    let (asking, holder, told) = self.holder(*asking, &call, written, &held.place);
                    asked.push((asking, holder));
                    places.push(held.place.clone());
                    Work::Waits(held, told)
                }
            }));
            calls.push((at, call));
        }
        if all_pass {
            return None;
        }
        let mut stages = vec![Vec::new()];
        let mut take = |at: usize| Some((at, work.get_mut(at)?.take()?));
        for stage in several::stages(&self.settings.server, calls.iter().map(|(_, call)| call)) {
            let places = stage.into_iter().filter_map(|number| calls.get(number).map(|one| one.0));
            stages.push(places.filter_map(&mut take).collect());
        }
        // What is no call, or none that can run, waits for nobody.
        if let Some(first) = stages.first_mut() {
            first.extend((0..requests.len()).filter_map(take));
        }
        self.desk.hold_all(asked);
        Some(Plan { stages, places, count: requests.len() })
    }

    /// What wants no answer goes on at once.
    async fn pass_other(self: &Arc<Proxy>, parts: &Parts, member: &Member<'_>) {
        match &member.kind {
            Kind::Notification { method, params } => {
                let id = params.get("requestId").and_then(Id::of);
                let place = id.map(|id| place(&parts.headers, &id));
                let is_cancelled = method == "notifications/cancelled";
                if is_cancelled && place.is_some_and(|place| self.desk.withdraw(&place)) {
                    return;
                }
            }
            Kind::Response => {}
            _ => return,
        }
        // Nobody waits for what comes of it.
        let body = Bytes::from(member.text.to_owned());
        drop(self.upstream.send(copied(parts, body)).await);
    }
}

impl Plan {
    /// Runs it into a stream; a client that leaves takes everything back.
    async fn follow(self, proxy: Arc<Proxy>, feed: Sender<Bytes>) {
        let places = self.places.clone();
        let run = self.run(Some(feed.clone()));
        tokio::pin!(run);
        let mut beat = tokio::time::interval(BEAT);
        loop {
            tokio::select! {
                answer = &mut run => {
                    let _ = feed.send(Bytes::from(event(&answer))).await;
                    return;
                }
                () = feed.closed() => {
                    for place in &places {
                        proxy.desk.withdraw(place);
                    }
                    return;
                }
                _ = beat.tick() => {
                    let _ = feed.send(Bytes::from_static(b": wait\n\n")).await;
                }
            }
        }
    }

    /// The answer to all of it, in its order.
    async fn run(self, feed: Option<Sender<Bytes>>) -> String {
        let mut answers: Vec<Option<String>> = vec![None; self.count];
        for stage in self.stages {
            let mut running = JoinSet::new();
            for (at, work) in stage {
                let feed = feed.clone();
                running.spawn(async move { (at, work.answer(feed).await) });
            }
            while let Some(ended) = running.join_next().await {
                if let Ok((at, answer)) = ended
                    && let Some(place) = answers.get_mut(at)
                {
                    *place = answer;
                }
            }
        }
        let answers: Vec<String> = answers.into_iter().flatten().collect();
        format!("[{}]", answers.join(","))
    }
}

impl Work {
    /// Nothing for what was taken back.
    pub(super) async fn answer(self, feed: Option<Sender<Bytes>>) -> Option<String> {
        let (held, mut told) = match self {
            Work::Said(text) => return Some(text),
            Work::Goes(held) => {
                let body = Bytes::from(held.text.clone());
                return Some(held.exchange(body, Learn::Nothing, feed).await);
            }
            Work::Waits(held, told) => (held, told),
        };
        loop {
            match told.recv().await? {
                Told::Answer(text) => return Some(text),
                Told::Progress(text, _) => {
                    if let Some(feed) = &feed {
                        let _ = feed.send(Bytes::from(event(&text))).await;
                    }
                }
                Told::Run(yes) => {
                    let Some(body) = held.released(&yes) else {
                        return Some(held.failed("it could not be written"));
                    };
                    let ran = held.ran(&yes);
                    return Some(held.exchange(body, Learn::Outcome(ran), feed).await);
                }
            }
        }
    }
}

/// A call that runs and has not been answered: if it is left so, that is said.
struct Unfinished(Option<Ran>, Arc<Proxy>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(ran) = self.0.take() {
            self.1.reports.say(&ran, ReportStatus::Error, "it was not answered, or taken back");
        }
    }
}

impl Held {
    /// One request with the server: its answer. What comes beside it goes into the
    /// stream.
    async fn exchange(self, body: Bytes, learn: Learn, feed: Option<Sender<Bytes>>) -> String {
        let mut unfinished = match &learn {
            Learn::Outcome(ran) => Unfinished(Some(ran.clone()), Arc::clone(&self.proxy)),
            _ => Unfinished(None, Arc::clone(&self.proxy)),
        };
        let response = match self.proxy.upstream.send(copied(&self.parts, body)).await {
            Ok(response) => response,
            Err(why) => {
                if let Some(ran) = unfinished.0.take() {
                    self.proxy.reports.ran(&ran, Err(&why));
                }
                return self.failed(&format!("the MCP server cannot be reached: {why}"));
            }
        };
        let mut listener = self.proxy.listener(learn);
        let code = response.status().as_u16();
        let is_answer = |text: &str| {
            matches!(heard::read(text), Some(heard::Heard::Answer { id, .. })
                if Some(&id) == Id::read(&self.written).as_ref())
        };
        if kind(response.headers()) == "text/event-stream" {
            let (mut body, mut events) = (response.into_body(), Events::default());
            let mut answer = None;
            while let Some(Ok(frame)) = body.frame().await {
                let Ok(bytes) = frame.into_data() else { continue };
                for (raw, data) in events.take(&bytes) {
                    let data = data.unwrap_or_default();
                    listener(&data);
                    if is_answer(&data) {
                        unfinished.0 = None;
                        answer = Some(data);
                    } else if let Some(feed) = &feed {
                        let _ = feed.send(Bytes::from(raw)).await;
                    }
                }
            }
            return answer.unwrap_or_else(|| self.failed("the MCP server gave no answer"));
        }
        let whole = Limited::new(response.into_body(), LONGEST).collect().await;
        let whole = whole.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let text = std::str::from_utf8(&whole).unwrap_or_default().trim();
        // Some servers answer as they were asked before: with a list.
        let single = scan::items(text).and_then(|items| match items.as_slice() {
            [only] => Some(*only),
            _ => None,
        });
        let text = single.unwrap_or(text);
        unfinished.0 = None;
        if !is_answer(text) {
            let why = self.failed(&format!("the MCP server answered {code}"));
            listener(&why);
            return why;
        }
        listener(text);
        text.to_owned()
    }
}
