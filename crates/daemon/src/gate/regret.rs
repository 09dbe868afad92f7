//! A call that a person regrets: what was learned of its form ends.

use countersign_store::{CallFeedback, Store as _, StoreError, WriteContext};
use countersign_types::id::Id;
use countersign_workflow::learning::CommandForm;
use countersign_workflow::request::Decider;

use super::grant_shapes::shown_command;
use super::learning::{LEARNED, learned_form};
use super::state::Gate;

impl Gate {
    /// Stores what a person says about a call that ran. A regretted call revokes the learned grants
    /// of its form, and the one that let it run; returns these.
    pub async fn give_feedback(&self, said: CallFeedback) -> Result<Vec<Id>, StoreError> {
        self.store.give_feedback(said.clone(), self.learning_note()).await?;
        if !said.regretted {
            return Ok(Vec::new());
        }
        let Some(stored) = self.store.request(said.request).await? else { return Ok(Vec::new()) };
        let used = match stored.request.decision.as_ref().map(|decision| &decision.by) {
            Some(Decider::Grant(id)) => Some(*id),
            _ => None,
        };
        let agent = stored.request.requester.name();
        let form = shown_command(&stored)
            .and_then(|(call, repository)| CommandForm::new(agent, repository.as_deref(), &call));
        let mut ended = Vec::new();
        for grant in self.store.grants(false).await? {
            let is_same = form.is_some() && learned_form(&grant) == form;
            if !(is_same || grant.made_by == LEARNED && used == Some(grant.id)) {
                continue;
            }
            let facts = serde_json::json!({ "regretted": said.request }).to_string();
            let note = WriteContext { facts: Some(facts), ..self.learning_note() };
            self.store.revoke_grant(grant.id, said.person.clone(), note).await?;
            self.grants.drop(grant.id);
            self.news.add(format!(
                "{} regretted a call, which ended what {agent} could do without a question: {}.",
                said.person,
                grant.words()
            ));
            ended.push(grant.id);
        }
        Ok(ended)
    }
}
