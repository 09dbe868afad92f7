//! What a denial tells the model: what happened, why, and what to do next.

use countersign_client::{Error, Outcome, RequestRecord};
use countersign_risk::segments::APPROVED_ONLY;

/// Why a decided request may not run.
pub fn denied(ended: &Outcome) -> String {
    let request = ended.request();
    let reason = match request.reason().trim() {
        "" => String::new(),
        reason => format!(" Their reason: {reason}."),
    };
    match ended {
        Outcome::Approved(_) => invalid_answer(),
        Outcome::Denied(_) if request.reason().starts_with(APPROVED_ONLY) => format!(
            "Countersign: a person ({}) approved only a part of this command, so nothing was run. \
             {} Do not try the rest another way.",
            request.decided_by(),
            request.reason().trim()
        ),
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
            "Countersign: no person answered in time, so this call was not run. Tell the person that \
             it is pending before you propose it again."
                .to_owned()
        }
        Outcome::Cancelled(_) => "Countersign: this call was cancelled.".to_owned(),
    }
}

/// The agent would give up waiting: the request stays pending, and the same call joins it.
pub fn pending(request: &RequestRecord) -> String {
    format!(
        "Countersign: pending. A person has not decided yet (request {}, \"{}\"), so this call was \
         not run. Continue with other work that does not depend on it. Propose exactly the \
         same call again later: the answer will be there. Do not try it another way.",
        request.id.as_deref().unwrap_or_default(),
        request.phrase,
    )
}

/// No person was asked, because the daemon could not be reached.
pub fn unreachable(why: &str) -> String {
    format!(
        "Countersign: no person could be asked ({why}), so this call was not run. No person denied \
         it. Tell the person to run `countersign serve`."
    )
}

/// The denial for an error of the daemon.
pub fn failed(error: &Error) -> String {
    match error {
        Error::Denied(problem) if problem.name() == "frozen" => {
            let why = problem.detail.trim_start_matches("denied: ");
            format!("Countersign: {why}. Stop, and tell the person; do not try it another way.")
        }
        Error::Denied(problem) if problem.name() == "too-many-questions" => {
            let why = problem.detail.trim_start_matches("denied: ");
            format!("Countersign: {why}. No person denied it; do not try it another way.")
        }
        Error::Denied(problem) => {
            let why = problem.detail.trim_start_matches("denied: ");
            let why = match why.strip_prefix("denied by rule ") {
                Some(rule) => format!("denied by rule {rule}"),
                None => format!("denied by the rules: {why}"),
            };
            format!("Countersign: {}. Do not try it another way.", why.trim_end_matches('.'))
        }
        Error::Unreachable { .. } | Error::Unavailable { .. } => unreachable(&error.to_string()),
        _ => format!("Countersign: {error}, so this call was not run."),
    }
}

/// The denial for an answer of the daemon that is not valid.
pub fn invalid_answer() -> String {
    "Countersign: the daemon's answer is not valid, so this call was not run.".to_owned()
}
