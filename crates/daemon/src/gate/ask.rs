//! A call that needs a decision: it joins an existing request, a grant covers it, or it is stored
//! as a new request.

use countersign_json::canonical::CallDigest;
use countersign_risk::assess::Assessment;
use countersign_risk::policy_ruling::PolicyRuling;
use countersign_store::{Store as _, StoreError, StoredRequest};
use countersign_types::time::Clock as _;
use countersign_workflow::grant::GrantQuery;
use countersign_workflow::request::{Requester, State};

use super::answer::{GateAnswer, Rejection};
use super::asking_agent::counted_call;
use super::caller::Caller;
use super::flood::{AskSlot, FloodRefusal};
use super::judge_step::Consulted;
use super::persist::Settled;
use super::repository;
use super::state::Gate;
use super::submission::{CallSubmission, JoinOptions};
use crate::config::DaemonRules;

impl Gate {
    /// Asks people, unless an existing request or a grant answers the call.
    pub(super) async fn ask(
        &self,
        rules: &DaemonRules,
        submission: &CallSubmission<'_>,
        caller: &Caller,
        assessed: (&Assessment, CallDigest, bool),
    ) -> Result<GateAnswer, Rejection> {
        let (_, digest, crisis) = assessed;
        if submission.group.is_none()
            && !submission.join.ignore_grants
            && let Some(stored) = self.find_same_call(submission, caller, &digest).await?
        {
            return Ok(GateAnswer::Kept(Box::new(stored)));
        }
        if let Some(answer) = self.settle_by_grant(rules, submission, caller, assessed).await? {
            return Ok(answer);
        }
        let session = submission.call.session.as_deref().unwrap_or_default();
        // A concurrent submission of the same call waits for the first and joins it.
        let turn = self.flood.lock_question(&caller.agent, session, &digest).await;
        // A pending request for the same call is joined; but a batch has its own requests, so that
        // it can be decided as one.
        if let Some(open) = self.flood.same(&caller.agent, session, &digest)
            && submission.key.is_none()
            && submission.group.is_none()
            && !submission.join.ignore_grants
            && let Some(stored) = self.store.request(open).await?
            && !stored.request.state.has_ended()
        {
            self.remember_call_id(submission, caller, &stored);
            return Ok(GateAnswer::Kept(Box::new(stored)));
        }
        // An existing request is not announced again, so no limit applies to it.
        if let Some(stored) = self.find_by_key(submission, caller, &digest).await? {
            return Ok(GateAnswer::Kept(Box::new(stored)));
        }
        // Before the judge: an agent in quarantine, or one that asks too often, gets no release.
        match self.reserve(rules, submission, caller, crisis) {
            Ok(place) => self.ask_judge_or_people(rules, submission, caller, assessed, place).await,
            Err(refused) => {
                // Each further rejection is delayed more, which slows a flood down.
                drop(turn);
                if !refused.wait.is_zero() {
                    tokio::time::sleep(refused.wait).await;
                }
                Err(refused.rejection)
            }
        }
    }

    /// Stores a request that the judge decided, or a pending one, which people are notified of.
    async fn ask_judge_or_people(
        &self,
        rules: &DaemonRules,
        submission: &CallSubmission<'_>,
        caller: &Caller,
        assessed: (&Assessment, CallDigest, bool),
        place: AskSlot<'_>,
    ) -> Result<GateAnswer, Rejection> {
        let mut consulted = self.consult_judge(rules, submission, caller, assessed).await;
        let (_, digest, crisis) = assessed;
        let again = self.assess_again(rules, submission, caller, crisis).await?;
        let (rules, assessed) = match &again {
            Some(again) => (&*again.rules, (&again.seen, digest, again.crisis)),
            None => (rules, assessed),
        };
        if let Some(again) = &again {
            consulted = consulted.without_ruling(again.crisis);
        }
        // A judge that was asked and did not release the call leaves it to people.
        if !matches!(consulted, Consulted::Now(_))
            && let Some(kept) = self.run_first(rules, submission, caller, assessed).await?
        {
            place.unused();
            return Ok(kept);
        }
        let (settled, slot) = match (consulted.ruling(), consulted.flag()) {
            (Some(ruling), _) => {
                // No person is asked, so the question does not count.
                place.unused();
                (Settled::Judge(ruling), None)
            }
            (None, Some(opinion)) => (Settled::Flagged(opinion), Some(place)),
            (None, None) => (Settled::No, Some(place)),
        };
        let kept = self.persist(rules, submission, caller, assessed, settled, slot).await?;
        if let GateAnswer::Kept(stored) = &kept {
            self.remember_call_id(submission, caller, stored);
        }
        self.after_judge(consulted, &kept).await;
        Ok(kept)
    }

    /// Lets a call run before a person looks at it, where the operator allows that. None if a
    /// person is asked first.
    async fn run_first(
        &self,
        rules: &DaemonRules,
        submission: &CallSubmission<'_>,
        caller: &Caller,
        assessed: (&Assessment, CallDigest, bool),
    ) -> Result<Option<GateAnswer>, Rejection> {
        let Some(review) = self.review_of(rules, submission, caller, assessed).await else {
            return Ok(None);
        };
        let settled = Settled::Review(&review);
        match self.persist(rules, submission, caller, assessed, settled, None).await {
            // The snapshot was used for another call.
            Err(Rejection::Unavailable(StoreError::Exists(_))) => Ok(None),
            Err(rejection) => Err(rejection),
            Ok(kept) => {
                if let GateAnswer::Kept(stored) = &kept {
                    self.remember_call_id(submission, caller, stored);
                }
                Ok(Some(kept))
            }
        }
    }

    /// Reserves one more question of this agent program.
    fn reserve(
        &self,
        rules: &DaemonRules,
        submission: &CallSubmission<'_>,
        caller: &Caller,
        crisis: bool,
    ) -> Result<AskSlot<'_>, FloodRefusal> {
        let call = &submission.call;
        let session = call.session.as_deref().unwrap_or_default();
        let counted = counted_call(&caller.agent, call.context.host, &call.tool, session);
        self.flood.reserve(&rules.flood, &counted, crisis, self.clock.now().at)
    }

    /// The existing request for the same call: by the host's id, or, for a retry, because it was
    /// approved meanwhile and its permit is unused.
    async fn find_same_call(
        &self,
        submission: &CallSubmission<'_>,
        caller: &Caller,
        digest: &CallDigest,
    ) -> Result<Option<StoredRequest>, Rejection> {
        let JoinOptions { approved, call_id, .. } = submission.join;
        if let Some(call_id) = call_id
            && let Some(id) = self.deduplication.named(&caller.agent, call_id)
            && let Some(stored) = self.store.request(id).await?
            && (stored.request.digest.binds(digest) || is_edited_call(&stored, digest))
        {
            self.check_approval(&stored)?;
            return Ok(Some(stored));
        }
        let session = submission.call.session.as_deref().unwrap_or_default();
        if approved
            && let Some(id) = self.deduplication.approved(&caller.agent, session, digest)
            && let Some(stored) = self.store.request(id).await?
            && stored.request.state == State::Approved
            && stored.redeemed.is_none()
            && stored.permit_until.is_some_and(|until| self.clock.now().at < until)
            && stored.request.digest.binds(digest)
            && !self.is_suspended(&stored)
            && self.integrity.fault().is_none()
            && !self.is_permit_void(&stored)
        {
            self.remember_call_id(submission, caller, &stored);
            return Ok(Some(stored));
        }
        Ok(None)
    }

    fn remember_call_id(
        &self,
        submission: &CallSubmission<'_>,
        caller: &Caller,
        stored: &StoredRequest,
    ) {
        if let Some(call_id) = submission.join.call_id {
            self.deduplication.name(&caller.agent, call_id, stored.request.id);
        }
    }

    /// The request of this agent with the same idempotency key and call.
    pub(super) async fn find_by_key(
        &self,
        submission: &CallSubmission<'_>,
        caller: &Caller,
        digest: &CallDigest,
    ) -> Result<Option<StoredRequest>, Rejection> {
        let Some(key) = submission.key.clone() else { return Ok(None) };
        let requester = Requester::Agent(caller.agent.clone());
        let found = self.store.request_by_key(requester, key).await?;
        let found = found.filter(|stored| stored.request.digest.binds(digest));
        found.iter().try_for_each(|stored| self.check_approval(stored))?;
        Ok(found)
    }

    /// Decides by a grant, if one covers the call. None does in a crisis, or where a person must
    /// decide again.
    pub(super) async fn settle_by_grant(
        &self,
        rules: &DaemonRules,
        submission: &CallSubmission<'_>,
        caller: &Caller,
        assessed: (&Assessment, CallDigest, bool),
    ) -> Result<Option<GateAnswer>, Rejection> {
        let (seen, digest, crisis) = assessed;
        let needs_person = seen.policy.as_ref().is_some_and(PolicyRuling::needs_person);
        if crisis || needs_person || submission.join.ignore_grants || self.freeze.suspends_grants()
        {
            return Ok(None);
        }
        let repository = repository::find(caller, &submission.call.context).await;
        let asked = GrantQuery {
            agent: &caller.agent,
            session: submission.call.session.as_deref().unwrap_or_default(),
            repository: repository.as_deref(),
            cwd: submission.call.context.cwd,
            environment: submission.call.context.environment,
            own_addresses: &caller.own_addresses,
            digest: &digest,
            arguments: &submission.call.arguments,
            assessment: seen,
            crisis,
        };
        // Another call may have consumed the grant meanwhile; then the next one is tried.
        for grants in self.grants.covering(&asked, self.clock.now()) {
            let cost = self.grants.cost(&grants, &asked);
            let settled = Settled::Grants(&grants, &cost);
            match self.persist(rules, submission, caller, assessed, settled, None).await {
                Err(Rejection::Unavailable(StoreError::GrantInactive)) => {
                    for grant in grants {
                        self.grants.drop(grant);
                    }
                }
                // It covers calls again in the next hour, or calls that cost less.
                Err(Rejection::Unavailable(
                    StoreError::GrantRateExceeded | StoreError::GrantBudgetExceeded,
                )) => {}
                kept => return kept.map(Some),
            }
        }
        Ok(None)
    }
}

/// Whether this is the edited call that a person approved.
fn is_edited_call(stored: &StoredRequest, digest: &CallDigest) -> bool {
    let decision = stored.request.decision.as_ref();
    stored.edited.is_some()
        && stored.request.state == State::Approved
        && decision.is_some_and(|decision| decision.digest.binds(digest))
}
