//! The active grants in memory: those that people made, and those of the whitelist file.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use countersign_json::Value;
use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::{Backend, Store as _, StoreError, StoredRequest, WriteContext};
use countersign_types::id::Id;
use countersign_types::time::{Moment, Timestamp};
use countersign_workflow::grant::{
    Grant, GrantCost, GrantDetails, GrantIndex, GrantQuery, GrantShape, REPOSITORY_ANSWER_LASTS,
    SESSION_ANSWER_LASTS,
};
use countersign_workflow::request::{ApprovalScope, Choice, State};
use tokio::sync::Mutex;

use crate::config::{Whitelist, WhitelistEntry};

/// The author of the grants in the whitelist file. No person can have this name.
pub const WHITELIST: &str = "whitelist file";

/// The active grants. The store checks again when one is used.
#[derive(Debug, Default)]
pub struct GrantCache {
    given: RwLock<GrantIndex>,
    /// The current grants of the whitelist file, by name. Those removed from the file remain in the
    /// store and are never used.
    listed: RwLock<HashMap<Id, String>>,
    /// Held while the store is read: an older reading never replaces a newer one.
    reading: Mutex<()>,
}

impl GrantCache {
    /// Reads the active grants.
    pub async fn read(&self, store: &Backend) -> Result<(), StoreError> {
        let _reading = self.reading.lock().await;
        let kept = store.grants(false).await?.into_iter().collect();
        *self.given.write().unwrap_or_else(PoisonError::into_inner) = kept;
        Ok(())
    }

    /// The grants that cover a call, each on its own; uncounted ones first, then the oldest. The
    /// approvals for the session and the repository come last; several of them may cover a call
    /// together.
    pub fn covering(&self, asked: &GrantQuery<'_>, now: Moment) -> Vec<Vec<Id>> {
        let given = self.given.read().unwrap_or_else(PoisonError::into_inner);
        let listed = self.listed.read().unwrap_or_else(PoisonError::into_inner);
        let said = |grant: &Grant| grant.made_by != WHITELIST || listed.contains_key(&grant.id);
        given.covering(asked, now, said)
    }

    /// What a call takes from the budget of the first of these grants. The store refuses a grant
    /// with a budget if the cost is not known.
    pub fn cost(&self, grants: &[Id], asked: &GrantQuery<'_>) -> GrantCost {
        let given = self.given.read().unwrap_or_else(PoisonError::into_inner);
        let grant = grants.first().and_then(|id| given.get(*id));
        grant.and_then(|grant| grant.cost(asked).ok()).unwrap_or_default()
    }

    /// Whether approvals for the session and the repository cover all that a call asks about.
    pub fn has_answers(&self, asked: &GrantQuery<'_>, now: Moment) -> bool {
        let given = self.given.read().unwrap_or_else(PoisonError::into_inner);
        given.has_answers(asked, now)
    }

    /// Whether a grant is active, as far as is known in memory.
    pub fn in_force(&self, grant: &Grant, now: Timestamp) -> bool {
        let listed = self.listed.read().unwrap_or_else(PoisonError::into_inner);
        grant.is_active(now) && (grant.made_by != WHITELIST || listed.contains_key(&grant.id))
    }

    /// The name of a grant in decisions, if it has one besides its id.
    pub fn name(&self, id: Id) -> Option<String> {
        let listed = self.listed.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        listed.or_else(|| self.answer_name(id))
    }

    /// The name of an approval for the session or the repository, or of commands of one form.
    fn answer_name(&self, id: Id) -> Option<String> {
        let given = self.given.read().unwrap_or_else(PoisonError::into_inner);
        let found = given.get(id)?;
        let scope = match &found.shape {
            GrantShape::SameQuestion { .. } => "for this session".to_owned(),
            GrantShape::SameProgram { .. } => "for this repository".to_owned(),
            GrantShape::Command(shape) => shape.words(),
            GrantShape::ToolCall(shape) => shape.words(),
            GrantShape::Part(part) if part.is_for_session() => "for this session".to_owned(),
            GrantShape::Part(_) => "this part of a command".to_owned(),
            _ => return None,
        };
        Some(format!("{scope}, by {}", found.made_by))
    }

    /// Adds a grant of a person.
    pub fn add(&self, grant: Grant) {
        self.given.write().unwrap_or_else(PoisonError::into_inner).add(grant);
    }

    /// Follows the decision of a request: an approval for the session or the repository is a grant,
    /// and a denial ends those that it contradicts, except for the keys of `approved` parts. The
    /// store checks each grant when it is used, so that a mistake here allows nothing.
    pub fn follow(&self, decided: &StoredRequest, approved: &[Digest], now: Timestamp) {
        let mut given = self.given.write().unwrap_or_else(PoisonError::into_inner);
        given.retain(|grant| {
            let ended = !grant.is_active(now) || contradicts(decided, approved, grant);
            let is_part = matches!(grant.shape, GrantShape::Part(_));
            !((grant.shape.is_answer() || is_part) && ended)
        });
        if let Some(grant) = answer(decided) {
            given.add(grant);
        }
    }

    /// Removes a grant.
    pub fn drop(&self, id: Id) {
        self.given.write().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    /// Whether a grant is known in memory.
    #[cfg(test)]
    pub fn holds(&self, id: Id) -> bool {
        self.given.read().unwrap_or_else(PoisonError::into_inner).get(id).is_some()
    }

    /// Uses the grants of the whitelist that are in force, and no others of it.
    pub async fn use_whitelist(
        &self,
        store: &Backend,
        whitelist: &Whitelist,
        policy: Digest,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let listed = whitelist.entries();
        let names = listed.iter().map(|item| (item.id(), format!("whitelist:{}", item.action)));
        let names: HashMap<Id, String> = names.collect();
        // Memory first: if the store fails afterwards, fewer grants are active, not more.
        *self.listed.write().unwrap_or_else(PoisonError::into_inner) = names;
        for item in &listed {
            let note = WriteContext { policy, facts: None, edited: None };
            match store.create_grant(grant(item, now), note).await {
                // An existing grant may have been revoked by a person and stays revoked.
                Ok(()) | Err(StoreError::Exists(_)) => {}
                Err(error) => return Err(error),
            }
        }
        if whitelist.file.is_some() {
            store.append(vec![told(&listed, whitelist.is_refused, policy)]).await?;
        }
        self.read(store).await
    }
}

/// Whether a request was denied that this approval for the session or the repository would cover in
/// part.
fn contradicts(decided: &StoredRequest, approved: &[Digest], grant: &Grant) -> bool {
    let denied = decided.session_question.covered_by.iter();
    let denied: Vec<Digest> = denied.filter(|key| !approved.contains(key)).copied().collect();
    let is_of_session = grant.session.as_deref() == Some(&decided.session);
    let concerned = match &grant.shape {
        GrantShape::SameQuestion { keys } if is_of_session => {
            keys.iter().any(|key| denied.contains(key))
        }
        GrantShape::Part(part) if is_of_session => part.is_denied_by(&denied),
        GrantShape::SameProgram { repository, keys }
            if decided.session_question.repository.as_ref().map(|found| &found.folder)
                == Some(repository) =>
        {
            keys.iter().any(|key| denied.contains(key))
        }
        _ => return false,
    };
    concerned
        && decided.request.state == State::Denied
        && grant.agent.as_deref() == Some(decided.request.requester.name())
}

/// The grant that an approval for the session or the repository makes.
fn answer(decided: &StoredRequest) -> Option<Grant> {
    let request = &decided.request;
    if request.requester.is_drill() {
        return None;
    }
    let asked = &decided.session_question;
    let (shape, session, lasts) = match request.approval_scope() {
        ApprovalScope::Once => return None,
        ApprovalScope::Session => {
            let shape = GrantShape::SameQuestion { keys: asked.answers.clone() };
            (shape, Some(decided.session.clone()), SESSION_ANSWER_LASTS)
        }
        ApprovalScope::Repository => {
            let found = asked.repository.clone()?;
            let shape = GrantShape::SameProgram { repository: found.folder, keys: found.answers };
            (shape, None, REPOSITORY_ANSWER_LASTS)
        }
    };
    let approved = request.votes.iter().rfind(|vote| vote.choice == Choice::Approve)?;
    Some(Grant {
        id: request.id,
        shape,
        agent: Some(request.requester.name().to_owned()),
        session,
        made_by: approved.person.clone(),
        made_at: approved.at,
        expires: Some(approved.at.plus(lasts)),
        uses_left: None,
        revoked: None,
        details: GrantDetails::default(),
    })
}

fn grant(item: &WhitelistEntry, now: Timestamp) -> Grant {
    Grant {
        id: item.id(),
        shape: item.shape.clone(),
        agent: None,
        session: None,
        made_by: WHITELIST.to_owned(),
        made_at: now,
        expires: None,
        uses_left: None,
        revoked: None,
        details: GrantDetails::default(),
    }
}

/// The ledger entry: which grants of the file are active from now on.
fn told(listed: &[WhitelistEntry], refused: bool, policy: Digest) -> Entry<'static> {
    let mut entry = Entry::new(0, EntryKind::Config, policy);
    let ids = listed.iter().take(1_000).map(|item| Value::String(item.id().to_string().into()));
    let word = if refused { "refused" } else { "read" };
    entry.facts = vec![
        ("grants".into(), Value::Array(ids.collect())),
        ("whitelist".into(), Value::String(word.into())),
    ];
    entry
}
