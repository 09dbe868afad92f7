//! One client and one server on two pipes: what passes, what is held, what is learned on the way.

mod batch;
mod listing;
mod tasks;

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use countersign_client::Report;
use countersign_json::Value;

use super::Settings;
use super::clients;
use super::continued::Continued;
use super::desk::{Desk, Holder, Told};
use super::heard::{self, Heard};
use super::judge::{Judged, ask, judge};
use super::looks;
use super::message::{self, Id, Kind, Meta, ToolCall, tool_call};
use super::reports::{Ran, Reports};
use super::rewrite;
use super::tools::Tools;
use super::words;

/// One end of a pipe; every line goes out whole.
pub type Pipe = Mutex<Option<Box<dyn Write + Send>>>;

/// A client, a server, and what is between them.
pub struct Session {
    settings: Settings,
    desk: Arc<Desk>,
    tools: Mutex<Tools>,
    state: Mutex<State>,
    reports: Reports,
    to_server: Pipe,
    to_client: Pipe,
}

#[derive(Default)]
struct State {
    /// Requests of the client without an answer yet.
    open: HashMap<Id, Open>,
    /// Requests of our own.
    ours: HashMap<Id, Sender<Result<String, String>>>,
    /// Calls that wait until the server has listed its tools.
    listing: Option<Vec<String>>,
    /// The version that was agreed on, and whether the client has said that it is ready.
    version: Option<String>,
    ready: bool,
    /// The client's name for itself.
    client: Option<String>,
    /// What we claimed as progress of a call that runs now, by its token.
    claimed: HashMap<Id, f64>,
    continued: Continued,
    /// Calls that wait as tasks, by the ids that we gave them.
    tasks: HashMap<Id, super::task::Task>,
    /// Batches whose answers are not all there.
    gathers: Vec<batch::Gather>,
}

/// What a request of the client is, as far as its answer matters.
enum Open {
    Other,
    Greeting,
    List,
    /// A call that waits here.
    Held,
    /// A call that was approved and runs.
    Runs(Ran),
}

impl Session {
    /// Between these pipes.
    pub fn new(
        settings: Settings,
        tools: Tools,
        desk: Arc<Desk>,
        to_server: Box<dyn Write + Send>,
        to_client: Box<dyn Write + Send>,
    ) -> Arc<Session> {
        let reports = Reports::new(desk.agent().clone());
        Arc::new(Session {
            settings,
            desk,
            tools: Mutex::new(tools),
            state: Mutex::default(),
            reports,
            to_server: Mutex::new(Some(to_server)),
            to_client: Mutex::new(Some(to_client)),
        })
    }

    /// A line of the client.
    pub fn client_says(self: &Arc<Session>, line: &[u8]) {
        let Ok(text) = std::str::from_utf8(line) else {
            return self.say(&words::error("null", -32700, "the message is not UTF-8"));
        };
        match message::read(text) {
            Ok(message) => self.take(message, text),
            Err(no) => self.say(&words::error(&no.id, no.code, &no.why)),
        }
    }

    fn take(self: &Arc<Session>, message: Kind<'_>, line: &str) {
        match message {
            Kind::Blank | Kind::Response => self.pass(line),
            Kind::Batch(parts) => self.batch(&parts, line),
            Kind::Notification { method, params } => match method.as_ref() {
                "tools/call" => {
                    self.say(&words::error("null", -32600, "a call without an id is not run"));
                }
                "notifications/cancelled" if self.taken_back(&params) => {}
                "notifications/initialized" => {
                    self.state().ready = true;
                    self.pass(line);
                }
                _ => self.pass(line),
            },
            Kind::Request { id, written, method, params } => {
                if method.starts_with("tasks/")
                    && let Some(answer) = self.about_task(&method, written, &params)
                {
                    return self.say(&answer);
                }
                let open = match method.as_ref() {
                    "initialize" | "server/discover" => Open::Greeting,
                    "tools/list" => Open::List,
                    "tools/call" => Open::Held,
                    _ => Open::Other,
                };
                let is_call = matches!(open, Open::Held);
                let looks = looks::is_look(&method);
                {
                    let mut state = self.state();
                    if state.open.contains_key(&id) {
                        drop(state);
                        return self.say(&words::error(written, -32600, "this id is in use"));
                    }
                    state.open.insert(id.clone(), open);
                    if method == "initialize" {
                        let name = params.pointer("/clientInfo/name").and_then(Value::as_str);
                        state.client = name.map(ToOwned::to_owned);
                    }
                }
                match (is_call, looks) {
                    (true, _) => self.call(&id, written, &params, line),
                    (false, true) => self.look(&id, written, &method, &params, line),
                    (false, false) => self.pass(line),
                }
            }
        }
    }

    fn call(self: &Arc<Session>, id: &Id, written: &str, params: &Value<'_>, line: &str) {
        let call = match tool_call(line, params) {
            Ok(call) => call,
            Err(why) => return self.end(id, &words::error(written, -32602, &why)),
        };
        let mut state = self.state();
        let unknown = self.tools().must_ask(call.name);
        let may_list = call.meta.is_modern() || state.ready;
        match &mut state.listing {
            Some(waiting) => waiting.push(line.to_owned()),
            None if unknown && may_list => {
                state.listing = Some(vec![line.to_owned()]);
                drop(state);
                let (session, meta) = (Arc::clone(self), call.meta.for_ours());
                thread::spawn(move || session.list(meta.as_deref()));
            }
            None => {
                drop(state);
                self.decide(id, written, &call, line);
            }
        }
    }

    fn decide(self: &Arc<Session>, id: &Id, written: &str, call: &ToolCall<'_>, line: &str) {
        let goes_on = {
            let mut state = self.state();
            if !matches!(state.open.get(id), Some(Open::Held)) {
                return;
            }
            let goes_on = state.continued.take(call);
            if let Some(ran) = &goes_on {
                state.open.insert(id.clone(), Open::Runs(ran.clone()));
            }
            goes_on.is_some()
        };
        if goes_on {
            return self.pass(line);
        }
        let seen = self.tools().see(call.name);
        match judge(&self.settings.server, call, &seen) {
            Judged::Pass { tool } if self.reports.passes(&tool, call.raw) => {
                self.state().open.insert(id.clone(), Open::Other);
                self.pass(line);
            }
            // What cannot be written down goes through the gate.
            Judged::Pass { tool } => self.go_on(ask(&tool, call, &seen), id, written, call, line),
            judged => self.go_on(judged, id, written, call, line),
        }
    }

    /// A call that does not simply pass.
    fn go_on(
        self: &Arc<Session>,
        judged: Judged,
        id: &Id,
        written: &str,
        call: &ToolCall<'_>,
        line: &str,
    ) {
        match judged {
            Judged::Pass { .. } => {}
            Judged::No(no) => {
                let modern = call.meta.is_modern();
                self.end(id, &words::refusal(written, &no, modern, call.is_look));
            }
            Judged::Ask(mut asking) => {
                let patience = self.patience(&call.meta);
                asking.question.timeout_seconds = clients::deadline(patience);
                let ours = call.state.and_then(super::scan::plain);
                let ours = ours.filter(|state| Desk::is_ours(state));
                let may_be_task = call.meta.tasks && !call.is_look && ours.is_none();
                if call.meta.is_modern() && may_be_task {
                    match self.as_task((id, written), call, line, asking) {
                        Ok(()) => return,
                        Err(back) => asking = back,
                    }
                }
                let holder = self.holder(id, written, call, line, patience);
                self.desk.hold(*asking, holder, ours.as_deref());
            }
        }
    }

    /// A resource or a prompt: it passes and is written down, or it waits like a call.
    fn look(
        self: &Arc<Session>,
        id: &Id,
        written: &str,
        method: &str,
        params: &Value<'_>,
        line: &str,
    ) {
        let refuse = |why: &str| self.end(id, &words::error(written, -32602, why));
        let raw = match looks::arguments(method, params) {
            Ok(Some(raw)) => raw,
            Ok(None) => return self.pass(line),
            Err(why) => return refuse(&why),
        };
        let call = match looks::as_call(method, &raw, line, params) {
            Ok(call) => call,
            Err(why) => return refuse(&why),
        };
        match looks::judged(&self.settings.server, &call, &self.reports) {
            Judged::Pass { .. } => self.pass(line),
            judged => {
                self.state().open.insert(id.clone(), Open::Held);
                self.go_on(judged, id, written, &call, line);
            }
        }
    }

    fn patience(&self, meta: &Meta) -> Duration {
        self.settings.patience.unwrap_or_else(|| {
            let state = self.state();
            clients::patience(meta.client.as_deref().or(state.client.as_deref()))
        })
    }

    fn holder(
        self: &Arc<Session>,
        id: &Id,
        written: &str,
        call: &ToolCall<'_>,
        line: &str,
        patience: Duration,
    ) -> Holder {
        let (session, key, line) = (Arc::clone(self), id.clone(), line.to_owned());
        let token = call.meta.progress.as_deref().and_then(Id::read);
        let (modern, is_look) = (call.meta.is_modern(), call.is_look);
        let (answer_to, same) = (written.to_owned(), Continued::key(call));
        let tell = move |told: Told| match told {
            Told::Answer(text) => session.end(&key, &text),
            Told::Progress(text, thousandths) => {
                let mut out = lock(&session.to_client);
                if !matches!(session.state().open.get(&key), Some(Open::Held)) {
                    return;
                }
                if let Some(token) = token.clone() {
                    let claimed = f64::from(thousandths) / 1000.0;
                    session.state().claimed.insert(token, claimed);
                }
                put(&mut out, text.as_bytes(), true);
            }
            Told::Run(yes) => {
                let ran = Ran {
                    request: yes.request.clone(),
                    tier: yes.tier.clone(),
                    same: same.clone(),
                    since: Instant::now(),
                };
                let carried = yes.carried.as_ref();
                let line = rewrite::released(&line, yes.edited.as_deref(), carried);
                let Some(line) = line else {
                    session.reports.say(&ran, Report::Skipped, "the call could not be written");
                    let why = "Not run: the approved call could not be written.";
                    let no = words::No::new("unavailable", why);
                    let answer = words::refusal(&answer_to, &no, modern, is_look);
                    return session.end(&key, &answer);
                };
                {
                    let mut state = session.state();
                    let held = matches!(state.open.get(&key), Some(Open::Held));
                    if !held {
                        drop(state);
                        return session.reports.say(&ran, Report::Skipped, "taken back");
                    }
                    state.open.insert(key.clone(), Open::Runs(ran));
                }
                session.run(&key, &line);
            }
        };
        Holder {
            place: format!("{id:?}"),
            id: written.to_owned(),
            modern: call.meta.is_modern(),
            is_look: call.is_look,
            progress: call.meta.progress.clone(),
            since: Instant::now(),
            patience,
            round: 0,
            tell: Arc::new(tell),
        }
    }

    /// Whether a cancelled request waited here; then the server never hears of it.
    fn taken_back(self: &Arc<Session>, params: &Value<'_>) -> bool {
        let Some(id) = params.get("requestId").and_then(Id::of) else { return false };
        // It may still be answered; its id is free again.
        let open = self.state().open.remove(&id);
        self.is_gathered(&id, None);
        match open {
            Some(Open::Held) => {
                self.desk.withdraw(&format!("{id:?}"));
                true
            }
            Some(Open::Runs(ran)) => {
                self.reports.say(&ran, Report::Error, "the client took the call back while it ran");
                false
            }
            _ => false,
        }
    }

    /// A line of the server. What is not understood is none of our business and passes.
    pub fn server_says(&self, line: &[u8]) {
        let keeps = match std::str::from_utf8(line) {
            Ok(text) if text.trim_start().starts_with('[') => {
                let parts = super::scan::items(text).unwrap_or_default();
                let kept: Vec<&str> =
                    parts.iter().copied().filter(|part| self.hear(part)).collect();
                if !kept.is_empty() && kept.len() < parts.len() {
                    self.say(&format!("[{}]", kept.join(",")));
                }
                kept.len() == parts.len()
            }
            Ok(text) => self.hear(text),
            Err(_) => true,
        };
        if keeps {
            put(&mut lock(&self.to_client), line, false);
        }
    }

    /// Learns from one message of the server. Whether the client hears it too.
    fn hear(&self, text: &str) -> bool {
        match heard::read(text) {
            None => true,
            Some(Heard::ListChanged) => {
                self.tools().doubt();
                true
            }
            Some(Heard::Progress { token, value }) => {
                let mut state = self.state();
                match state.claimed.get(&token) {
                    Some(claimed) if value <= *claimed => false,
                    Some(_) => {
                        state.claimed.remove(&token);
                        true
                    }
                    None => true,
                }
            }
            Some(Heard::Answer { id, result }) => {
                self.answered(&id, result) && !self.is_kept(&id, text)
            }
        }
    }

    fn answered(&self, id: &Id, result: Result<&str, &str>) -> bool {
        let mut state = self.state();
        if let Some(waiting) = state.ours.remove(id) {
            let answer = result.map(ToOwned::to_owned).map_err(|_| "it refused".to_owned());
            // Whoever asked may have given up.
            let _ = waiting.send(answer);
            return false;
        }
        match state.open.remove(id) {
            // Nobody asked it yet.
            Some(Open::Held) => {
                state.open.insert(id.clone(), Open::Held);
                return false;
            }
            Some(Open::Runs(ran)) => {
                if let Ok(result) = result {
                    state.continued.remember(&ran, result);
                }
                drop(state);
                self.reports.ran(&ran, result);
            }
            Some(Open::Greeting) => {
                let Ok(result) = result else { return true };
                if let Some(version) = heard::version(result) {
                    state.version = Some(version);
                }
                drop(state);
                self.tools().greeted(result);
            }
            Some(Open::List) => {
                drop(state);
                if let Ok(result) = result {
                    // A list that cannot be read is remembered as such.
                    let _ = self.tools().learn(result);
                }
            }
            Some(Open::Other) | None => {}
        }
        true
    }

    /// The server is gone: every call that is open is answered.
    pub fn server_ended(&self) {
        *lock(&self.to_server) = None;
        self.desk.close(None);
        let open = std::mem::take(&mut self.state().open);
        let why = "the MCP server ended before it answered";
        for (id, open) in open {
            if let Open::Runs(ran) = &open {
                self.reports.say(ran, Report::Error, why);
            }
            let answer = words::error(&id.to_string(), -32603, why);
            if !self.is_kept(&id, &answer) {
                self.say(&answer);
            }
        }
        self.reports.close();
    }

    /// The client is gone: nothing waits for it any more.
    pub fn client_ended(&self) {
        self.state().open.retain(|_, open| !matches!(open, Open::Held));
        self.desk.close(None);
    }

    /// The server hears no more.
    pub fn hang_up(&self) {
        *lock(&self.to_server) = None;
    }

    /// A line goes to the server as it is.
    fn pass(&self, line: &str) {
        put(&mut lock(&self.to_server), line.as_bytes(), false);
    }

    /// A message of our own goes to the client.
    fn say(&self, text: &str) {
        put(&mut lock(&self.to_client), text.as_bytes(), true);
    }

    /// A request is answered by us.
    fn end(&self, id: &Id, text: &str) {
        if self.state().open.remove(id).is_some() && !self.is_kept(id, text) {
            self.say(text);
        }
    }

    /// Pieces of a line that is too long to be looked at pass between the others.
    pub fn client_pipe(&self) -> &Pipe {
        &self.to_client
    }

    /// Says that the client sent a line that is too long.
    pub fn too_long(&self) {
        self.say(&words::error("null", -32600, "the message is too long"));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn tools(&self) -> MutexGuard<'_, Tools> {
        lock(&self.tools)
    }
}

/// The inside, whoever panicked before.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a line whole. A reader that is gone is noticed where its own side ends.
pub fn put(pipe: &mut Option<Box<dyn Write + Send>>, line: &[u8], needs_end: bool) {
    let Some(out) = pipe.as_mut() else { return };
    let write = || -> io::Result<()> {
        if needs_end {
            let mut whole = Vec::with_capacity(line.len() + 1);
            whole.extend_from_slice(line);
            whole.push(b'\n');
            out.write_all(&whole)?;
        } else {
            out.write_all(line)?;
        }
        out.flush()
    };
    let mut write = write;
    if write().is_err() {
        *pipe = None;
    }
}
