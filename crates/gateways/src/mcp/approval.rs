//! Asks the daemon about one call and waits for the decision. Every failure is a refusal.

use std::time::{Duration, Instant};

use countersign_client::{
    AgentClient, BatchItem, CallRequest, Error, Outcome, ProblemDetails, RequestRecord, WaitLimits,
    WaitResult, new_idempotency_key,
};

use super::replies::{self, CallRefusal};
use super::resume_token::ServerState;

/// How long after the deadline a decision is still waited for.
const GRACE: Duration = Duration::from_secs(10);
/// The deadline of a question that has none, in seconds.
const DEFAULT_DEADLINE: u32 = 300;

/// What the daemon decided.
#[derive(Debug)]
pub enum ApprovalResult {
    /// The call may run.
    Approved(ApprovedCall),
    /// The call may not run.
    Refused(CallRefusal),
}

/// A call that may run.
#[derive(Debug, Default)]
pub struct ApprovedCall {
    /// The request, if a person or a grant was needed.
    pub request: Option<String>,
    /// The text of the arguments that a person wrote instead.
    pub edited: Option<String>,
    /// What the call carries for its server, if the client sent our resume token instead.
    pub server_state: Option<ServerState>,
    /// The tier. A CRITICAL call is asked about again in each round.
    pub tier: String,
    /// The permit for a single run, if a person was asked.
    permit: Option<String>,
    /// Whether a person decided.
    by_people: bool,
    /// Whether the permit was used before.
    is_used: bool,
}

/// What using up an approval gave.
#[derive(Debug)]
pub enum ApprovalUse {
    /// The approval is used up now: the call runs.
    Run(ApprovedCall),
    /// The call does not run.
    Refused(CallRefusal),
    /// The approval was used for another call, or it is too old: a person must be asked again.
    AskAgain,
}

/// How a question gets to the daemon.
#[derive(Debug)]
pub enum SubmissionMode {
    /// It joins the request of the same call, if there is one.
    Join,
    /// It becomes a request of its own.
    New,
    /// It is this request already.
    Submitted(Box<RequestRecord>),
}

/// Submits a question and waits for the decision, for as long as `still_waits` returns true.
/// `still_waits` gets the request's id and its two words once they are known.
pub fn wait_for_decision(
    agent: &AgentClient,
    question: &CallRequest,
    submission: &SubmissionMode,
    mut still_waits: impl FnMut(Option<(&str, &str)>) -> bool,
) -> ApprovalResult {
    let seconds = question.timeout_seconds.unwrap_or(DEFAULT_DEADLINE);
    let end = Instant::now() + Duration::from_secs(seconds.into()) + GRACE;
    let mut question = question.clone();
    if matches!(submission, SubmissionMode::New) {
        match new_idempotency_key() {
            Ok(key) => question.key = Some(key),
            Err(error) => return ApprovalResult::Refused(not_asked(&error.to_string())),
        }
    }
    let submit = || match submission {
        SubmissionMode::Join => agent.join(&question),
        SubmissionMode::New => agent.submit(&question),
        SubmissionMode::Submitted(request) => Ok((**request).clone()),
    };
    let mut is_withdrawn = false;
    let goes_on = |open: Option<&RequestRecord>| {
        let named = open.and_then(|open| Some((open.id.as_deref()?, open.phrase.as_str())));
        is_withdrawn = !still_waits(named);
        !is_withdrawn
    };
    match agent.wait_until(WaitLimits { end, gone: None }, submit, goes_on) {
        Ok(WaitResult::Ended(outcome)) => result_of(outcome),
        Ok(WaitResult::Pending { request, .. }) if is_withdrawn => {
            drop(request.id.as_deref().map(|id| agent.cancel(id)));
            let message = "Not run: the call was withdrawn.";
            ApprovalResult::Refused(CallRefusal::new("cancelled", message))
        }
        Ok(WaitResult::Pending { lost: Some(error), .. }) | Err(error) => {
            ApprovalResult::Refused(refusal_of(&error))
        }
        Ok(WaitResult::Pending { lost: None, .. }) => {
            ApprovalResult::Refused(not_asked("no answer came before the deadline"))
        }
    }
}

fn result_of(outcome: Outcome) -> ApprovalResult {
    match outcome {
        Outcome::Approved(approval) => {
            let request = approval.request();
            let edited = request.edited_arguments.as_ref().map(ToString::to_string);
            let decision = request.decision.as_ref();
            ApprovalResult::Approved(ApprovedCall {
                request: request.id.clone(),
                edited,
                server_state: None,
                tier: request.tier.clone(),
                permit: approval.permit().map(ToOwned::to_owned),
                by_people: decision.is_some_and(|one| one.by.kind == "people"),
                is_used: request.redeemed.is_some(),
            })
        }
        Outcome::Denied(request) => {
            refused("denied", replies::denied_message(request.reason()), *request)
        }
        Outcome::Expired(request) => {
            let message = "Not run: no person answered in time, so the call is denied. Do not work \
                           around this; ask the user.";
            refused("expired", message.to_owned(), *request)
        }
        Outcome::Cancelled(request) => {
            refused("cancelled", "Not run: the request was withdrawn.".to_owned(), *request)
        }
    }
}

fn refused(status: &'static str, message: String, request: RequestRecord) -> ApprovalResult {
    ApprovalResult::Refused(CallRefusal { status, message, request: request.id })
}

/// Uses up an approval before the call runs: it is for one run, however many callers wait. A hook
/// of the same host may have used it for this very call, which then has a call id: `is_new` says
/// whether this call id was never seen here.
pub fn redeem(
    agent: &AgentClient,
    question: &CallRequest,
    approved: ApprovedCall,
    is_new: impl FnOnce(&str) -> bool,
) -> ApprovalUse {
    let Some(permit) = approved.permit.as_deref() else {
        return match question.call_id.as_deref() {
            _ if !approved.by_people => ApprovalUse::Run(approved),
            Some(call_id) if approved.is_used && is_new(call_id) => ApprovalUse::Run(approved),
            _ => ApprovalUse::AskAgain,
        };
    };
    let called = match approved.edited.as_deref() {
        Some(edited) => question.with_arguments(edited),
        None => Ok(question.clone()),
    };
    match called.and_then(|called| agent.redeem(permit, &called)) {
        Ok(used) if Some(&used.request) == approved.request.as_ref() => {
            // This call id has had its run: the daemon would give the same answer again.
            question.call_id.as_deref().map(is_new);
            ApprovalUse::Run(approved)
        }
        Ok(_) => ApprovalUse::Refused(not_asked("the approval was for another request")),
        Err(Error::Denied(problem)) if matches!(problem.why.as_deref(), Some("used" | "late")) => {
            ApprovalUse::AskAgain
        }
        Err(error) => ApprovalUse::Refused(not_asked(&error.to_string())),
    }
}

/// Submits several questions as one group: how each of them goes on.
pub fn submit_group(
    agent: &AgentClient,
    questions: &[CallRequest],
) -> Vec<Result<SubmissionMode, CallRefusal>> {
    let group = match agent.batch(questions, None) {
        Ok(group) => group,
        // Nothing was submitted: each question may still be submitted by itself.
        Err(Error::Unreachable { sent: false, .. }) => {
            return questions.iter().map(|_| Ok(SubmissionMode::New)).collect();
        }
        Err(error) => return questions.iter().map(|_| Err(refusal_of(&error))).collect(),
    };
    let submission = |item: BatchItem| match item {
        BatchItem::Request(request) => Ok(SubmissionMode::Submitted(request)),
        BatchItem::Problem { problem } => Err(denied(&problem)),
        BatchItem::Answered => Err(not_asked("a call of the batch has no answer")),
    };
    group.requests.into_iter().map(submission).collect()
}

fn denied(problem: &ProblemDetails) -> CallRefusal {
    CallRefusal::new("denied", replies::denied_message(&problem.detail))
}

fn refusal_of(error: &Error) -> CallRefusal {
    match error {
        Error::Denied(problem) => denied(problem),
        Error::Unreachable { .. } => not_asked("the gate does not answer"),
        other => not_asked(&other.to_string()),
    }
}

/// The refusal of a call about which no person could be asked.
pub fn not_asked(why: &str) -> CallRefusal {
    let message = format!(
        "Not run: no person could be asked about this call ({}). Nothing was approved; tell the user.",
        why.trim_end_matches('.')
    );
    CallRefusal::new("unavailable", message)
}
