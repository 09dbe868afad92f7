//! A request: a call that waits for a person's decision. A state machine driven by events.
//!
//! The module reads no clock and stores no secrets. The store runs `Request::apply` inside its
//! transaction and records the result.

mod answer;
mod error;
mod escalation;
mod event;
mod freeze;
mod parts;
mod parts_answer;
mod proposed_edit;
mod scope;
mod stop_cause;

#[cfg(test)]
mod proposed_edit_tests;
#[cfg(test)]
mod tests;

use serde::Serialize;

use countersign_json::canonical::CallDigest;
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;

pub use error::TransitionError;
pub use escalation::{EscalationLevel, EscalationTimes, Profile, Schedule};
pub use event::{Choice, Event, Transition, Vote};
pub use freeze::{FREEZE, TAKE_OVER};
pub use parts_answer::PartsAnswer;
pub use proposed_edit::{EditedCall, ProposedEdit};
pub use scope::ApprovalScope;
pub use stop_cause::StopCause;

/// The state of a request. It leaves `Pending` once and never changes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Waiting for a decision.
    Pending,
    /// Enough people approved in time.
    Approved,
    /// Enough people denied it.
    Denied,
    /// Not answered in time; the call must not run.
    Expired,
    /// Cancelled by the agent.
    Cancelled,
}

impl State {
    /// All states.
    pub const ALL: [State; 5] =
        [State::Pending, State::Approved, State::Denied, State::Expired, State::Cancelled];

    /// The label used in every interface.
    pub const fn label(self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::Approved => "approved",
            State::Denied => "denied",
            State::Expired => "expired",
            State::Cancelled => "cancelled",
        }
    }

    /// Parses a label.
    pub fn parse(text: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.label() == text)
    }

    /// Whether the request has ended.
    pub const fn has_ended(self) -> bool {
        !matches!(self, State::Pending)
    }
}

/// Who requests a call. An agent can never answer its own request, and a person only where one
/// person is enough.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Requester {
    /// An agent, by the name under which it authenticated.
    Agent(String),
    /// A person, by name.
    Person(String),
    /// A drill: a made-up request that keeps people attentive. Its call never runs.
    Drill {
        /// Which drill.
        kind: String,
        /// The name of an agent, displayed until the drill ends.
        shown: String,
    },
}

/// The requester of a drill in the ledger and in comparisons of names.
pub const DRILL: &str = "drill";

impl Requester {
    /// The name. A drill has no agent's name, whatever is displayed for it.
    pub fn name(&self) -> &str {
        match self {
            Requester::Agent(name) | Requester::Person(name) => name,
            Requester::Drill { .. } => DRILL,
        }
    }

    /// The name to display.
    pub fn display_name(&self) -> &str {
        match self {
            Requester::Agent(name) | Requester::Person(name) => name,
            Requester::Drill { shown, .. } => shown,
        }
    }

    /// Whether this agent is the requester.
    pub fn is_agent(&self, agent: &str) -> bool {
        matches!(self, Requester::Agent(name) if name == agent)
    }

    /// Whether the request is a drill.
    pub const fn is_drill(&self) -> bool {
        matches!(self, Requester::Drill { .. })
    }
}

/// How many people must decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Quorum {
    /// How many different people must approve; zero counts as one.
    pub approve: u8,
    /// How many different people must deny; zero counts as one.
    pub deny: u8,
}

impl Default for Quorum {
    fn default() -> Self {
        Quorum { approve: 1, deny: 1 }
    }
}

/// Who or what ended a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    /// People, by name, in the order in which they answered.
    People(Vec<String>),
    /// Its deadline.
    Deadline,
    /// The agent that requested the call.
    Requester,
    /// The assessment: the call needed no approval, or the gate only observes.
    Policy,
    /// A standing permission of a person.
    Grant(Id),
    /// The model judge, by the name of its model.
    Judge(String),
}

/// How a request ended. Created only in this module, when a request leaves `Pending`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The final state; never `Pending`.
    pub state: State,
    /// Who decided.
    pub by: Decider,
    /// The channel of the last answer.
    pub channel: String,
    /// The reason that the person gave.
    pub reason: String,
    /// When.
    pub at: Timestamp,
    /// The call that was decided: the requested one, or the edited one.
    pub digest: CallDigest,
}

/// A call that waits for a person's decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its id.
    pub id: Id,
    /// Who requests the call.
    pub requester: Requester,
    /// The digests of the requested call.
    pub digest: CallDigest,
    /// The tier of the call.
    pub tier: Tier,
    /// Whether it happens in a crisis.
    pub crisis: bool,
    /// How many people must decide.
    pub quorum: Quorum,
    /// Whether the person who requests it may answer it too.
    pub own_approval: bool,
    /// When it escalates and ends.
    pub schedule: Schedule,
    /// Its state.
    pub state: State,
    /// The escalation level: who has been asked.
    pub level: EscalationLevel,
    /// The answers so far.
    pub votes: Vec<Vote>,
    /// The edit of a person that further people must approve; it takes the place of the requested
    /// call.
    pub proposal: Option<ProposedEdit>,
    /// How it ended.
    pub decision: Option<Decision>,
}

impl Request {
    /// A new request: pending, at the first level, without votes.
    pub fn new(
        id: Id,
        requester: Requester,
        digest: CallDigest,
        terms: Terms,
        schedule: Schedule,
    ) -> Self {
        Request {
            id,
            requester,
            digest,
            tier: terms.tier,
            crisis: terms.crisis,
            quorum: terms.quorum,
            own_approval: terms.own_approval && terms.quorum.approve <= 1,
            schedule,
            state: State::Pending,
            level: EscalationLevel::First,
            votes: Vec::new(),
            proposal: None,
            decision: None,
        }
    }

    /// A request that needs no answer: it starts approved, by the assessment or a grant, or decided
    /// by the model judge.
    #[must_use]
    pub fn decided_automatically(mut self, by: AutomaticDecision, at: Timestamp) -> Self {
        let (by, state, channel) = match by {
            AutomaticDecision::Policy => (Decider::Policy, State::Approved, ""),
            AutomaticDecision::Grant(id) => (Decider::Grant(id), State::Approved, ""),
            AutomaticDecision::Judge { model, approves } => {
                let state = if approves { State::Approved } else { State::Denied };
                (Decider::Judge(model), state, JUDGE)
            }
        };
        let (channel, reason) = (channel.to_owned(), String::new());
        self.state = state;
        self.decision = Some(Decision { state, by, channel, reason, at, digest: self.digest });
        self
    }

    /// Whether an approval needs a reason: for CRITICAL and in a crisis.
    pub fn needs_reason(&self) -> bool {
        self.current_tier() == Tier::Critical || self.crisis
    }

    /// For how long the people approved: the narrowest scope of their approvals.
    pub fn approval_scope(&self) -> ApprovalScope {
        let by_people = self.decision.as_ref().is_some_and(|decision| {
            decision.state == State::Approved && matches!(decision.by, Decider::People(_))
        });
        let approvals = self.votes.iter().filter(|vote| vote.choice == Choice::Approve);
        let narrowest = approvals.map(|vote| vote.scope).min();
        narrowest.filter(|_| by_people).unwrap_or_default()
    }

    /// When the passing of time next changes the request; `None` once it has ended.
    pub fn next_due(&self) -> Option<Timestamp> {
        (!self.state.has_ended()).then(|| {
            if self.crisis {
                self.schedule.crisis_next_due(self.level)
            } else {
                self.schedule.next_due(self.level)
            }
        })
    }

    /// The level that it should have reached by now.
    fn due_level(&self, now: Timestamp) -> EscalationLevel {
        if self.crisis { self.schedule.crisis_level_at(now) } else { self.schedule.level_at(now) }
    }
}

/// Whether an approval takes one of the call's two words: for HIGH. Above that, and in a crisis,
/// it takes a reason.
pub fn needs_word(tier: Tier, crisis: bool) -> bool {
    tier == Tier::High && !crisis
}

/// The channel of a decision of the model judge.
pub const JUDGE: &str = "judge";

/// Why a request needs no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AutomaticDecision {
    /// The assessment lets it pass, or the gate only observes.
    Policy,
    /// A grant covers it.
    Grant(Id),
    /// The model judge decided it.
    Judge {
        /// The model.
        model: String,
        /// Whether it may run.
        approves: bool,
    },
}

/// What the assessment requires of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// The tier of the call.
    pub tier: Tier,
    /// Whether it happens in a crisis.
    pub crisis: bool,
    /// How many people must decide.
    pub quorum: Quorum,
    /// Whether the person who requests it may answer it too, where one person is enough.
    pub own_approval: bool,
}
