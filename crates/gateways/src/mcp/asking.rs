//! One question put to the gate and waited for. Every way out but one is a no.

use std::time::{Duration, Instant};

use countersign_client::{Agent, Error, Outcome, Question, Request, Waited, Waiting, fresh_key};

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

/// Asks, and waits for the answer as long as `waits` says so; it is told the request's id and
/// two words. With `joins` it shares the request of the same call, if there is one.
pub fn ask(
    agent: &Agent,
    question: &Question,
    joins: bool,
    mut waits: impl FnMut(Option<(&str, &str)>) -> bool,
) -> Ruling {
    let seconds = question.timeout_seconds.unwrap_or(USUAL);
    let end = Instant::now() + Duration::from_secs(seconds.into()) + GRACE;
    let mut question = question.clone();
    if !joins {
        match fresh_key() {
            Ok(key) => question.key = Some(key),
            Err(error) => return failed(&error.to_string()),
        }
    }
    let put = || if joins { agent.join(&question) } else { agent.submit(&question) };
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
        Ok(Waited::Pending { lost: Some(error), .. }) | Err(error) => unheard(&error),
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
        Ok(used) if Some(&used.request) == yes.request.as_ref() => Use::Run(yes),
        Ok(_) => Use::No(not_asked("the approval was for another request")),
        Err(Error::Denied(problem)) if matches!(problem.why.as_deref(), Some("used" | "late")) => {
            Use::Again
        }
        Err(error) => Use::No(not_asked(&error.to_string())),
    }
}

fn unheard(error: &Error) -> Ruling {
    match error {
        Error::Denied(problem) => Ruling::No(No::new("denied", words::denied(&problem.detail))),
        Error::Unreachable { .. } => failed("the gate does not answer"),
        other => failed(&other.to_string()),
    }
}

fn failed(why: &str) -> Ruling {
    Ruling::No(not_asked(why))
}

fn not_asked(why: &str) -> No {
    let why = format!(
        "Not run: nobody could be asked about this call ({}). Nothing was approved; tell the user.",
        why.trim_end_matches('.')
    );
    No::new("unavailable", why)
}
