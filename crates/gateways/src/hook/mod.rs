//! `countersign hook`: what an agent runs before each call. Reads its JSON, answers in its words.
//!
//! A call that only reads passes without the daemon and is written down a
//! moment later; everything else is asked about. Whatever goes wrong, hangs or panics is a no, said
//! before the agent's own patience ends: most agents go on when their hook is silent.

pub mod alone;
mod ask;
pub mod forward;
mod input;
mod several;
mod spool;

use std::io::{self, Read, Write as _};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use countersign_client as client;
use countersign_crisis as crisis;
use countersign_crisis::ScreenOptions;

use crate::agents::{Agent, Answer, Heard, Proposed, Ran, Reply};
use alone::{Alone, understand};
use input::{LONGEST, Unread};

pub use spool::{Spool, drain};

/// How long an agent waits that nobody said anything about: the shortest known patience is 30 s.
pub const USUAL_PATIENCE: Duration = Duration::from_secs(25);
/// What most hosts take for a no, with the reason on standard error.
pub const BLOCKS: u8 = 2;
/// What is left at the end to say no in.
const LAST_WORD: Duration = Duration::from_secs(1);

/// How the hook finds the daemon; only asked when it is needed.
pub type Finds = Arc<dyn Fn() -> Result<client::Agent, String> + Send + Sync>;

/// What a hook has around it.
#[derive(Clone)]
pub struct Hook {
    /// As far as it needs nobody.
    pub alone: Alone,
    /// How long the host waits, at most.
    pub patience: Duration,
    /// The daemon.
    pub daemon: Finds,
}

impl Hook {
    /// Answers one event from its host, in time.
    pub fn answer(self, input: impl Read + Send + 'static) -> Reply {
        let (agent, patience) = (self.alone.agent, self.patience);
        let end = Instant::now() + patience;
        (agent.reply)(&in_time(patience, move || self.heard(input, end)).unwrap_or_else(|no| no))
    }

    fn heard(&self, input: impl Read, end: Instant) -> Answer {
        let mut bytes = Vec::with_capacity(8 << 10);
        let longest = LONGEST as u64;
        match input.take(longest + 1).read_to_end(&mut bytes) {
            Err(error) => {
                let why = format!("the hook's input could not be read: {error}");
                return Unread::Other(why).no();
            }
            Ok(_) if bytes.len() > LONGEST => return Unread::TooLong.no(),
            Ok(_) => {}
        }
        let heard = match understand(self.alone.agent, &bytes) {
            Ok(heard) => heard,
            Err(no) => return no,
        };
        if let Some(answer) = self.alone.answer(&heard) {
            return answer;
        }
        match &heard {
            Heard::Before(call) => self.before(call, end),
            Heard::Batch(calls) => self.batch(calls, end),
            Heard::After(ran) => self.after(ran),
            Heard::Message { text, session } => self.message(text, session.as_deref()),
        }
    }

    /// A call that somebody has to be asked about.
    fn before(&self, call: &Proposed, end: Instant) -> Answer {
        match (self.daemon)() {
            Ok(daemon) => {
                let answer = ask::ask(&daemon, call, end);
                self.alone.spool.send_if_stale();
                answer
            }
            Err(why) => Answer::Denied(ask::absent(&why)),
        }
    }

    /// What came of a call that somebody was asked about.
    fn after(&self, ran: &Ran) -> Answer {
        if let (Ok(daemon), Ok(question)) = ((self.daemon)(), ask::question(&ran.call)) {
            // Nothing hangs on it: a lost report is a gap in the story, not in the gate.
            let _ = daemon.came_of(&question, &ask::told(ran));
        }
        Answer::Noted
    }

    /// The message of a person in crisis: help is shown at once, and the gate learns of it.
    fn message(&self, text: &str, session: Option<&str>) -> Answer {
        let own = crisis::screen(text, &ScreenOptions::default()).card.map(|card| card.text);
        // The daemon knows the country; without it the card is still a good one.
        let told = (self.daemon)().ok().and_then(|daemon| daemon.screen(text, session).ok());
        let card = told.as_ref().and_then(|told| told.pointer("/card/text"));
        Answer::Card(card.and_then(|text| text.as_str()).map(ToOwned::to_owned).or(own))
    }
}

/// What the work comes to; a no in time, even if it hangs or panics.
fn in_time<T: Send + 'static>(
    patience: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Answer> {
    let (tell, told) = channel();
    let worker = thread::Builder::new().spawn(move || {
        let _ = tell.send(work());
    });
    if let Err(error) = worker {
        return Err(Answer::Denied(format!("Countersign: no thread could start: {error}.")));
    }
    told.recv_timeout(patience + LAST_WORD).map_err(|error| match error {
        RecvTimeoutError::Timeout => input::late(),
        RecvTimeoutError::Disconnected => {
            Answer::Denied("Countersign: the hook broke, so this call was not run.".into())
        }
    })
}

/// Says it where the host reads, and gives the exit code. If it cannot be said, nothing may run.
pub fn say(agent: &Agent, reply: &Reply) -> u8 {
    let mut out = io::stdout().lock();
    if out.write_all(reply.out.as_bytes()).and_then(|()| out.flush()).is_err() {
        tell(&format!("Countersign: {} does not listen, so this call was not run.", agent.title));
        return BLOCKS;
    }
    if !reply.err.is_empty() {
        tell(&reply.err);
    }
    reply.code
}

/// A word on standard error.
pub fn tell(text: &str) {
    // Nobody is left to tell if standard error is gone.
    let _ = writeln!(io::stderr(), "{text}");
}
