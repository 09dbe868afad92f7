//! Stores a call as a request.

use countersign_json::canonical::CallDigest;
use countersign_risk::assess::Assessment;
use countersign_risk::card::Card;
use countersign_store::{NewRequest, Store as _, SubmitResult, WriteContext};
use countersign_types::time::{Clock as _, Moment};
use countersign_workflow::request::{AutomaticDecision, Request, Requester, Terms};
use tracing::Instrument as _;

use super::answer::{self, GateAnswer, Rejection};
use super::caller::Caller;
use super::flood::AskSlot;
use super::log_span::request_span;
use super::state::Gate;
use super::submission::CallSubmission;
use crate::config::DaemonRules;
use crate::random;

impl Gate {
    /// Stores the request: pending, or decided by the policy or a grant.
    pub(super) async fn persist(
        &self,
        rules: &DaemonRules,
        submission: &CallSubmission<'_>,
        caller: &Caller,
        judged: (&Assessment, CallDigest, bool),
        settled: Option<AutomaticDecision>,
        slot: Option<AskSlot<'_>>,
    ) -> Result<GateAnswer, Rejection> {
        let (seen, digest, crisis) = judged;
        let now = self.clock.now();
        if settled.is_some() {
            self.check_automatic_decision(now)?;
        }
        let terms = Terms { tier: seen.tier, crisis, quorum: rules.quorum.of(seen.tier, crisis) };
        let schedule = rules.times.schedule(now.at, seen.tier, crisis, submission.time);
        let id = random::id(now.at).map_err(|_| Rejection::EntropyUnavailable)?;
        let requester = Requester::Agent(caller.agent.clone());
        let mut request = Request::new(id, requester, digest, terms, schedule);
        if let Some(settled) = settled {
            request = request.decided_automatically(settled, now.at);
            if let (AutomaticDecision::Grant(id), Some(decision)) = (settled, &mut request.decision)
            {
                decision.reason = self.grants.name(id).unwrap_or_default();
            }
        }
        let card = Card::new(&submission.call, seen, &digest);
        let written = |card: &Card| serde_json::to_string(card).map_err(|_| Rejection::Unwritable);
        // In a crisis people must see what they approve, but nothing of it is kept afterwards.
        let minimal = crisis.then(|| written(&Card::minimal(&submission.call, seen, &digest)));
        let context = &submission.call.context;
        let detail = answer::stored_detail(&(submission.detail)(), context, crisis);
        let facts = Some(answer::facts(seen));
        let context = WriteContext { policy: rules.hash, facts, edited: None };
        let new = NewRequest {
            request,
            // Redacted as on the card, because a tool's name can contain a secret.
            tool: card.tool.clone(),
            session: submission.call.session.as_deref().unwrap_or_default().to_owned(),
            brief: card.brief.clone(),
            card: written(&card)?,
            card_after: minimal.transpose()?,
            detail,
            idempotency: submission.key.clone(),
            group: submission.group,
            permit_for: rules.permit_for,
            context,
        };
        self.write_down(new, slot).instrument(request_span(id)).await
    }

    /// Whether anything may be approved without a person now.
    fn check_automatic_decision(&self, now: Moment) -> Result<(), Rejection> {
        self.integrity.check()?;
        if now.reliable { Ok(()) } else { Err(Rejection::ClockUnsettled) }
    }

    async fn write_down(
        &self,
        new: NewRequest,
        slot: Option<AskSlot<'_>>,
    ) -> Result<GateAnswer, Rejection> {
        let started = std::time::Instant::now();
        let submitted = self.store.submit(new).await;
        self.metrics.wrote(started.elapsed());
        match submitted {
            Ok(SubmitResult::New(stored)) => {
                if stored.request.state.has_ended() {
                    self.metrics.ended(&stored);
                } else {
                    self.opened(&stored).await;
                }
                Ok(GateAnswer::Kept(Box::new(stored)))
            }
            known_or_failed => {
                slot.into_iter().for_each(AskSlot::unused);
                match known_or_failed? {
                    SubmitResult::New(stored) | SubmitResult::Existing(stored) => {
                        Ok(GateAnswer::Kept(Box::new(stored)))
                    }
                }
            }
        }
    }
}
