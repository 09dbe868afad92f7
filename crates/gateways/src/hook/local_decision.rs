//! Decisions without the daemon, in a small program.
//!
//! Most calls only read. A hook runs before each of them, so a small program passes them without
//! asking; it hands every other call to the program that can ask.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use countersign_crisis::{self as crisis, ScreenOptions};
use countersign_json as json;
use countersign_risk::assess::{assess, assess_basic};
use countersign_risk::call::Call;
use countersign_risk::context::Environment;
use countersign_risk::route::passes_everywhere;
use countersign_risk::verdict::Policy;

use super::input::{self, InputError};
use super::messages;
use super::session_place::SessionPlace;
use super::spool::Spool;
use super::stages::stages;
use crate::agents::{HookAgent, HookAnswer, HookEvent, HookReply, ProposedCall};
use crate::daemon_markers::card_options;
use crate::machine_look::{AssessCall, LookedAt, assess_passing, place};

/// A longer input is assessed by the program that can stop an assessment in time.
const MAX_LOCAL_INPUT: usize = 64 << 10;

/// The part of a hook that needs no daemon.
#[derive(Clone)]
pub struct LocalGate {
    /// The agent.
    pub agent: &'static HookAgent,
    /// The name that people see.
    pub name: String,
    /// The queue of passed calls on their way to the ledger.
    pub spool: Spool,
    /// Where the session works.
    pub place: SessionPlace,
    /// What this program can assess by itself.
    pub engine: LocalEngine,
}

/// The parts of the assessment that a program is linked with.
#[derive(Clone, Copy)]
pub struct LocalEngine {
    /// Assesses a call; none if the program has no reader for a text in it.
    pub assess: AssessCall,
    /// The card that answers a message, if it needs one; none if the program screens no messages.
    pub card: Option<fn(&str) -> Option<String>>,
}

impl LocalEngine {
    /// All readers.
    pub const FULL: LocalEngine = LocalEngine {
        assess: |call, policy| Some(assess(call, policy)),
        card: Some(|text| crisis::screen(text, &ScreenOptions::default()).card.map(|c| c.text)),
    };

    /// POSIX shells and the arguments of tools: the calls that only read, as far as a small
    /// program can tell.
    pub const BASIC: LocalEngine = LocalEngine { assess: assess_basic, card: None };
}

/// The result of a local decision.
pub enum LocalOutcome {
    /// The answer.
    Answered(HookReply),
    /// The daemon has to decide; the agent's input, unchanged.
    NeedsDaemon(Vec<u8>),
}

impl LocalGate {
    /// Answers one event in time, or returns its input for the program that can ask.
    pub fn decide(&self, from: impl AsFd, patience: Duration) -> LocalOutcome {
        let reply = |answer| LocalOutcome::Answered((self.agent.hook.reply)(&answer));
        let bytes = match input::read(from, Instant::now() + patience) {
            Ok(bytes) => bytes,
            Err(error) => return reply(error.denial()),
        };
        // A thread that enforces the time limit would cost more than the answer to a short input.
        if bytes.len() > MAX_LOCAL_INPUT {
            return LocalOutcome::NeedsDaemon(bytes);
        }
        let answer = match self.parse_event(&bytes) {
            Ok(event) => self.answer(&event),
            Err(denial) => return reply(denial),
        };
        answer.map_or(LocalOutcome::NeedsDaemon(bytes), reply)
    }

    /// The answer, if it needs no daemon.
    pub fn answer(&self, event: &HookEvent) -> Option<HookAnswer> {
        match event {
            HookEvent::Before(call) => self.passes(call).then_some(HookAnswer::Pass),
            HookEvent::Batch(calls) => {
                // All are assessed before one is recorded: the daemon's path would record it again.
                let harmless = calls.iter().all(|call| self.is_harmless(call));
                let stages = harmless.then(|| stages(self.engine.assess, calls)).flatten()?;
                let answers = vec![HookAnswer::Pass; calls.len()];
                let recorded = calls.iter().all(|call| self.is_recorded(call));
                recorded.then_some(HookAnswer::Planned { stages, answers })
            }
            HookEvent::After(done) => self.is_harmless(&done.call).then_some(HookAnswer::Noted),
            HookEvent::Message { text, .. } => {
                let card = self.engine.card.map(|card| card(text));
                matches!(card, Some(None)).then_some(HookAnswer::Card(None))
            }
        }
    }

    /// The reply if the program that asks cannot be started: a denial, or help for a message that
    /// nobody could screen.
    pub fn without_daemon(&self, bytes: &[u8], why: &str) -> HookReply {
        let answer = match self.parse_event(bytes) {
            Ok(HookEvent::Message { .. }) => {
                let card = crisis::check_in_card(&self.card_options());
                HookAnswer::Card(Some(card.text))
            }
            Ok(HookEvent::After(_)) => HookAnswer::Noted,
            _ => HookAnswer::Denied(messages::unreachable(why)),
        };
        (self.agent.hook.reply)(&answer)
    }

    /// How a card is worded that does not come from the daemon.
    pub fn card_options(&self) -> ScreenOptions<'static> {
        card_options(self.spool.folder())
    }

    /// Whether a call may run without a question.
    pub fn passes(&self, call: &ProposedCall) -> bool {
        self.is_harmless(call) && self.is_recorded(call)
    }

    fn is_harmless(&self, call: &ProposedCall) -> bool {
        is_harmless(self.engine.assess, call)
    }

    /// Whether the call is now in the spool, from where it gets into the ledger.
    fn is_recorded(&self, call: &ProposedCall) -> bool {
        self.spool.add(&self.name, call).is_ok()
    }

    /// The event that the agent sent, or the denial for an invalid one.
    pub fn parse_event(&self, bytes: &[u8]) -> Result<HookEvent, HookAnswer> {
        let value = json::parse_bytes(bytes).map_err(|error| {
            InputError::Invalid(format!("the hook's input is not valid JSON: {error}")).denial()
        })?;
        let event = (self.agent.hook.parse)(&value).map_err(|error| {
            let why = format!("the hook's input is not a supported event: {error}");
            InputError::Invalid(why).denial()
        });
        event.map(|mut event| {
            self.place.complete(self.agent, &mut event);
            event
        })
    }
}

/// Whether a call may pass without the daemon: assessed as on a production machine, so that no
/// setting of the daemon could assess it more strictly.
fn is_harmless(assess: AssessCall, proposed: &ProposedCall) -> bool {
    let Ok(text) = serde_json::to_string(&proposed.tool) else { return false };
    let text = format!("{{\"tool\":{text},\"arguments\":{}}}", proposed.arguments);
    let Ok(value) = json::parse(&text) else { return false };
    let Ok(mut call) = Call::from_json(&value) else { return false };
    call.context.cwd = proposed.cwd.as_deref();
    call.context.project = proposed.project.as_deref();
    call.context.host = proposed.host;
    call.context.environment = Environment::Production;
    let at = LookedAt {
        tool: &proposed.tool,
        arguments: &proposed.arguments,
        cwd: proposed.cwd.as_deref(),
        project: proposed.project.as_deref(),
        host: proposed.host,
    };
    // A file that is read may be a symlink to a secret.
    assess_passing(assess, &call, &Policy::default(), place(&at).as_ref(), passes_everywhere)
}
