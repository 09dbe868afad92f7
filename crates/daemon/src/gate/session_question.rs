//! What a call asks about, as it is stored with its request.

use countersign_json::canonical::CallDigest;
use countersign_risk::assess::Assessment;
use countersign_risk::session_answer::SessionQuestion;

use super::caller::Caller;
use super::repository;
use super::submission::CallSubmission;

/// What a call asks about, for an answer that counts for the rest of its session. Nothing of a
/// call in a crisis is kept.
pub(super) fn session_question(
    submission: &CallSubmission<'_>,
    seen: &Assessment,
    digest: &CallDigest,
    crisis: bool,
) -> SessionQuestion {
    if crisis || submission.call.session.as_deref().is_none_or(str::is_empty) {
        return SessionQuestion::default();
    }
    SessionQuestion::new(seen, digest)
}

/// The same with the repository that the call runs in, for an answer that counts there.
pub(super) async fn with_repository(
    question: SessionQuestion,
    submission: &CallSubmission<'_>,
    caller: &Caller,
    seen: &Assessment,
) -> SessionQuestion {
    if !question.is_answerable() {
        return question;
    }
    match repository::find(caller, &submission.call.context).await {
        Some(folder) => question.in_repository(seen, folder),
        None => question,
    }
}
