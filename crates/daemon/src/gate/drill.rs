//! Stores a drill like a pending request, without counting it in any limit.

use countersign_json::canonical::CallDigest;
use countersign_risk::assess::Assessment;
use countersign_risk::call::Call;
use countersign_risk::card::Card;
use countersign_risk::session_answer::SessionQuestion;
use countersign_store::{NewRequest, Store as _, StoredRequest, SubmitResult, WriteContext};
use countersign_types::id::Id;
use countersign_types::time::{Clock as _, Millis};
use countersign_workflow::request::{Request, Requester, Terms};
use serde_json::json;

use super::answer::{self, Rejection};
use super::state::Gate;
use crate::random;

/// A drill to be stored.
pub struct NewDrill<'a> {
    /// The made-up call.
    pub call: Call<'a>,
    /// Its assessment.
    pub seen: Assessment,
    /// Its digest.
    pub digest: CallDigest,
    /// The kind of drill.
    pub kind: &'a str,
    /// The description that the agent would have given.
    pub description: &'a str,
    /// The agent named on the card.
    pub shown: &'a str,
}

impl Gate {
    /// The pending drill, if there is one.
    pub fn open_drill(&self) -> Option<Id> {
        self.open_drill.get()
    }

    /// Stores a drill; `None` while another one is pending.
    pub async fn drill(&self, new: NewDrill<'_>) -> Result<Option<StoredRequest>, Rejection> {
        let _one_at_a_time = self.open_drill.lock_creation().await;
        if self.open_drill.get().is_some() {
            return Ok(None);
        }
        let NewDrill { call, seen, digest, kind, description, shown } = new;
        let (rules, now) = (self.rules(), self.clock.now());
        let mut schedule = rules.times.schedule(now.at, seen.tier, false, None);
        // A drill is not escalated.
        schedule.interval = schedule.created.until(schedule.deadline).max(Millis(1));
        let terms = Terms {
            tier: seen.tier,
            crisis: false,
            quorum: rules.quorum.of(seen.tier, false),
            own_approval: false,
        };
        let id = random::id(now.at).map_err(|_| Rejection::EntropyUnavailable)?;
        let requester = Requester::Drill { kind: kind.to_owned(), shown: shown.to_owned() };
        let card = Card::new(&call, &seen, &digest);
        let written = serde_json::to_string(&card).map_err(|_| Rejection::Unwritable)?;
        // People are offered the same answers as for a real request.
        let in_session = call.session.as_deref().is_some_and(|session| !session.is_empty());
        let session_question = SessionQuestion::new(&seen, &digest);
        let session_question =
            if in_session { session_question } else { SessionQuestion::default() };
        let submitted = self
            .store
            .submit(NewRequest {
                request: Request::new(id, requester, digest, terms, schedule),
                tool: card.tool.clone(),
                session: call.session.as_deref().unwrap_or_default().to_owned(),
                brief: card.brief.clone(),
                card: written,
                card_after: None,
                detail: json!({ "description": description }).to_string(),
                idempotency: None,
                group: None,
                session_question,
                further_grants: Vec::new(),
                grant_cost: countersign_workflow::grant::GrantCost::default(),
                permit_for: Millis(0),
                review: None,
                context: WriteContext {
                    policy: rules.hash,
                    facts: Some(answer::facts(&seen, false)),
                    edited: None,
                },
            })
            .await?;
        let (SubmitResult::New(stored) | SubmitResult::Existing(stored)) = submitted;
        self.open_drill.set(Some(stored.request.id));
        Ok(Some(stored))
    }
}
