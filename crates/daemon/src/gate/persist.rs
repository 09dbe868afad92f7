//! Stores a call as a request.

use countersign_json::canonical::CallDigest;
use countersign_risk::assess::Assessment;
use countersign_risk::card::Card;
use countersign_store::{NewRequest, NewReview, Store as _, SubmitResult, WriteContext};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::{Clock as _, Millis, Moment, Timestamp};
use countersign_workflow::grant::GrantCost;
use countersign_workflow::request::{
    AutomaticDecision, EscalationTimes, Quorum, Request, Requester, State, Terms,
};
use tracing::Instrument as _;

use super::answer::{self, GateAnswer, Rejection};
use super::caller::Caller;
use super::flood::AskSlot;
use super::log_span::request_span;
use super::policy_demands::{self, PolicyDemands};
use super::session_question::session_question;
use super::state::Gate;
use super::submission::CallSubmission;
use crate::config::DaemonRules;
use crate::random;

/// How long the permit of a call that runs first is valid.
const REVIEW_PERMIT: Millis = Millis(30_000);
/// Why a call that runs first is approved.
const REVIEW_REASON: &str = "runs first; a person looks at the changes afterwards";

/// What decides a request before it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settled<'g> {
    /// Nothing: a person is asked.
    No,
    /// The assessment, or a gate that only observes.
    Policy,
    /// Grants that cover the call together, none of them alone, and what it takes from the budget
    /// of the first.
    Grants(&'g [Id], &'g GrantCost),
    /// The model judge.
    Judge(&'g JudgeRuling),
    /// The rules: it runs first, and a person looks at it afterwards.
    Review(&'g NewReview),
    /// Nothing: a person is asked, and told what the model judge thinks.
    Flagged(&'g serde_json::Value),
}

/// What the model judge decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JudgeRuling {
    /// The model.
    pub model: String,
    /// Whether the call may run.
    pub approves: bool,
    /// The ledger facts of the opinion.
    pub facts: serde_json::Value,
}

impl Settled<'_> {
    fn decision(self) -> Option<AutomaticDecision> {
        match self {
            Settled::No | Settled::Flagged(_) => None,
            Settled::Judge(JudgeRuling { model, approves, .. }) => {
                Some(AutomaticDecision::Judge { model: model.clone(), approves: *approves })
            }
            Settled::Policy | Settled::Review(_) => Some(AutomaticDecision::Policy),
            Settled::Grants(grants, _) => grants.first().copied().map(AutomaticDecision::Grant),
        }
    }

    fn further_grants(self) -> Vec<Id> {
        match self {
            Settled::Grants(grants, _) => grants.iter().skip(1).copied().collect(),
            _ => Vec::new(),
        }
    }

    fn grant_cost(self) -> GrantCost {
        if let Settled::Grants(_, cost) = self { cost.clone() } else { GrantCost::default() }
    }

    fn review(self) -> Option<NewReview> {
        if let Settled::Review(review) = self { Some(review.clone()) } else { None }
    }

    /// How long the permit is valid. Files may change after a snapshot, so a call that runs first
    /// has to run at once.
    fn permit_time(self, usual: Millis) -> Millis {
        if matches!(self, Settled::Review(_)) { usual.min(REVIEW_PERMIT) } else { usual }
    }

    /// Whether it is decided before it is stored.
    fn is_automatic(self) -> bool {
        !matches!(self, Settled::No | Settled::Flagged(_))
    }

    /// The assessment's ledger facts, with those of the judge.
    fn facts(self, seen: &Assessment, crisis: bool) -> String {
        let facts = answer::facts(seen, crisis);
        match self {
            Settled::Judge(ruling) => answer::with_member(&facts, "judge", &ruling.facts),
            _ => facts,
        }
    }

    /// The data for the calling API, with what the judge thinks.
    fn detail(self, submission: &CallSubmission<'_>, seen: &Assessment, crisis: bool) -> String {
        let context = &submission.call.context;
        let mut detail = answer::stored_detail(&(submission.detail)(), context, crisis);
        if let Some(demands) = PolicyDemands::of(seen).to_json() {
            detail = answer::with_member(&detail, policy_demands::MEMBER, &demands);
        }
        match self {
            Settled::Flagged(opinion) => answer::with_member(&detail, "judge", opinion),
            Settled::Review(review) => {
                let shown = serde_json::json!({ "snapshot": review.snapshot });
                answer::with_member(&detail, "review", &shown)
            }
            _ => detail,
        }
    }
}

impl Gate {
    /// Stores the request: pending, or decided by the policy or a grant.
    pub(super) async fn persist(
        &self,
        rules: &DaemonRules,
        submission: &CallSubmission<'_>,
        caller: &Caller,
        assessed: (&Assessment, CallDigest, bool),
        settled: Settled<'_>,
        slot: Option<AskSlot<'_>>,
    ) -> Result<GateAnswer, Rejection> {
        let ((seen, digest, crisis), now) = (assessed, self.clock.now());
        if settled.is_automatic() {
            self.check_automatic_decision(now)?;
        }
        let quorum = quorum(rules, seen, crisis);
        let terms = Terms { tier: seen.tier, crisis, quorum, own_approval: false };
        let times = deadline_times(rules, submission, caller, seen.tier);
        let schedule = times.schedule(now.at, seen.tier, crisis, submission.time);
        let id = random::id(now.at).map_err(|_| Rejection::EntropyUnavailable)?;
        let requester = Requester::Agent(caller.agent.clone());
        let request = Request::new(id, requester, digest, terms, schedule);
        let mut card = Card::new(&submission.call, seen, &digest);
        let written = |card: &Card| serde_json::to_string(card).map_err(|_| Rejection::Unwritable);
        // In a crisis people must see what they approve, but nothing of it is kept afterwards.
        let minimal = crisis.then(|| written(&Card::minimal(&submission.call, seen, &digest)));
        let facts = Some(settled.facts(seen, crisis));
        let context = WriteContext { policy: rules.hash, facts, edited: None };
        let question = session_question(submission, seen, &digest, crisis);
        let shown = (!settled.is_automatic() && !crisis).then_some(&mut card);
        let asked = (rules, submission, caller);
        let question = self.with_places(question, asked, seen, (shown, settled)).await;
        let new = NewRequest {
            request: self.settle_request(request, settled, now.at),
            // Redacted as on the card, because a tool's name can contain a secret.
            tool: card.tool.clone(),
            session: submission.call.session.as_deref().unwrap_or_default().to_owned(),
            brief: card.brief.clone(),
            card: written(&card)?,
            card_after: minimal.transpose()?,
            detail: settled.detail(submission, seen, crisis),
            idempotency: submission.key.clone(),
            group: submission.group,
            session_question: question,
            further_grants: settled.further_grants(),
            grant_cost: settled.grant_cost(),
            permit_for: settled.permit_time(permit_time(rules, submission)),
            review: settled.review(),
            context,
        };
        let kept =
            self.noting_routes(seen).write_down(new, slot).instrument(request_span(id)).await?;
        self.remember_writes(id, submission, seen, &kept);
        Ok(kept)
    }

    /// The request as it is decided before it is stored.
    fn settle_request(&self, request: Request, settled: Settled<'_>, at: Timestamp) -> Request {
        let Some(automatic) = settled.decision() else { return request };
        let mut request = request.decided_automatically(automatic, at);
        if let (Settled::Grants([id, ..], _), Some(decision)) = (settled, &mut request.decision) {
            decision.reason = self.grants.name(*id).unwrap_or_default();
        }
        if let (Settled::Review(_), Some(decision)) = (settled, &mut request.decision) {
            REVIEW_REASON.clone_into(&mut decision.reason);
        }
        request
    }

    /// Notes what the call leaves behind: at once if it may run, else when it is approved.
    fn remember_writes(
        &self,
        id: Id,
        submission: &CallSubmission<'_>,
        seen: &Assessment,
        kept: &GateAnswer,
    ) {
        let GateAnswer::Kept(stored) = kept else { return };
        let state = stored.request.state;
        if stored.request.id == id {
            self.session_memories.hold(id, &submission.call, &seen.trace);
        }
        if state.has_ended() {
            self.session_memories.settle(id, state == State::Approved);
        }
    }

    /// Whether anything may be approved without a person now.
    pub(super) fn check_automatic_decision(&self, now: Moment) -> Result<(), Rejection> {
        self.freeze.check()?;
        self.integrity.check()?;
        if now.reliable { Ok(()) } else { Err(Rejection::ClockUnsettled) }
    }

    async fn write_down(
        &self,
        new: NewRequest,
        slot: Option<AskSlot<'_>>,
    ) -> Result<GateAnswer, Rejection> {
        if new.request.state.has_ended() {
            self.charge_request(&new).await?;
        }
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
                Ok(GateAnswer::Kept(Box::new(self.deny_if_frozen(stored).await?)))
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

/// How many people must decide: as the configuration says for the tier, or more if a rule says so.
pub(super) fn quorum(rules: &DaemonRules, seen: &Assessment, crisis: bool) -> Quorum {
    let usual = rules.quorum.of(seen.tier, crisis);
    let wanted = seen.policy.as_ref().and_then(|ruling| ruling.quorum).unwrap_or_default();
    Quorum { approve: usual.approve.max(wanted), ..usual }
}

/// How long the permit is valid. An agent that comes back later finds the answer: one approval, one
/// run.
fn permit_time(rules: &DaemonRules, submission: &CallSubmission<'_>) -> Millis {
    let comes_back = submission.join.approved || submission.join.returns;
    if comes_back { rules.permit_for.max(rules.return_for) } else { rules.permit_for }
}

/// The times of the rules, with the longest deadline for this call and this agent.
fn deadline_times(
    rules: &DaemonRules,
    submission: &CallSubmission<'_>,
    caller: &Caller,
    tier: Tier,
) -> EscalationTimes {
    let limit = rules.deadlines.limit(tier, &caller.agent, submission.call.context.host);
    EscalationTimes { max_timeout: limit.unwrap_or(rules.times.max_timeout), ..rules.times }
}

#[cfg(test)]
mod tests;
