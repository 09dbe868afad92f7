//! `countersign hook`: the process that an agent starts before each call.
//!
//! A call that only reads passes without the daemon and is recorded a moment later; the daemon
//! decides every other call. Every error, time-out and panic is a denial, printed before the
//! agent's own time limit, because most agents run the call if their hook is silent.

mod agent_version;
pub mod args;
mod ask;
mod batch;
pub mod forward;
mod input;
pub mod local_decision;
mod looked_at;
mod messages;
mod offered_snapshot;
mod session_place;
pub mod snapshots;
mod spool;
mod stages;

use std::io::{self, Read, Write as _};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use countersign_client as client;

use crate::agents::{CompletedCall, HookAgent, HookAnswer, HookEvent, HookReply, ProposedCall};
use crate::machine_look::MachineLook;
use input::{InputError, MAX_INPUT};
use local_decision::LocalGate;
use offered_snapshot::{OfferedSnapshot, after_member};
use snapshots::CallSnapshots;

pub use session_place::SessionPlace;
pub use spool::{Spool, drain};

/// The exit code that most agents treat as a denial, with the reason on standard error.
pub const EXIT_DENIED: u8 = 2;
/// The time that is left at the end to print a denial.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// Finds the daemon; called only if it is needed.
pub type FindDaemon = Arc<dyn Fn() -> Result<client::AgentClient, String> + Send + Sync>;

/// A hook with access to the daemon.
#[derive(Clone)]
pub struct HookProcess {
    /// The part that needs no daemon.
    pub local: LocalGate,
    /// How long the agent waits at most.
    pub patience: Duration,
    /// Finds the daemon.
    pub daemon: FindDaemon,
    /// Looks at this machine before a call is asked about.
    pub look: MachineLook,
    /// Takes snapshots of files that a call changes; none if that is switched off.
    pub snapshots: Option<CallSnapshots>,
}

impl HookProcess {
    /// Answers one event of the agent in time.
    pub fn answer(self, input: impl Read + Send + 'static) -> HookReply {
        let (agent, patience) = (self.local.agent, self.patience);
        let end = Instant::now() + patience;
        let answer = in_time(patience, move || self.decide(input, end));
        (agent.hook.reply)(&answer.unwrap_or_else(|denial| denial))
    }

    fn decide(&self, input: impl Read, end: Instant) -> HookAnswer {
        let mut bytes = Vec::with_capacity(8 << 10);
        let limit = MAX_INPUT as u64;
        match input.take(limit + 1).read_to_end(&mut bytes) {
            Err(error) => {
                let why = format!("the hook's input could not be read: {error}");
                return InputError::Invalid(why).denial();
            }
            Ok(_) if bytes.len() > MAX_INPUT => return InputError::TooLong.denial(),
            Ok(_) => {}
        }
        let event = match self.local.parse_event(&bytes) {
            Ok(event) => event,
            Err(denial) => return denial,
        };
        if let Some(answer) = self.local.answer(&event) {
            return answer;
        }
        match &event {
            HookEvent::Before(call) => self.before(call, end),
            HookEvent::Batch(calls) => {
                let find = || (self.daemon)();
                let answer = batch::answer(&self.local, find, calls, &self.look, end);
                if let Some(snapshots) = &self.snapshots {
                    snapshots.before_batch(&self.local.name, calls, &answer, end);
                }
                answer
            }
            HookEvent::After(done) => self.after(done),
            HookEvent::Message { text, session } => self.message(text, session.as_deref()),
        }
    }

    /// A call that the daemon has to decide.
    fn before(&self, call: &ProposedCall, end: Instant) -> HookAnswer {
        match (self.daemon)() {
            Ok(daemon) => {
                let (name, snapshots) = (&self.local.name, self.snapshots.as_ref());
                let offered =
                    snapshots.and_then(|taker| OfferedSnapshot::take(taker, name, call, end));
                let answer = ask::ask(&daemon, call, &self.look, offered.as_ref(), end);
                self.local.spool.send_if_stale();
                let runs_first = offered.is_some_and(OfferedSnapshot::settle);
                if let Some(snapshots) = snapshots.filter(|_| !runs_first) {
                    snapshots.before_run(name, call, &answer, end);
                }
                answer
            }
            Err(why) => HookAnswer::Denied(messages::unreachable(&why)),
        }
    }

    /// The outcome of a call that the daemon decided.
    fn after(&self, done: &CompletedCall) -> HookAnswer {
        let snapshots = self.snapshots.as_ref();
        let after = snapshots.and_then(|taker| Some((taker, taker.after_run(done)?)));
        if let (Ok(daemon), Ok(mut question)) =
            ((self.daemon)(), ask::question(&done.call, &self.look))
        {
            let look = &self.look;
            question.snapshot =
                after.and_then(|(taker, record)| after_member(look, &done.call, taker, &record));
            // A lost report is a gap in the history and changes no decision.
            let _ = daemon.report_outcome(&question, &ask::outcome(done));
        }
        HookAnswer::Noted
    }

    /// A message of a person in a crisis: reports it to the daemon and shows the card, which does
    /// not wait for a daemon that hangs, and what people write who have taken over.
    fn message(&self, text: &str, session: Option<&str>) -> HookAnswer {
        let find = Arc::clone(&self.daemon);
        let options = self.local.card_options();
        let screened = client::screen_message(
            move || find().ok(),
            (text, session),
            &options,
            client::CARD_WAIT,
        );
        let found = screened.for_user();
        let texts = found.texts(0);
        HookAnswer::Card((!texts.is_empty()).then(|| texts.join("\n\n")))
    }
}

/// The result of the work, or a denial in time if the work hangs or panics.
fn in_time<T: Send + 'static>(
    patience: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, HookAnswer> {
    let (sender, result) = channel();
    let worker = thread::Builder::new().spawn(move || {
        let _ = sender.send(work());
    });
    if let Err(error) = worker {
        let why =
            format!("Countersign: no thread could be started ({error}); this call was not run.");
        return Err(HookAnswer::Denied(why));
    }
    result.recv_timeout(patience + LAST_MOMENT).map_err(|error| match error {
        RecvTimeoutError::Timeout => input::too_late(),
        RecvTimeoutError::Disconnected => {
            HookAnswer::Denied("Countersign: the hook crashed, so this call was not run.".into())
        }
    })
}

/// Prints the reply and returns the exit code. If it cannot be printed, nothing may run.
pub fn print_reply(agent: &HookAgent, reply: &HookReply) -> u8 {
    let mut out = io::stdout().lock();
    if out.write_all(reply.out.as_bytes()).and_then(|()| out.flush()).is_err() {
        let title = agent.title;
        print_error(&format!("Countersign: {title} closed the output, so this call was not run."));
        return EXIT_DENIED;
    }
    if !reply.err.is_empty() {
        print_error(&reply.err);
    }
    reply.code
}

/// Prints a line to standard error.
pub fn print_error(text: &str) {
    // If standard error is closed, there is nowhere left to report to.
    let _ = writeln!(io::stderr(), "{text}");
}
