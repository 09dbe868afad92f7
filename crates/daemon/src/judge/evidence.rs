//! What the judge knows from people: its agreement with them, what they denied, and examples.

use std::collections::VecDeque;

use countersign_json::canonical::Digest;
use countersign_judge::{Comparison, DecidedExample, ModelVerdict, NeverReleased, PersonChoice};
use countersign_store::StoredRequest;
use countersign_types::id::Id;
use countersign_workflow::request::{Decider, FREEZE, State};

use super::bounded_set::BoundedMap;
use super::opinion::JudgeQuestion;

/// How many opinions wait for a person's decision, and how many denials are remembered.
const MAX_REMEMBERED: usize = 10_000;

/// An agent's call, or all calls of a tool in one of its sessions.
type DenialKey = (String, String, String);

/// What the judge knows from people.
#[derive(Debug)]
pub struct PeopleEvidence {
    /// Its opinions and people's decisions.
    pub comparison: Comparison,
    /// Examples for the prompt.
    pub examples: VecDeque<DecidedExample>,
    waiting: BoundedMap<Id, ModelVerdict>,
    denied: BoundedMap<DenialKey, ()>,
}

impl Default for PeopleEvidence {
    fn default() -> PeopleEvidence {
        PeopleEvidence {
            comparison: Comparison::default(),
            examples: VecDeque::new(),
            waiting: BoundedMap::new(MAX_REMEMBERED),
            denied: BoundedMap::new(MAX_REMEMBERED),
        }
    }
}

/// What a person decided about a request as it was asked; none if no person did, if the call was
/// edited, or if a freeze denied everything.
pub fn choice_of(stored: &StoredRequest) -> Option<PersonChoice> {
    let decision = stored.request.decision.as_ref()?;
    let by_people = matches!(decision.by, Decider::People(_)) && decision.channel != FREEZE;
    if !by_people || stored.edited.is_some() || stored.request.requester.is_drill() {
        return None;
    }
    match decision.state {
        State::Approved => Some(PersonChoice::Approved),
        State::Denied => Some(PersonChoice::Denied),
        State::Pending | State::Expired | State::Cancelled => None,
    }
}

impl PeopleEvidence {
    /// Notes an opinion on a request that a person decides, or has decided meanwhile.
    pub fn opinion(&mut self, id: Id, verdict: ModelVerdict, decided: Option<PersonChoice>) {
        match decided {
            Some(choice) => self.comparison.add(verdict, choice),
            None => *self.waiting.entry(id, || verdict) = verdict,
        }
    }

    /// Notes the decision of a request.
    pub fn decided(&mut self, stored: &StoredRequest) {
        let Some(choice) = choice_of(stored) else { return };
        if let Some(verdict) = self.waiting.remove(&stored.request.id) {
            self.comparison.add(verdict, choice);
        }
        self.learn(stored, choice);
    }

    /// Learns from a decision: an example, and what was denied. Nothing of a crisis is kept.
    pub fn learn(&mut self, stored: &StoredRequest, choice: PersonChoice) {
        let request = &stored.request;
        if request.crisis {
            return;
        }
        if choice == PersonChoice::Denied {
            let agent = request.requester.name();
            self.denied.entry(call_key(agent, &request.digest.canonical), || ());
            self.denied.entry(tool_key(agent, &stored.session, &stored.tool), || ());
        }
        DecidedExample::new(&stored.tool, &stored.brief, request.tier, choice)
            .remember(&mut self.examples);
    }

    /// The limit from earlier denials: the same call of the agent, or the same tool in the session.
    pub fn limit(&self, question: &JudgeQuestion) -> Option<NeverReleased> {
        let (agent, subject) = (&question.agent, &question.subject);
        let keys =
            [call_key(agent, &subject.digest), tool_key(agent, &question.session, &subject.tool)];
        keys.iter().any(|key| self.denied.get(key).is_some()).then_some(NeverReleased::DeniedBefore)
    }
}

fn call_key(agent: &str, digest: &Digest) -> DenialKey {
    (agent.to_owned(), "call".to_owned(), digest.to_string())
}

fn tool_key(agent: &str, session: &str, tool: &str) -> DenialKey {
    (agent.to_owned(), format!("session {session}"), tool.to_owned())
}
