//! The model judge may think for half a minute. What changed meanwhile counts, and its verdict does
//! not.

use std::sync::Arc;

use countersign_judge::JudgeAction;
use countersign_risk::assess::Assessment;
use countersign_risk::call_digest::digest;
use countersign_risk::route::Route;
use countersign_types::time::Clock as _;

use super::answer::Rejection;
use super::asking_agent::counted_as;
use super::caller::Caller;
use super::state::Gate;
use super::submission::CallSubmission;
use crate::config::DaemonRules;
use crate::judge::{JudgeQuestion, ModelJudge};

/// A call that was assessed again.
pub(super) struct AssessedAgain {
    /// The rules in force now.
    pub rules: Arc<DaemonRules>,
    /// What they say.
    pub seen: Assessment,
    /// Whether the crisis rules apply to it now.
    pub crisis: bool,
}

impl Gate {
    /// Whether the judge may decide a call now, after it has thought about it.
    pub(super) fn may_still_decide(
        &self,
        rules: &DaemonRules,
        submission: &CallSubmission<'_>,
        caller: &Caller,
        (judge, question, action): (&Arc<ModelJudge>, &JudgeQuestion, JudgeAction),
    ) -> bool {
        let now = self.clock.now();
        let counted = counted_as(&caller.agent, submission.call.context.host);
        let is_same_judge = self.judge.current().is_some_and(|one| Arc::ptr_eq(&one, judge));
        let may_release =
            || judge.held_back(now.at).is_none() && judge.limit(question, now.at).is_none();
        self.check_automatic_decision(now).is_ok()
            && self.rules().hash == rules.hash
            && !self.freeze.suspends_grants()
            && !self.flood.is_quarantined(&counted, now.at)
            && is_same_judge
            && (action != JudgeAction::Allow || may_release())
    }

    /// Assesses a call again if a crisis began or the rules changed since it was assessed. None if
    /// nothing changed, or if the new rules would ask no one: a person is asked then as before.
    pub(super) async fn assess_again(
        &self,
        rules: &DaemonRules,
        submission: &CallSubmission<'_>,
        caller: &Caller,
        crisis: bool,
    ) -> Result<Option<AssessedAgain>, Rejection> {
        let newer = self.rules();
        let session = submission.call.session.as_deref();
        let began = !crisis && self.crises.holds(&caller.agent, session);
        if !began && newer.hash == rules.hash {
            return Ok(None);
        }
        let mut call = submission.call.clone();
        let by = (!submission.join.ignore_grants, &submission.projects);
        let (seen, goes) = self.assess_call(&newer, &mut call, caller, by);
        match goes {
            Route::Pass { .. } => Ok(None),
            Route::Refuse => {
                let digest = digest(&call, submission.raw);
                Err(self.refuse(&newer, submission, &seen, digest).await)
            }
            Route::Ask { crisis: true } if self.is_taken_over(submission, caller) => {
                Err(Rejection::TakenOver)
            }
            Route::Ask { crisis } => Ok(Some(AssessedAgain { rules: newer, seen, crisis })),
        }
    }
}
