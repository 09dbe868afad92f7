//! Approved changes of the policy rules that are not in force: people hear of them, and the ledger
//! says why.

use std::collections::BTreeSet;

use countersign_json::Value;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_policy::CompiledPolicy;
use countersign_store::{BY_REQUEST_FACT, RequestQuery, Store as _, StoreError, StoredRequest};
use countersign_workflow::request::{Requester, State};

use super::api_policy::source;
use super::policy_change::{TOOL, proposed_text};
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
                    self.settle_change(stored, person).await?;
                }
            }
            query.before = page.next;
            if query.before.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// Records what became of an approved change. The file of the rules is written before the
    /// entry: after a crash in between, the start brought the rules into force, or they wait for a
    /// confirmation, because they let more pass.
    async fn settle_change(&self, stored: &StoredRequest, person: &str) -> Result<(), StoreError> {
        let rules = self.rules();
        let is_in = |policy: &CompiledPolicy| {
            let with = proposed_text(stored).map(|text| policy.with_file(&source(&text)));
            with.is_some_and(|with| with.is_ok_and(|with| with.hash() == policy.hash()))
        };
        if is_in(&rules.policy) {
            let when =
                "the daemon stopped while it applied them; they are in force since its start";
            self.news.add(format!("The policy rules of {person} are in force: {when}."));
            let list = Value::Array(vec![Value::String(when.into())]);
            return self.record_change(stored, person, ("applied_policy", list)).await;
        }
        let waits = self.requested_policy().is_some_and(|requested| is_in(&requested.policy));
        let why = if waits {
            "the daemon stopped while it applied them; they wait for a confirmation: \
             countersign policy confirm"
        } else {
            "the daemon stopped before it applied them; propose them again"
        };
        self.give_up_change(stored, person, why).await
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
        let why = Value::String(why.to_owned().into());
        self.record_change(stored, person, ("policy_not_applied", why)).await
    }

    async fn record_change(
        &self,
        stored: &StoredRequest,
        person: &str,
        (name, value): (&'static str, Value<'static>),
    ) -> Result<(), StoreError> {
        let mut entry = Entry::new(0, EntryKind::Config, self.rules().hash);
        entry.person = Some(person.to_owned().into());
        let id = Value::String(stored.request.id.to_string().into());
        entry.facts = vec![(name.into(), value), (BY_REQUEST_FACT.into(), id)];
        self.store.append(vec![entry]).await
    }
}
