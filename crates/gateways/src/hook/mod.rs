//! `countersign hook`: what an agent runs before each call. Reads its JSON, answers in its words.
//!
//! A call that only reads passes without the daemon and is written down a
//! moment later; everything else is asked about. Whatever goes wrong, hangs or panics is a no, said
//! before the agent's own patience ends: most agents go on when their hook is silent.

mod ask;
mod several;
mod spool;

use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use countersign_client as client;
use countersign_core::assess::assess;
use countersign_core::call::Call;
use countersign_core::context::Environment;
use countersign_core::crisis::{self, ScreenOptions};
use countersign_core::json;
use countersign_core::route::passes_everywhere;
use countersign_core::verdict::Policy;

use crate::agents::{Agent, Answer, Heard, Proposed, Ran, Reply};

pub use spool::{Spool, drain};

/// The longest thing that a host may say.
const LONGEST: u64 = 16 << 20;
/// How long an agent waits that nobody said anything about: the shortest known patience is 30 s.
pub const USUAL_PATIENCE: Duration = Duration::from_secs(25);
/// What is left at the end to say no in.
const LAST_WORD: Duration = Duration::from_secs(1);

/// How the hook finds the daemon; only asked when it is needed.
pub type Finds = Arc<dyn Fn() -> Result<client::Agent, String> + Send + Sync>;

/// What a hook has around it.
#[derive(Clone)]
pub struct Hook {
    /// Whose hook it is.
    pub agent: &'static Agent,
    /// The name that people see.
    pub name: String,
    /// How long the host waits, at most.
    pub patience: Duration,
    /// The daemon.
    pub daemon: Finds,
    /// Where calls are written down that passed without it.
    pub spool: Option<Spool>,
}

impl Hook {
    /// Answers one event from its host, in time.
    pub fn answer(self, input: impl Read + Send + 'static) -> Reply {
        let (agent, patience) = (self.agent, self.patience);
        let end = Instant::now() + patience;
        let (tell, told) = channel();
        // The host is answered even if this thread hangs or panics.
        let worker = thread::Builder::new().spawn(move || {
            let _ = tell.send(self.heard(input, end));
        });
        let answer = match worker {
            Err(error) => Answer::Denied(format!("Countersign: no thread could start: {error}.")),
            Ok(_) => match told.recv_timeout(patience + LAST_WORD) {
                Ok(answer) => answer,
                Err(RecvTimeoutError::Timeout) => Answer::Denied(
                    "Countersign: no answer came in time, so this call was not run.".to_owned(),
                ),
                Err(RecvTimeoutError::Disconnected) => {
                    Answer::Denied("Countersign: the hook broke, so this call was not run.".into())
                }
            },
        };
        (agent.reply)(&answer)
    }

    fn heard(&self, input: impl Read, end: Instant) -> Answer {
        let mut bytes = Vec::with_capacity(8 << 10);
        let no = |why: String| Answer::Denied(format!("Countersign: {why}; the call was not run."));
        match input.take(LONGEST + 1).read_to_end(&mut bytes) {
            Err(error) => return no(format!("the hook's input could not be read: {error}")),
            Ok(_) if bytes.len() as u64 > LONGEST => {
                return no("the hook's input is too long".to_owned());
            }
            Ok(_) => {}
        }
        let value = match json::parse_bytes(&bytes) {
            Ok(value) => value,
            Err(error) => return no(format!("the hook's input is no JSON: {error}")),
        };
        match (self.agent.read)(&value) {
            Err(error) => no(format!("the hook's input was not understood: {error}")),
            Ok(Heard::Before(call)) => self.before(&call, end),
            Ok(Heard::Batch(calls)) => self.batch(&calls, end),
            Ok(Heard::After(ran)) => self.after(&ran),
            Ok(Heard::Message { text, session }) => self.message(&text, session.as_deref()),
        }
    }

    fn before(&self, call: &Proposed, end: Instant) -> Answer {
        if is_harmless(call) && self.is_written_down(call) {
            return Answer::Pass;
        }
        match (self.daemon)() {
            Ok(daemon) => {
                let answer = ask::ask(&daemon, call, end);
                self.send_what_waits();
                answer
            }
            Err(why) => Answer::Denied(ask::absent(&why)),
        }
    }

    /// Whether the call is in the spool now, from where it gets into the ledger.
    fn is_written_down(&self, call: &Proposed) -> bool {
        self.spool.as_ref().is_some_and(|spool| spool.keep(&self.name, call).is_ok())
    }

    fn send_what_waits(&self) {
        if let Some(spool) = &self.spool {
            spool.send_if_stale();
        }
    }

    /// What came of a call: told to the daemon, if somebody was asked about it.
    fn after(&self, ran: &Ran) -> Answer {
        if !is_harmless(&ran.call)
            && let (Ok(daemon), Ok(question)) = ((self.daemon)(), ask::question(&ran.call))
        {
            // Nothing hangs on it: a lost report is a gap in the story, not in the gate.
            let _ = daemon.came_of(&question, &ask::told(ran));
        }
        Answer::Noted
    }

    /// A person's message: help is shown at once, and the gate learns of it.
    fn message(&self, text: &str, session: Option<&str>) -> Answer {
        let seen = crisis::screen(text, &ScreenOptions::default());
        if !seen.crisis {
            return Answer::Card(None);
        }
        let own = seen.card.map(|card| card.text);
        // The daemon knows the country; without it the card is still a good one.
        let told = (self.daemon)().ok().and_then(|daemon| daemon.screen(text, session).ok());
        let card = told.as_ref().and_then(|told| told.pointer("/card/text"));
        Answer::Card(card.and_then(|text| text.as_str()).map(ToOwned::to_owned).or(own))
    }
}

/// Whether a call may pass without the daemon: judged as on a production machine, so that no
/// setting of the daemon could judge it harder.
fn is_harmless(proposed: &Proposed) -> bool {
    let Ok(text) = serde_json::to_string(&proposed.tool) else { return false };
    let text = format!("{{\"tool\":{text},\"arguments\":{}}}", proposed.arguments);
    let Ok(value) = json::parse(&text) else { return false };
    let Ok(mut call) = Call::from_json(&value) else { return false };
    call.context.cwd = proposed.cwd.as_deref();
    call.context.environment = Environment::Production;
    passes_everywhere(&assess(&call, &Policy::default()))
}
