//! One call put to the daemon: asked, waited for, used once.

use std::time::{Duration, Instant};

use countersign_client::{Agent, Error, Outcome, Question, Request, Waited, Waiting};
use countersign_json::canonical::Digest;

use crate::agents::{Answer, Proposed, Ran};

/// How long a daemon may be gone that was heard before: long enough for a restart, and no longer,
/// because the person should hear of it.
const GONE: Duration = Duration::from_secs(30);
/// So often an approval may turn out to have been used by somebody else.
const USED_BY_OTHERS: usize = 3;

/// Asks, and waits until somebody answered or the host's patience ends.
pub fn ask(daemon: &Agent, call: &Proposed, end: Instant) -> Answer {
    let mut question = match question(call) {
        Ok(question) => question,
        Err(error) => return Answer::Denied(said(&error)),
    };
    for _ in 0..USED_BY_OTHERS {
        let waiting = Waiting { end, gone: Some(GONE) };
        let ended = match daemon.wait_until(waiting, || daemon.join(&question), |_| true) {
            Ok(Waited::Ended(outcome)) => outcome,
            Ok(Waited::Pending { request, .. }) => return Answer::Denied(still_waiting(&request)),
            Err(error) => return Answer::Denied(said(&error)),
        };
        match used(daemon, &ended, call, &question) {
            Some(answer) => return answer,
            // The same call twice at once: the other one got it. Asked anew, not under this name.
            None => question.call_id = None,
        }
    }
    Answer::Denied("Countersign: this call was approved, but only once; propose it again.".into())
}

/// What an end means for this call: a yes is used up for it. Nothing if somebody else has used it.
pub fn used(
    daemon: &Agent,
    ended: &Outcome,
    call: &Proposed,
    question: &Question,
) -> Option<Answer> {
    let Outcome::Approved(approval) = ended else { return Some(Answer::Denied(refused(ended))) };
    let request = approval.request();
    if request.id.is_none() {
        return Some(Answer::Pass);
    }
    let permit = approval.permit()?;
    let edited = request.edited_arguments.as_ref().map(ToString::to_string);
    let run = match &edited {
        None => Ok(question.clone()),
        Some(text) => Question::tool(&call.tool, text).map(|mut run| {
            run.cwd.clone_from(&question.cwd);
            run.session.clone_from(&question.session);
            run
        }),
    };
    match run.and_then(|run| daemon.redeem(permit, &run)) {
        Ok(_) => Some(Answer::Approved { edited }),
        Err(Error::Denied(problem)) if problem.why.as_deref() == Some("used") => None,
        Err(error) => Some(Answer::Denied(said(&error))),
    }
}

/// The call as a question.
pub fn question(call: &Proposed) -> Result<Question, Error> {
    let mut question = Question::tool(&call.tool, &call.arguments)?;
    question.session.clone_from(&call.session);
    question.cwd.clone_from(&call.cwd);
    question.platform = Some("cli".to_owned());
    question.call_id.clone_from(&call.call_id);
    Ok(question)
}

/// What came of a call, without its words.
pub fn told(ran: &Ran) -> countersign_client::Ran {
    let digest = ran.result.as_deref().map(|text| Digest::of(text.as_bytes()).to_string());
    countersign_client::Ran {
        failed: ran.failed,
        exit_code: ran.exit_code,
        duration_ms: ran.duration_ms,
        result_digest: digest,
    }
}

/// Why it may not run, for the model: what happened, and what to do instead.
pub fn refused(ended: &Outcome) -> String {
    let request = ended.request();
    let reason = match request.reason().trim() {
        "" => String::new(),
        reason => format!(" Their reason: {reason}."),
    };
    match ended {
        Outcome::Approved(_) => "Countersign: this answer was not understood.".to_owned(),
        Outcome::Denied(_) if request.decision.as_ref().is_some_and(|d| d.by.kind == "people") => {
            format!(
                "Countersign: a person ({}) denied this call.{reason} Do not try it another way; \
                 ask them what to do instead.",
                request.decided_by()
            )
        }
        Outcome::Denied(_) => format!(
            "Countersign: denied by {}.{reason} Do not try it another way; ask the person who \
             runs you.",
            request.decided_by()
        ),
        Outcome::Expired(_) => {
            "Countersign: nobody answered in time, so this call was not run. Tell the person that \
             it waits for them before you propose it again."
                .to_owned()
        }
        Outcome::Cancelled(_) => "Countersign: this call was taken back.".to_owned(),
    }
}

/// The host would lose patience: the question stays open, and the same call joins it.
pub fn still_waiting(request: &Request) -> String {
    format!(
        "Countersign: still waiting for a person (request {}, \"{}\"), so this call was not run \
         yet. Propose the very same call again to go on waiting; do nothing else in its place.",
        request.id.as_deref().unwrap_or_default(),
        request.phrase,
    )
}

/// Nobody was asked, because nobody could be.
pub fn absent(why: &str) -> String {
    format!(
        "Countersign: nobody could be asked ({why}), so this call was not run. This is not a \
         person's no: `countersign serve` must run; tell the person."
    )
}

/// An error as a no.
pub fn said(error: &Error) -> String {
    match error {
        Error::Denied(problem) => {
            let why = problem.detail.trim_start_matches("denied: ");
            format!("Countersign: denied by the rules: {why}. Do not try it another way.")
        }
        Error::Unreachable { .. } | Error::Unavailable { .. } => absent(&error.to_string()),
        _ => format!("Countersign: {error}, so this call was not run."),
    }
}
