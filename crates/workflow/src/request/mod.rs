//! A request: a call that waits for a person. One state machine, driven by events and given time.
//!
//! Nothing here reads a clock or keeps a secret: the store runs `Request::apply` inside its
//! transaction, and whatever that answers is what happened.

mod event;
mod ladder;

#[cfg(test)]
mod tests;

use serde::Serialize;

use countersign_json::canonical::CallDigest;
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;

pub use event::{Change, Choice, EditedCall, Event, Refusal, Vote};
pub use ladder::{Plan, Profile, Rung, Times};

/// Where a request stands. It leaves `Pending` once and never moves again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// A person is asked.
    Pending,
    /// Enough people said yes in time.
    Approved,
    /// Somebody said no.
    Denied,
    /// Nobody answered in time: a no.
    Expired,
    /// The agent took it back.
    Cancelled,
}

impl State {
    /// All of them.
    pub const ALL: [State; 5] =
        [State::Pending, State::Approved, State::Denied, State::Expired, State::Cancelled];

    /// The word on every surface.
    pub const fn label(self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::Approved => "approved",
            State::Denied => "denied",
            State::Expired => "expired",
            State::Cancelled => "cancelled",
        }
    }

    /// Reads the word; anything else is no state.
    pub fn parse(text: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.label() == text)
    }

    /// Whether it is over.
    pub const fn has_ended(self) -> bool {
        !matches!(self, State::Pending)
    }
}

/// Who asks. Whoever asks can never answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Requester {
    /// An agent, by the name under which it authenticated.
    Agent(String),
    /// A person who asks others, by name.
    Person(String),
    /// Nobody: a drill, so that people stay awake. Nothing can come of it.
    Drill {
        /// Which one.
        kind: String,
        /// The agent whose name stands on the card until it is over.
        shown: String,
    },
}

/// Who asks in a drill, in the ledger and wherever names are held against each other.
pub const DRILL: &str = "drill";

impl Requester {
    /// The name alone. That of a drill is no agent's, whatever its card shows.
    pub fn name(&self) -> &str {
        match self {
            Requester::Agent(name) | Requester::Person(name) => name,
            Requester::Drill { .. } => DRILL,
        }
    }

    /// The name that stands on the card.
    pub fn shown(&self) -> &str {
        match self {
            Requester::Agent(name) | Requester::Person(name) => name,
            Requester::Drill { shown, .. } => shown,
        }
    }

    /// Whether this agent asks.
    pub fn is_agent(&self, agent: &str) -> bool {
        matches!(self, Requester::Agent(name) if name == agent)
    }

    /// Whether nobody asks: it is a drill.
    pub const fn is_drill(&self) -> bool {
        matches!(self, Requester::Drill { .. })
    }
}

/// How many people it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Quorum {
    /// So many different people must say yes; nought counts as one.
    pub approve: u8,
    /// So many different people saying no end it; nought counts as one.
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
    /// The agent that had asked.
    Requester,
    /// The judgement: nobody needed to be asked, or the gate only watches.
    Policy,
    /// A standing permission of a person.
    Grant(Id),
}

/// How a request ended. Made in this module only, when a request leaves `Pending`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// Which end; never `Pending`.
    pub state: State,
    /// Who.
    pub by: Decider,
    /// Through which channel the last word came.
    pub channel: String,
    /// Why, in the person's words.
    pub reason: String,
    /// When.
    pub at: Timestamp,
    /// What exactly was decided about: the call that was asked for, or the edited one.
    pub digest: CallDigest,
}

/// A call that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its name.
    pub id: Id,
    /// Who asks.
    pub requester: Requester,
    /// The call that was asked for.
    pub digest: CallDigest,
    /// How grave it is.
    pub tier: Tier,
    /// Whether it stands in a crisis context.
    pub crisis: bool,
    /// How many people it takes.
    pub quorum: Quorum,
    /// When it climbs and ends.
    pub plan: Plan,
    /// Where it stands.
    pub state: State,
    /// Who is asked by now.
    pub rung: Rung,
    /// What people said so far.
    pub votes: Vec<Vote>,
    /// How it ended.
    pub decision: Option<Decision>,
}

impl Request {
    /// A fresh request: pending, on the first rung, without votes.
    pub fn new(id: Id, requester: Requester, digest: CallDigest, terms: Terms, plan: Plan) -> Self {
        Request {
            id,
            requester,
            digest,
            tier: terms.tier,
            crisis: terms.crisis,
            quorum: terms.quorum,
            plan,
            state: State::Pending,
            rung: Rung::First,
            votes: Vec::new(),
            decision: None,
        }
    }

    /// A request that nobody needs to answer: it is born approved, by the judgement or a grant.
    #[must_use]
    pub fn settled(mut self, by: Settled, at: Timestamp) -> Self {
        let by = match by {
            Settled::Policy => Decider::Policy,
            Settled::Grant(id) => Decider::Grant(id),
        };
        let (channel, reason) = (String::new(), String::new());
        let state = State::Approved;
        self.state = state;
        self.decision = Some(Decision { state, by, channel, reason, at, digest: self.digest });
        self
    }

    /// Whether an approval needs words: CRITICAL and crisis do.
    pub fn needs_reason(&self) -> bool {
        self.tier == Tier::Critical || self.crisis
    }

    /// The next moment at which time itself changes something; none once it has ended.
    pub fn next_due(&self) -> Option<Timestamp> {
        (!self.state.has_ended()).then(|| self.plan.next_due(self.rung))
    }
}

/// Why nobody needs to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// The judgement lets it pass, or the gate only watches.
    Policy,
    /// A grant covers it.
    Grant(Id),
}

/// What the assessment demands of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// How grave the call is.
    pub tier: Tier,
    /// Whether it stands in a crisis context.
    pub crisis: bool,
    /// How many people it takes.
    pub quorum: Quorum,
}
