//! A person takes over a conversation in a crisis: from then on nothing of the agent goes out.

use countersign_store::{CrisisTakeover, Store as _, StoreError, StoredRequest, WriteContext};
use countersign_types::id::Id;
use countersign_types::time::Clock as _;
use countersign_workflow::request::{Decider, Event, StopCause};

use super::crisis_sessions::Takeover;
use super::state::Gate;

impl Gate {
    /// A person takes over. Memory first, so that nothing goes out meanwhile; then every pending
    /// call of the conversation is denied. Returns `false` if the session is not in a crisis.
    pub async fn take_over(
        &self,
        agent: &str,
        session: &str,
        person: &str,
        note: WriteContext,
    ) -> Result<bool, StoreError> {
        let at = self.clock.now().at;
        let takeover = Takeover { person: person.to_owned(), at };
        if !self.crises.take_over(agent, session, takeover) {
            return Ok(false);
        }
        // Whoever took over earlier is there again.
        self.crises.answered(agent, session, at);
        tracing::warn!(person, agent, "a person took over a conversation in a crisis");
        let taken = CrisisTakeover {
            agent: agent.to_owned(),
            session: session.to_owned(),
            person: person.to_owned(),
            at,
        };
        // A crisis that the store does not know yet is still being written; it is taken over in
        // memory, and its texts wait for a person after a restart.
        self.store.take_over(taken, note).await?;
        for stored in self.store.pending().await? {
            let request = &stored.request;
            let same = session.is_empty() || stored.session.is_empty() || stored.session == session;
            if !(request.crisis && request.requester.is_agent(agent) && same) {
                continue;
            }
            let (person, cause) = (person.to_owned(), StopCause::TakeOver);
            let event = Event::Stop { person, cause };
            match self.apply_event(request.id, event, self.note()).await {
                // It ended by itself meanwhile.
                Ok(_) | Err(StoreError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Fails if a person has taken over the conversation of a request: it may have become pending
    /// at the same moment.
    pub(super) async fn check_takeover(&self, id: Id) -> Result<(), StoreError> {
        if !self.crises.has_takeovers() {
            return Ok(());
        }
        let Some(stored) = self.store.request(id).await? else { return Ok(()) };
        let taken = stored.request.crisis
            && self
                .crises
                .takeover(stored.request.requester.name(), Some(&stored.session))
                .is_some();
        if taken {
            let text = "a person has taken over this conversation, so nothing of the agent is sent";
            return Err(StoreError::Halted(text.to_owned()));
        }
        Ok(())
    }

    /// Notes that a person decided a call in a crisis: no one has to be paged for its session.
    pub(super) fn note_crisis_answer(&self, stored: &StoredRequest) {
        let Some(decision) = &stored.request.decision else { return };
        if stored.request.crisis && matches!(decision.by, Decider::People(_)) {
            let agent = stored.request.requester.name();
            self.crises.answered(agent, &stored.session, decision.at);
        }
    }
}
