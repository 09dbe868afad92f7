//! A drill is kept: like a call that waits for a person, and counted nowhere.

use std::sync::{Mutex, PoisonError};

use countersign_json::canonical::CallDigest;
use countersign_risk::assess::Assessment;
use countersign_risk::call::Call;
use countersign_risk::card::Card;
use countersign_store::{NewRequest, Store as _, StoredRequest, Submission, WriteContext};
use countersign_types::id::Id;
use countersign_types::time::{Clock as _, Span};
use countersign_workflow::request::{Request, Requester, Terms};
use serde_json::json;

use super::Gate;
use super::answer::{self, Rejection};
use crate::chance;
use crate::drills::Drill;

/// A drill that is to be kept.
pub struct NewDrill<'a> {
    /// The made-up call.
    pub call: Call<'a>,
    /// What the rules make of it.
    pub seen: Assessment,
    /// Its digest.
    pub digest: CallDigest,
    /// Which one it is.
    pub drill: &'a Drill,
    /// The agent whose name stands on the card.
    pub shown: &'a str,
}

/// The drill that waits, if one does.
#[derive(Debug, Default)]
pub struct OpenDrill {
    id: Mutex<Option<Id>>,
    making: tokio::sync::Mutex<()>,
}

impl OpenDrill {
    /// What waits already.
    pub fn new(pending: &[StoredRequest]) -> OpenDrill {
        let open = pending.iter().find(|stored| stored.request.requester.is_drill());
        let open = open.map(|stored| stored.request.id);
        OpenDrill { id: Mutex::new(open), making: tokio::sync::Mutex::default() }
    }

    fn get(&self) -> Option<Id> {
        *self.id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, id: Option<Id>) {
        *self.id.lock().unwrap_or_else(PoisonError::into_inner) = id;
    }

    /// This one is over.
    pub(super) fn ended(&self, id: Id) {
        let mut open = self.id.lock().unwrap_or_else(PoisonError::into_inner);
        open.take_if(|open| *open == id);
    }
}

impl Gate {
    /// The drill that waits, if one does.
    pub fn open_drill(&self) -> Option<Id> {
        self.open_drill.get()
    }

    /// Keeps a drill; none while another one waits.
    pub async fn drill(&self, new: NewDrill<'_>) -> Result<Option<StoredRequest>, Rejection> {
        let _one_at_a_time = self.open_drill.making.lock().await;
        if self.open_drill.get().is_some() {
            return Ok(None);
        }
        let NewDrill { call, seen, digest, drill, shown } = new;
        let (rules, now) = (self.rules(), self.clock.now());
        let mut plan = rules.times.plan(now.at, seen.tier, false, None);
        // Nobody further is called for it.
        plan.climb = plan.created.until(plan.deadline).max(Span(1));
        let terms =
            Terms { tier: seen.tier, crisis: false, quorum: rules.quorum.of(seen.tier, false) };
        let id = chance::id(now.at).map_err(|_| Rejection::NoChance)?;
        let requester = Requester::Drill { kind: drill.name.clone(), shown: shown.to_owned() };
        let card = Card::new(&call, &seen, &digest);
        let written = serde_json::to_string(&card).map_err(|_| Rejection::Unwritable)?;
        let submitted = self
            .store
            .submit(NewRequest {
                request: Request::new(id, requester, digest, terms, plan),
                tool: card.tool.clone(),
                session: call.session.as_deref().unwrap_or_default().to_owned(),
                brief: card.brief.clone(),
                card: written,
                card_after: None,
                detail: json!({ "description": drill.says }).to_string(),
                idempotency: None,
                group: None,
                permit_for: Span(0),
                context: WriteContext {
                    policy: rules.hash,
                    facts: Some(answer::facts(&seen)),
                    edited: None,
                },
            })
            .await?;
        let (Submission::New(stored) | Submission::Existing(stored)) = submitted;
        self.open_drill.set(Some(stored.request.id));
        Ok(Some(stored))
    }
}
