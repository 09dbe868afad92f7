//! The user's own words that the model judge sees, with their provenance.

use countersign_crisis::Concern;
use countersign_judge::{MAX_WORDS, UserWords, WordSource};
use countersign_store::{RequestQuery, Store as _, StoreError};
use countersign_types::time::Clock as _;

use super::state::Gate;

impl Gate {
    /// Remembers what the user of a session wrote, as long as a judge may be asked. Nothing is
    /// remembered of a person who may be in crisis.
    pub fn note_user_words(&self, agent: &str, session: &str, text: &str, concern: Concern) {
        if concern != Concern::None || self.crises.holds(agent, Some(session)) {
            self.session_words.forget(agent, session);
        } else if self.judge.current().is_some() {
            self.session_words.add(agent, session, text, self.clock.now().at);
        }
    }

    /// What people wrote to this daemon about other calls of the session, then what the agent's
    /// hook passed on.
    pub(super) async fn user_words(
        &self,
        agent: &str,
        session: &str,
    ) -> Result<Vec<UserWords>, StoreError> {
        if session.is_empty() {
            return Ok(Vec::new());
        }
        let query = RequestQuery {
            agent: Some(agent.to_owned()),
            session: Some(session.to_owned()),
            limit: 20,
            ..RequestQuery::default()
        };
        let found = self.store.find(query).await?;
        let votes = found.requests.iter().filter(|one| !one.request.crisis);
        let votes = votes.flat_map(|one| &one.request.votes);
        let words = votes.filter(|vote| !vote.reason.is_empty()).filter_map(|vote| {
            UserWords::new(WordSource::Person(vote.person.clone()), &vote.reason)
        });
        let passed_on = self.session_words.of_session(agent, session, self.clock.now().at);
        let most = if passed_on.is_empty() { MAX_WORDS } else { MAX_WORDS / 2 };
        Ok(words.take(most).chain(passed_on).take(MAX_WORDS).collect())
    }
}
