//! Applies what policy rules demand of the answers to a request.

use std::sync::atomic::Ordering;

use countersign_risk::assess::Assessment;
use countersign_store::{Store as _, StoreError};
use countersign_types::id::Id;
use countersign_workflow::request::{Event, Quorum};

use super::persist::quorum;
use super::policy_demands::PolicyDemands;
use super::state::Gate;

impl Gate {
    /// Whether requests may be announced to channels that rules name.
    pub fn has_routes(&self) -> bool {
        let in_project = self.project_routes.load(Ordering::Relaxed);
        in_project || self.rules().policy.routes().next().is_some()
    }

    /// This gate, after it noted whether rules name channels for the call.
    pub(super) fn noting_routes(&self, seen: &Assessment) -> &Gate {
        if !PolicyDemands::of(seen).route.is_empty() {
            self.project_routes.store(true, Ordering::Relaxed);
        }
        self
    }

    /// How many people must decide about an assessed call.
    pub fn quorum_of(&self, seen: &Assessment, crisis: bool) -> Quorum {
        quorum(&self.rules(), seen, crisis)
    }

    /// An answer with the assurance that the request demands.
    pub(super) async fn with_demands(&self, id: Id, mut event: Event) -> Result<Event, StoreError> {
        let needs = match &mut event {
            Event::Answer { standing: (_, needs), .. } => needs,
            Event::AnswerParts(given) => &mut given.standing.1,
            Event::Cancel { .. } | Event::Stop { .. } | Event::Time => return Ok(event),
        };
        if let Some(stored) = self.store.request(id).await? {
            *needs = needs.at_least(PolicyDemands::of_request(&stored).assurance);
        }
        Ok(event)
    }
}
