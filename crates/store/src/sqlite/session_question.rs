//! What a request asks about, as a column stores it.

use countersign_risk::session_answer::SessionQuestion;

use super::errors::corrupt;
use crate::error::{StoreError, StoreResult};

/// The fact of an `ask` entry that binds what the request asks about.
pub(super) const QUESTION: &str = "session_question";

/// Reads what a request asks about.
pub(super) fn question(text: Option<&str>) -> StoreResult<SessionQuestion> {
    let Some(text) = text else { return Ok(SessionQuestion::default()) };
    serde_json::from_str(text).map_err(|e| corrupt(format!("invalid session question: {e}")))
}

/// What a request asks about, as it is stored; none if it asks about nothing.
pub(super) fn question_text(question: &SessionQuestion) -> StoreResult<Option<String>> {
    if *question == SessionQuestion::default() {
        return Ok(None);
    }
    let text = serde_json::to_string(question);
    text.map(Some).map_err(|e| StoreError::Invalid(e.to_string()))
}
