//! Approved changes of the policy rules that are not in force: people hear of them, and the ledger
//! says why.

use std::collections::BTreeSet;

use countersign_json::Value;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::{BY_REQUEST_FACT, RequestQuery, Store as _, StoreError, StoredRequest};
use countersign_workflow::request::{Requester, State};

use super::policy_change::TOOL;
use super::state::Gate;

/// How many pages of requests are searched. A change is applied right after its approval, so one
/// that a crash prevented is among the newest.
const MAX_PAGES: usize = 4;
const PAGE: u32 = 500;

impl Gate {
    /// Reports changes that were approved just before the daemon stopped. They are not applied
    /// later: the row of a request can be edited while the daemon does not run, so people propose
    /// the rules again. `settled`: the requests whose change was applied or given up.
    pub async fn give_up_unapplied_changes(
        &self,
        settled: &BTreeSet<String>,
    ) -> Result<(), StoreError> {
        if self.integrity.fault().is_some() {
            return Ok(());
        }
        let mut query = RequestQuery {
            state: Some(State::Approved),
            text: Some(TOOL.to_owned()),
            limit: PAGE,
            ..RequestQuery::default()
        };
        for _ in 0..MAX_PAGES {
            let page = self.store.find(query.clone()).await?;
            for stored in page.requests.iter().filter(|stored| stored.tool == TOOL) {
                let Requester::Person(person) = &stored.request.requester else { continue };
                if !settled.contains(&stored.request.id.to_string()) {
                    let why = "the daemon stopped before it applied them; propose them again";
                    self.give_up_change(stored, person, why).await?;
                }
            }
            query.before = page.next;
            if query.before.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// Records why approved rules are not in force, and tells people.
    pub(super) async fn give_up_change(
        &self,
        stored: &StoredRequest,
        person: &str,
        why: &str,
    ) -> Result<(), StoreError> {
        tracing::error!(why, "an approved change of the policy rules was not applied");
        self.news.add(format!("The approved policy rules of {person} are not in force: {why}."));
        let mut entry = Entry::new(0, EntryKind::Config, self.rules().hash);
        entry.person = Some(person.to_owned().into());
        let text = |text: String| Value::String(text.into());
        entry.facts.push(("policy_not_applied".into(), text(why.to_owned())));
        entry.facts.push((BY_REQUEST_FACT.into(), text(stored.request.id.to_string())));
        self.store.append(vec![entry]).await
    }
}
