//! Calls that wait for a person: one thread asks about each, one clock keeps the clients alive.
//!
//! A case is one question at the gate. A holder is a client that waits for it. A client that
//! loses patience leaves; its case stays, and the same call finds it again. Whatever happens, a
//! holder is taken out of its case under the lock before it is told anything: it hears one answer.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use countersign_client::{AgentClient, CallRequest};

use super::asking::{self, How, Ruling, Use, Yes};
use super::judge::Asking;
use super::park::{Carried, Parking};
use super::words::{self, No};

/// So many calls may wait at once.
const MOST: usize = 2048;
/// How often a client hears that its call still waits.
const PULSE: Duration = Duration::from_secs(5);
/// How long an answer is kept for a client that left.
const KEPT: Duration = Duration::from_mins(10);
/// So long approvals are gathered, so that calls approved together run in their order.
const GATHER: Duration = Duration::from_millis(10);
/// So often an approval may turn out to have been used by somebody else.
const USED_BY_OTHERS: u8 = 3;
/// Threads that only wait need little.
const STACK: usize = 512 << 10;

/// What a client that waits is told.
#[derive(Debug)]
pub enum Told {
    /// The call may run.
    Run(Yes),
    /// The call does not run: the message to the client instead.
    Answer(String),
    /// The message that says it still waits; how many thousandths it claims.
    Progress(String, u32),
}

/// Takes what is told.
pub type Tell = Arc<dyn Fn(Told) + Send + Sync>;

/// A client that waits.
pub struct Holder {
    /// Which one: its own request.
    pub place: String,
    /// The id as it is written.
    pub id: String,
    /// Whether it speaks the modern way.
    pub modern: bool,
    /// Whether it only looks at something: then a no is an error.
    pub is_look: bool,
    /// The text of its token for notices of progress.
    pub progress: Option<String>,
    /// Since when it waits.
    pub since: Instant,
    /// How long it waits before it gives up by itself.
    pub patience: Duration,
    /// How often it came back already.
    pub round: u8,
    /// How it is told.
    pub tell: Tell,
}

impl fmt::Debug for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holder").field("place", &self.place).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Case {
    same: String,
    /// What the call brings for its server.
    carried: Option<Carried>,
    question: Arc<CallRequest>,
    /// How often an approval for it turned out to be used.
    again: u8,
    /// The request at the gate, once it is there, and its two words.
    request: Option<(String, String)>,
    holder: Option<(Holder, u32)>,
    ruling: Option<(Ruling, Instant)>,
}

#[derive(Debug, Default)]
struct Cases {
    open: HashMap<u64, Case>,
    last: u64,
    ticking: bool,
    /// Approved, and about to run in the order they came.
    ready: Vec<(u64, Holder, Yes)>,
    releasing: bool,
    /// Hosts' names of calls that ran: by an approval that we used, or that their hook had used.
    names: HashSet<String>,
}

/// The calls of one proxy that wait.
#[derive(Debug)]
pub struct Desk {
    agent: AgentClient,
    parking: Parking,
    cases: Mutex<Cases>,
    wake: Condvar,
}

impl Desk {
    /// At the agents' door.
    pub fn new(agent: AgentClient, parking: Parking) -> Arc<Desk> {
        Arc::new(Desk { agent, parking, cases: Mutex::default(), wake: Condvar::new() })
    }

    /// The gate.
    pub fn agent(&self) -> &AgentClient {
        &self.agent
    }

    /// Whether a state that a client brings is one of ours.
    pub fn is_ours(state: &str) -> bool {
        Parking::is_ours(state)
    }

    /// A client waits for a call. `state` is what we gave it to come back with.
    pub fn hold(self: &Arc<Desk>, mut asking: Asking, mut holder: Holder, state: Option<&str>) {
        let mut cases = self.lock();
        let parked = state.and_then(|state| self.parking.read(state, &asking.same));
        let named = parked.as_ref().map(|parked| parked.case);
        if let Some(parked) = parked {
            holder.round = parked.round;
            asking.carried = parked.carried;
        }
        let waits = |case: &Case| {
            // What a person said of a tool before it changed is not said of it now.
            case.holder.is_none()
                && case.same == asking.same
                && case.carried == asking.carried
                && case.question.ignore_grants == asking.question.ignore_grants
        };
        let found = named.filter(|number| cases.open.get(number).is_some_and(waits));
        let same = || cases.open.iter().filter(|(_, case)| waits(case)).map(|(n, _)| *n).min();
        if let Some(number) = found.or_else(same) {
            let Some(case) = cases.open.get_mut(&number) else { return };
            if let Some((ruling, _)) = case.ruling.take() {
                drop(cases);
                let desk = Arc::clone(self);
                return start(move || desk.settle(number, holder, ruling));
            }
            case.holder = Some((holder, 0));
            return self.tick(cases);
        }
        self.open(cases, asking, holder, 0);
    }

    /// Clients wait for calls that came together: what is new is asked about as one group.
    pub fn hold_all(self: &Arc<Desk>, calls: Vec<(Asking, Holder)>) {
        let mut cases = self.lock();
        // What a hook may have asked about, and what waits already, goes its own way.
        let by_itself = |cases: &Cases, asking: &Asking| {
            asking.question.call_id.is_some()
                || cases.open.values().any(|case| case.same == asking.same)
        };
        let (alone, mut group): (Vec<_>, Vec<_>) =
            calls.into_iter().partition(|(asking, _)| by_itself(&cases, asking));
        if group.len() < 2 || cases.open.len() + group.len() > MOST {
            drop(cases);
            for (asking, holder) in alone.into_iter().chain(group) {
                self.hold(asking, holder, None);
            }
            return;
        }
        let questions: Vec<CallRequest> =
            group.iter().map(|(asking, _)| asking.question.clone()).collect();
        let mut numbers = Vec::with_capacity(group.len());
        for (Asking { question, same, carried }, holder) in group.drain(..) {
            cases.last += 1;
            let (number, question) = (cases.last, Arc::new(question));
            let holder = Some((holder, 0));
            let (request, ruling) = (None, None);
            let case = Case { same, carried, question, again: 0, request, holder, ruling };
            cases.open.insert(number, case);
            numbers.push(number);
        }
        self.tick(cases);
        let desk = Arc::clone(self);
        start(move || {
            let asked = asking::ask_all(&desk.agent, &questions);
            for ((number, question), how) in numbers.into_iter().zip(questions).zip(asked) {
                let desk = Arc::clone(&desk);
                start(move || {
                    let ruling =
                        how.map_or_else(Ruling::No, |how| desk.ask(number, &question, &how));
                    desk.ruled(number, ruling);
                });
            }
        });
        for (asking, holder) in alone {
            self.hold(asking, holder, None);
        }
    }

    /// A new case.
    fn open(
        self: &Arc<Desk>,
        mut cases: MutexGuard<'_, Cases>,
        asking: Asking,
        holder: Holder,
        again: u8,
    ) {
        if cases.open.len() >= MOST || again > USED_BY_OTHERS {
            drop(cases);
            let no = No::new("unavailable", "Not run: too many calls wait for a person already.");
            return refuse(&holder, &no);
        }
        cases.last += 1;
        let number = cases.last;
        let Asking { question, same, carried } = asking;
        let question = Arc::new(question);
        // The same call twice at once is two runs, and takes two approvals.
        let alone = !cases.open.values().any(|case| case.same == same);
        // Nor is a yes for what was said to its server before one for this.
        let joins = again == 0 && carried.is_none() && (alone || question.call_id.is_some());
        let how = if joins { How::Join } else { How::Alone };
        let asked = Arc::clone(&question);
        let holder = Some((holder, 0));
        let case = Case { same, carried, question, again, request: None, holder, ruling: None };
        cases.open.insert(number, case);
        self.tick(cases);
        let desk = Arc::clone(self);
        start(move || {
            let ruling = desk.ask(number, &asked, &how);
            desk.ruled(number, ruling);
        });
    }

    fn ask(&self, number: u64, question: &CallRequest, how: &How) -> Ruling {
        let waits = |request: Option<(&str, &str)>| {
            let mut cases = self.lock();
            let Some(case) = cases.open.get_mut(&number) else { return false };
            if let (Some((id, phrase)), None) = (request, &case.request) {
                case.request = Some((id.to_owned(), phrase.to_owned()));
            }
            true
        };
        asking::ask(&self.agent, question, how, waits)
    }

    /// The gate has answered.
    fn ruled(self: &Arc<Desk>, number: u64, ruling: Ruling) {
        let mut cases = self.lock();
        let Some(case) = cases.open.get_mut(&number) else { return };
        match case.holder.take() {
            Some((holder, _)) => {
                drop(cases);
                self.settle(number, holder, ruling);
            }
            None => case.ruling = Some((ruling, Instant::now())),
        }
    }

    /// Tells a holder that is nobody else's any more, and closes the case.
    fn settle(self: &Arc<Desk>, number: u64, holder: Holder, ruling: Ruling) {
        let Some(case) = self.lock().open.remove(&number) else {
            return refuse(&holder, &No::new("cancelled", "Not run: the call was taken back."));
        };
        let yes = match ruling {
            Ruling::No(no) => return refuse(&holder, &no),
            Ruling::Yes(yes) => yes,
        };
        let is_new = |name: &str| self.lock().names.insert(name.to_owned());
        match asking::used(&self.agent, &case.question, yes, is_new) {
            Use::No(no) => refuse(&holder, &no),
            Use::Run(mut yes) => {
                yes.carried = case.carried;
                self.release(number, holder, yes);
            }
            Use::Again => {
                let mut question = (*case.question).clone();
                question.call_id = None;
                let asking = Asking { question, same: case.same, carried: case.carried };
                self.open(self.lock(), asking, holder, case.again + 1);
            }
        }
    }

    /// Lets a call run, after those that were approved with it and came before.
    fn release(&self, number: u64, holder: Holder, yes: Yes) {
        let mut cases = self.lock();
        cases.ready.push((number, holder, yes));
        if std::mem::replace(&mut cases.releasing, true) {
            return;
        }
        loop {
            drop(cases);
            thread::sleep(GATHER);
            cases = self.lock();
            let mut ready = std::mem::take(&mut cases.ready);
            if ready.is_empty() {
                cases.releasing = false;
                return;
            }
            drop(cases);
            ready.sort_by_key(|(number, ..)| *number);
            for (_, holder, yes) in ready {
                (holder.tell)(Told::Run(yes));
            }
            cases = self.lock();
        }
    }

    /// The client takes its call back. Whether it waited here.
    pub fn withdraw(self: &Arc<Desk>, place: &str) -> bool {
        let mut cases = self.lock();
        let held = |case: &Case| case.holder.as_ref().is_some_and(|(one, _)| one.place == place);
        let found = cases.open.iter().find(|(_, case)| held(case)).map(|(number, _)| *number);
        let Some(case) = found.and_then(|number| cases.open.remove(&number)) else { return false };
        drop(cases);
        if let Some((id, _)) = case.request {
            let desk = Arc::clone(self);
            // A request that is over by now needs no taking back.
            start(move || drop(desk.agent.cancel(&id)));
        }
        true
    }

    /// Takes every call back; tells those who wait what `why` says, or nothing.
    pub fn close(&self, why: Option<&No>) {
        let open = std::mem::take(&mut self.lock().open);
        let end = Instant::now() + Duration::from_secs(2);
        let mut requests = Vec::new();
        for (_, case) in open {
            if let (Some((holder, _)), Some(no)) = (&case.holder, why) {
                refuse(holder, no);
            }
            if case.ruling.is_none() {
                requests.extend(case.request);
            }
        }
        for (id, _) in requests {
            if Instant::now() > end {
                return;
            }
            drop(self.agent.cancel(&id));
        }
    }

    /// Starts the clock if somebody waits and it does not run.
    fn tick(self: &Arc<Desk>, mut cases: MutexGuard<'_, Cases>) {
        self.wake.notify_all();
        if !std::mem::replace(&mut cases.ticking, true) {
            let desk = Arc::clone(self);
            start(move || desk.clock());
        }
    }

    /// Says that calls still wait, and lets clients go before they give up by themselves.
    fn clock(&self) {
        let mut cases = self.lock();
        while !cases.open.is_empty() {
            let now = Instant::now();
            let mut told: Vec<(Tell, Told)> = Vec::new();
            let mut next = now + PULSE;
            for (number, case) in &mut cases.open {
                let request = case.request.as_ref();
                let words = request.map_or("not yet at the gate", |(_, phrase)| phrase);
                let Some((holder, pulses)) = &mut case.holder else { continue };
                if let Some(token) = &holder.progress {
                    if now >= holder.since + PULSE * (*pulses + 1) {
                        *pulses += 1;
                        let message = format!("Waiting for a person's approval ({words})");
                        let notice = words::progress(token, *pulses, &message);
                        told.push((Arc::clone(&holder.tell), Told::Progress(notice, *pulses)));
                    }
                    next = next.min(holder.since + PULSE * (*pulses + 1));
                }
                let end = holder.since + holder.patience;
                if now < end {
                    next = next.min(end);
                    continue;
                }
                let id = request.map(|(id, _)| id.clone());
                if let Some((holder, _)) = case.holder.take() {
                    let parked = (*number, case.same.as_str(), case.carried.as_ref());
                    let answer = self.parting(parked, &holder, id, words);
                    told.push((holder.tell, Told::Answer(answer)));
                }
            }
            let old = |case: &Case| case.ruling.as_ref().is_some_and(|(_, at)| now > *at + KEPT);
            cases.open.retain(|_, case| case.holder.is_some() || !old(case));
            if told.is_empty() {
                let pause = next.saturating_duration_since(now).max(Duration::from_millis(1));
                let woken = self.wake.wait_timeout(cases, pause);
                cases = woken.unwrap_or_else(PoisonError::into_inner).0;
            } else {
                drop(cases);
                for (tell, what) in told {
                    tell(what);
                }
                cases = self.lock();
            }
        }
        cases.ticking = false;
    }

    /// What a client is told whose patience ends: come back by itself, or ask the model to.
    fn parting(
        &self,
        (number, same, carried): (u64, &str, Option<&Carried>),
        holder: &Holder,
        request: Option<String>,
        words: &str,
    ) -> String {
        let state = self.parking.write(number, same, holder.round + 1, carried);
        if let (true, Some(state)) = (holder.modern, state) {
            let result = serde_json::json!({
                "resultType": "input_required",
                "requestState": state,
            });
            return words::answer(&holder.id, &result);
        }
        let no = No { status: "pending", why: words::pending(words), request };
        words::refusal(&holder.id, &no, holder.modern, holder.is_look)
    }

    fn lock(&self) -> MutexGuard<'_, Cases> {
        self.cases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells a holder that its call does not run.
fn refuse(holder: &Holder, no: &No) {
    let answer = words::refusal(&holder.id, no, holder.modern, holder.is_look);
    (holder.tell)(Told::Answer(answer));
}

/// A thread for something that waits. Where none can be had, what it was to do is not done.
fn start(what: impl FnOnce() + Send + 'static) {
    let _ = thread::Builder::new().stack_size(STACK).spawn(what);
}
