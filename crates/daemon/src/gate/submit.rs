//! The path of a call: assessed, then passed, refused or asked about.

use std::sync::Arc;

use countersign_json::canonical::CallDigest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_risk::assess::Assessment;
use countersign_risk::call_digest::digest;
use countersign_risk::route::{Pass, Route};
use countersign_risk::verdict::Mode;
use countersign_store::Store as _;
use countersign_types::time::{Clock as _, Timestamp};

use super::answer::{self, GateAnswer, Passed, Rejection, Settlement};
use super::asking_agent::counted_as;
use super::call_entry::call_entry;
use super::caller::Caller;
use super::persist::Settled;
use super::state::Gate;
use super::submission::CallSubmission;
use crate::config::DaemonRules;

/// The result of the assessment, before anything is written.
enum FirstStep<'c> {
    /// The call passes; only a ledger entry is written.
    Passes(Box<PassingCall>),
    /// Everything else.
    Continues(Box<AssessedCall<'c>>),
}

/// A call that passes once its entry is accepted.
struct PassingCall {
    entry: Entry<'static>,
    passed: Box<Passed>,
    /// The agent whose share of the disk the entry takes; none for a gate that only observes, which
    /// refuses nothing.
    charged: Option<String>,
}

/// An assessed call that needs more than an entry.
struct AssessedCall<'c> {
    rules: Arc<DaemonRules>,
    submission: CallSubmission<'c>,
    seen: Assessment,
    digest: CallDigest,
    goes: Route,
}

impl PassingCall {
    fn new(
        rules: &DaemonRules,
        submission: &CallSubmission<'_>,
        (assessment, digest, why): (Assessment, CallDigest, Pass),
        at: Timestamp,
    ) -> PassingCall {
        let mut entry = call_entry(EntryKind::Pass, rules, &submission.call, &digest);
        entry.facts = answer::pass_facts(&assessment, why);
        let charged = (rules.mode == Mode::Enforce).then(|| charged_to(submission));
        PassingCall { entry, passed: Box::new(Passed { assessment, digest, why, at }), charged }
    }
}

impl Gate {
    /// The path of a call: from its submission to an answer or a pending request.
    ///
    /// The assessment runs at once. The future contains only what follows, to keep it small:
    /// thousands are created per second, and thousands wait.
    pub fn submit<'c>(
        &'c self,
        submission: CallSubmission<'c>,
        caller: &'c Caller,
    ) -> impl Future<Output = Result<GateAnswer, Rejection>> + Send + 'c {
        let first_step = self.assess_submission(submission, caller);
        async move {
            let answer = match (self.freeze.check(), first_step) {
                (Err(frozen), _) => Err(frozen),
                (Ok(()), FirstStep::Passes(passing)) => self.pass(passing, &caller.agent).await,
                (Ok(()), FirstStep::Continues(assessed)) => {
                    Box::pin(self.continue_submission(assessed, caller)).await
                }
            };
            match &answer {
                Err(rejection) => {
                    if let Some(why) = rejection.metrics_label() {
                        self.metrics.held(why);
                    }
                    tracing::debug!(agent = caller.agent, %rejection, "a call was rejected");
                }
                Ok(GateAnswer::Kept(stored)) => {
                    let (request, state) = (stored.request.id, stored.request.state.label());
                    tracing::debug!(agent = caller.agent, %request, state, "a request was stored");
                }
                Ok(GateAnswer::Passed(_)) => tracing::trace!(agent = caller.agent, "a call passed"),
            }
            answer
        }
    }

    /// The assessment and its result, before anything is written.
    fn assess_submission<'c>(
        &self,
        mut submission: CallSubmission<'c>,
        caller: &'c Caller,
    ) -> FirstStep<'c> {
        let rules = self.rules();
        let by = (!submission.join.ignore_grants, &submission.projects);
        let (seen, goes) = self.assess_call(&rules, &mut submission.call, caller, by);
        let now = self.clock.now().at;
        self.metrics.call(&goes, seen.tier, &caller.agent, now);
        let digest = digest(&submission.call, submission.raw);
        if matches!(goes, Route::Pass { .. }) {
            self.session_memories.add(&submission.call, &seen.trace);
        }
        match goes {
            // A gate that only observes approves nothing, so there is nothing to sign or to repeat.
            Route::Pass { why }
                if rules.mode != Mode::Enforce
                    || !submission.permit && submission.key.is_none() =>
            {
                let assessed = (seen, digest, why);
                FirstStep::Passes(Box::new(PassingCall::new(&rules, &submission, assessed, now)))
            }
            _ => FirstStep::Continues(Box::new(AssessedCall {
                rules,
                submission,
                seen,
                digest,
                goes,
            })),
        }
    }

    /// Handles all calls that do not just pass.
    async fn continue_submission(
        &self,
        assessed: Box<AssessedCall<'_>>,
        caller: &Caller,
    ) -> Result<GateAnswer, Rejection> {
        let AssessedCall { rules, submission, seen, digest, goes } = &*assessed;
        match *goes {
            Route::Pass { why } if submission.join.entry_only && !submission.permit => {
                // What a person was asked about under this key counts more than other rules now.
                if let Some(stored) = self.find_by_key(submission, caller, digest).await? {
                    return Ok(GateAnswer::Kept(Box::new(stored)));
                }
                let (call, now) = ((seen.clone(), *digest, why), self.clock.now().at);
                let passing = PassingCall::new(rules, submission, call, now);
                self.pass(Box::new(passing), &caller.agent).await
            }
            Route::Pass { .. } => {
                let call = (seen, *digest, false);
                self.persist(rules, submission, caller, call, Settled::Policy, None).await
            }
            Route::Refuse => Err(self.refuse(rules, submission, seen, *digest).await),
            Route::Ask { crisis: true } if self.is_taken_over(submission, caller) => {
                Err(Rejection::TakenOver)
            }
            Route::Ask { crisis } => {
                self.ask(rules, submission, caller, (seen, *digest, crisis)).await
            }
        }
    }

    /// The same path without a person: no one is asked.
    pub async fn settle<'c>(
        &self,
        mut submission: CallSubmission<'c>,
        caller: &'c Caller,
    ) -> Result<Settlement, Rejection> {
        self.freeze.check()?;
        let rules = self.rules();
        let by = (!submission.join.ignore_grants, &submission.projects);
        let (seen, goes) = self.assess_call(&rules, &mut submission.call, caller, by);
        let digest = digest(&submission.call, submission.raw);
        match goes {
            Route::Pass { why } => {
                let assessed = (seen, digest, why);
                let passing = PassingCall::new(&rules, &submission, assessed, self.clock.now().at);
                self.pass(Box::new(passing), &caller.agent).await.map(Settlement::Answered)
            }
            Route::Refuse => Err(self.refuse(&rules, &submission, &seen, digest).await),
            Route::Ask { crisis: true } if self.is_taken_over(&submission, caller) => {
                Err(Rejection::TakenOver)
            }
            Route::Ask { crisis } => {
                let assessed = (&seen, digest, crisis);
                let granted = self.settle_by_grant(&rules, &submission, caller, assessed).await?;
                Ok(granted.map_or_else(
                    || Settlement::Asks(Box::new(seen.clone()), digest),
                    Settlement::Answered,
                ))
            }
        }
    }

    /// Whether a person has taken over the conversation of this call.
    pub(super) fn is_taken_over(&self, submission: &CallSubmission<'_>, caller: &Caller) -> bool {
        let session = submission.call.session.as_deref();
        self.crises.takeover(&caller.agent, session).is_some()
    }

    /// Denies by policy, after the denial is in the ledger.
    pub(super) async fn refuse(
        &self,
        rules: &DaemonRules,
        submission: &CallSubmission<'_>,
        seen: &Assessment,
        digest: CallDigest,
    ) -> Rejection {
        let mut entry = call_entry(EntryKind::Deny, rules, &submission.call, &digest);
        entry.facts = answer::pass_facts(seen, Pass::Harmless);
        // Without room the denial is only counted: one entry says how many there were.
        if self.charge_entry(&charged_to(submission), &entry).await.is_err() {
            return Rejection::refused(seen);
        }
        let refused = Rejection::refused(seen);
        self.store.append(vec![entry]).await.map_or_else(Rejection::from, |()| refused)
    }

    /// Lets a call pass; its entry is in the next commit.
    async fn pass(&self, passing: Box<PassingCall>, agent: &str) -> Result<GateAnswer, Rejection> {
        let PassingCall { entry, passed, charged } = *passing;
        // A harmless call needs no approval; one that is only observed would have needed it.
        if passed.why == Pass::Watching {
            self.integrity.check()?;
        }
        if let Some(charged) = charged {
            self.charge_entry(&charged, &entry).await?;
        }
        self.store.record_pass(entry).await?;
        let seen = &passed.assessment;
        self.metrics.passed(&seen.tool, agent, seen.tier, passed.at, || self.clock.now().at);
        Ok(GateAnswer::Passed(passed))
    }
}

/// The name under which the agent of a call is counted.
fn charged_to(submission: &CallSubmission<'_>) -> String {
    let agent = submission.call.agent.as_deref().unwrap_or_default();
    counted_as(agent, submission.call.context.host)
}
