//! Calls that wait for a person: one thread asks about each, one clock keeps the clients alive.
//!
//! A case is one question at the gate. A holder is a client that waits for it. A client that
//! loses patience leaves; its case stays, and the same call finds it again. Whatever happens, a
//! holder is taken out of its case under the lock before it is told anything: it hears one answer.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use countersign_client::{Agent, Question};

use super::asking::{self, How, Ruling, Use, Yes};
use super::judge::Asking;
use super::message::Id;
use super::park::{Carried, Parking};
use super::used_ids::UsedIds;
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

/// Which client a call came from, as far as the client says: its session, or nothing.
pub type Scope = String;

/// The key of a new holder, different from every other.
pub fn new_key() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}

/// A client that waits.
pub struct Holder {
    /// Differs from the key of every other holder: two clients may use the same request id.
    pub key: u64,
    /// Whose call it is, for cancellations, which only name the request id.
    pub scope: Scope,
    /// The request id, as a value.
    pub request_id: Id,
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
        f.debug_struct("Holder").field("key", &self.key).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Case {
    same: String,
    /// What the call brings for its server.
    carried: Option<Carried>,
    question: Arc<Question>,
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
    /// Call ids of calls that ran: by an approval that we used, or that their hook had used.
    used_ids: UsedIds,
}

/// The calls of one proxy that wait.
#[derive(Debug)]
pub struct Desk {
    agent: Agent,
    parking: Parking,
    cases: Mutex<Cases>,
    wake: Condvar,
}

impl Desk {
    /// At the agents' door.
    pub fn new(agent: Agent, parking: Parking) -> Arc<Desk> {
        Arc::new(Desk { agent, parking, cases: Mutex::default(), wake: Condvar::new() })
    }

    /// The gate.
    pub fn agent(&self) -> &Agent {
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
                && case.question.fresh == asking.question.fresh
        };
        let found = named.filter(|number| cases.open.get(number).is_some_and(waits));
        let same = || cases.open.iter().filter(|(_, case)| waits(case)).map(|(n, _)| *n).min();
        if let Some(number) = found.or_else(same) {
            let Some(case) = cases.open.get_mut(&number) else { return };
            if let Some((ruling, _)) = case.ruling.take() {
                // Not settled here: the thread that asks must not wait for the daemon.
                case.holder = Some((holder, 0));
                drop(cases);
                let desk = Arc::clone(self);
                if let Err(error) = start(move || desk.ruled(number, ruling)) {
                    self.ruled(number, Ruling::No(no_thread(&error)));
                }
                return;
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
        let questions: Vec<Question> =
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
        let (desk, asked_about) = (Arc::clone(self), numbers.clone());
        let started = start(move || {
            let asked = asking::ask_all(&desk.agent, &questions);
            for ((number, question), how) in asked_about.into_iter().zip(questions).zip(asked) {
                let asks = Arc::clone(&desk);
                let started = start(move || {
                    let ruling =
                        how.map_or_else(Ruling::No, |how| asks.ask(number, &question, &how));
                    asks.ruled(number, ruling);
                });
                if let Err(error) = started {
                    desk.ruled(number, Ruling::No(no_thread(&error)));
                }
            }
        });
        if let Err(error) = started {
            for number in numbers {
                self.ruled(number, Ruling::No(no_thread(&error)));
            }
        }
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
        let started = start(move || {
            let ruling = desk.ask(number, &asked, &how);
            desk.ruled(number, ruling);
        });
        if let Err(error) = started {
            self.ruled(number, Ruling::No(no_thread(&error)));
        }
    }

    fn ask(&self, number: u64, question: &Question, how: &How) -> Ruling {
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
        let is_new = |name: &str| self.lock().used_ids.insert(name);
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

    /// The client that waits under this key withdraws its call. Whether it waited here.
    pub fn withdraw(self: &Arc<Desk>, key: u64) -> bool {
        self.remove_where(|holder| holder.key == key)
    }

    /// A client cancels its request with this id. Whether it waited here. A cancellation that
    /// could mean the calls of several clients withdraws none of them.
    pub fn cancel(self: &Arc<Desk>, scope: &str, id: &Id) -> bool {
        self.remove_where(|holder| holder.scope == scope && holder.request_id == *id)
    }

    fn remove_where(self: &Arc<Desk>, matches: impl Fn(&Holder) -> bool) -> bool {
        let mut cases = self.lock();
        let held = |case: &Case| case.holder.as_ref().is_some_and(|(one, _)| matches(one));
        let mut found = cases.open.iter().filter(|(_, case)| held(case)).map(|(number, _)| *number);
        let (first, second) = (found.next(), found.next());
        let number = first.filter(|_| second.is_none());
        drop(found);
        let Some(case) = number.and_then(|number| cases.open.remove(&number)) else { return false };
        drop(cases);
        if let Some((id, _)) = case.request {
            let desk = Arc::clone(self);
            // Without a thread, the one that waits for the answer cancels the request: it sees
            // that the case is gone.
            let _ = start(move || drop(desk.agent.cancel(&id)));
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
        if !cases.ticking {
            let desk = Arc::clone(self);
            // Without a clock a client hears no progress; the next call tries to start it again.
            cases.ticking = start(move || desk.clock()).is_ok();
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

/// Starts a thread for work that waits.
fn start(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().stack_size(STACK).spawn(work).map(drop)
}

/// Why a call is refused for which no thread could be started.
fn no_thread(error: &io::Error) -> No {
    asking::not_asked(&format!("no thread could be started: {error}"))
}
