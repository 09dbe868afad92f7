//! One question put to the gate and waited for. Every way out but one is a no.

use std::time::{Duration, Instant};

use countersign_client::{
    Agent, BatchItem, Error, Outcome, Problem, Question, Request, Waited, Waiting, fresh_key,
};

use super::park::Carried;
use super::words::{self, No};

/// How long after the deadline an answer is still waited for.
const GRACE: Duration = Duration::from_secs(10);
/// The deadline where nothing is said.
const USUAL: u32 = 300;

/// What the gate says.
#[derive(Debug)]
pub enum Ruling {
    /// The call may run.
    Yes(Yes),
    /// It may not.
    No(No),
}

/// A call that may run.
#[derive(Debug, Default)]
pub struct Yes {
    /// The request, where a person or a grant was needed.
    pub request: Option<String>,
    /// The text of the arguments to run with instead.
    pub edited: Option<String>,
    /// What the call brought for its server, where the client brings our state instead.
    pub carried: Option<Carried>,
    /// The tier; what is CRITICAL is asked about again at every turn.
    pub tier: String,
    /// Single use, where a person had to be asked.
    permit: Option<String>,
    /// Whether a person had to be asked.
    by_people: bool,
    /// Whether the approval was used already.
    is_used: bool,
}

/// What an approval is worth at the moment the call is to run.
#[derive(Debug)]
pub enum Use {
    /// It was used up now: the call runs.
    Run(Yes),
    /// The call does not run.
    No(No),
    /// Somebody else has used it, or it is too old: a person has to be asked anew.
    Again,
}

/// How a question gets to the gate.
#[derive(Debug)]
pub enum How {
    /// It shares the request of the same call, if there is one.
    Join,
    /// It is one of its own.
    Alone,
    /// It is there already, so.
    Asked(Box<Request>),
}

/// Asks, and waits for the answer as long as `waits` says so; it is told the request's id and
/// two words.
pub fn ask(
    agent: &Agent,
    question: &Question,
    how: &How,
    mut waits: impl FnMut(Option<(&str, &str)>) -> bool,
) -> Ruling {
    let seconds = question.timeout_seconds.unwrap_or(USUAL);
    let end = Instant::now() + Duration::from_secs(seconds.into()) + GRACE;
    let mut question = question.clone();
    if matches!(how, How::Alone) {
        match fresh_key() {
            Ok(key) => question.key = Some(key),
            Err(error) => return failed(&error.to_string()),
        }
    }
    let put = || match how {
        How::Join => agent.join(&question),
        How::Alone => agent.submit(&question),
        How::Asked(request) => Ok((**request).clone()),
    };
    let mut taken_back = false;
    let goes_on = |open: Option<&Request>| {
        let named = open.and_then(|open| Some((open.id.as_deref()?, open.phrase.as_str())));
        taken_back = !waits(named);
        !taken_back
    };
    match agent.wait_until(Waiting { end, gone: None }, put, goes_on) {
        Ok(Waited::Ended(outcome)) => ruling(outcome),
        Ok(Waited::Pending { request, .. }) if taken_back => {
            drop(request.id.as_deref().map(|id| agent.cancel(id)));
            Ruling::No(No::new("cancelled", "Not run: the call was taken back."))
        }
        Ok(Waited::Pending { lost: Some(error), .. }) | Err(error) => Ruling::No(unheard(&error)),
        Ok(Waited::Pending { lost: None, .. }) => failed("no answer came before the deadline"),
    }
}

fn ruling(outcome: Outcome) -> Ruling {
    match outcome {
        Outcome::Approved(approval) => {
            let request = approval.request();
            let edited = request.edited_arguments.as_ref().map(ToString::to_string);
            let decision = request.decision.as_ref();
            Ruling::Yes(Yes {
                request: request.id.clone(),
                edited,
                carried: None,
                tier: request.tier.clone(),
                permit: approval.permit().map(ToOwned::to_owned),
                by_people: decision.is_some_and(|one| one.by.kind == "people"),
                is_used: request.redeemed.is_some(),
            })
        }
        Outcome::Denied(request) => no("denied", words::denied(request.reason()), *request),
        Outcome::Expired(request) => {
            let why = "Not run: nobody answered in time, so the answer is no. Do not work around \
                       this; ask the user.";
            no("expired", why.to_owned(), *request)
        }
        Outcome::Cancelled(request) => {
            no("cancelled", "Not run: the request was taken back.".to_owned(), *request)
        }
    }
}

fn no(status: &'static str, why: String, request: Request) -> Ruling {
    Ruling::No(No { status, why, request: request.id })
}

/// Uses an approval up before the call runs: it is for one run, whoever waits for it. A hook of
/// the same host may have used it for this very call, which then has a name: `is_new` says whether
/// this name was never seen here.
pub fn used(
    agent: &Agent,
    question: &Question,
    yes: Yes,
    is_new: impl FnOnce(&str) -> bool,
) -> Use {
    let Some(permit) = yes.permit.as_deref() else {
        return match question.call_id.as_deref() {
            _ if !yes.by_people => Use::Run(yes),
            Some(name) if yes.is_used && is_new(name) => Use::Run(yes),
            _ => Use::Again,
        };
    };
    let called = match yes.edited.as_deref() {
        Some(edited) => question.with_arguments(edited),
        None => Ok(question.clone()),
    };
    match called.and_then(|called| agent.redeem(permit, &called)) {
        Ok(used) if Some(&used.request) == yes.request.as_ref() => {
            // From now on this name has had its run: the daemon would give the same answer again.
            question.call_id.as_deref().map(is_new);
            Use::Run(yes)
        }
        Ok(_) => Use::No(not_asked("the approval was for another request")),
        Err(Error::Denied(problem)) if matches!(problem.why.as_deref(), Some("used" | "late")) => {
            Use::Again
        }
        Err(error) => Use::No(not_asked(&error.to_string())),
    }
}

/// Asks about several calls as one group: how each of them goes on.
pub fn ask_all(agent: &Agent, questions: &[Question]) -> Vec<Result<How, No>> {
    let batch = match agent.batch(questions, None) {
        Ok(batch) => batch,
        // Nothing was asked: each may still be asked for itself, as long as it has patience.
        Err(Error::Unreachable { sent: false, .. }) => {
            return questions.iter().map(|_| Ok(How::Alone)).collect();
        }
        Err(error) => return questions.iter().map(|_| Err(unheard(&error))).collect(),
    };
    let how = |item: BatchItem| match item {
        BatchItem::Request(request) => Ok(How::Asked(request)),
        BatchItem::Problem { problem } => Err(denied(&problem)),
        BatchItem::Answered => Err(not_asked("a call of the batch has no answer")),
    };
    batch.requests.into_iter().map(how).collect()
}

fn denied(problem: &Problem) -> No {
    No::new("denied", words::denied(&problem.detail))
}

fn unheard(error: &Error) -> No {
    match error {
        Error::Denied(problem) => denied(problem),
        Error::Unreachable { .. } => not_asked("the gate does not answer"),
        other => not_asked(&other.to_string()),
    }
}

fn failed(why: &str) -> Ruling {
    Ruling::No(not_asked(why))
}

/// The refusal of a call that nobody could be asked about.
pub fn not_asked(why: &str) -> No {
    let why = format!(
        "Not run: nobody could be asked about this call ({}). Nothing was approved; tell the user.",
        why.trim_end_matches('.')
    );
    No::new("unavailable", why)
}
