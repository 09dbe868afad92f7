//! Grants that rest on a request: commands of a pattern, conditions on the arguments of its tool,
//! and the text of an exact call.

use countersign_json::canonical::CallDigest;
use countersign_store::StoredRequest;
use countersign_workflow::grant::{ArgumentConstraint, GrantShape};
use countersign_workflow::request::State;

use crate::api::ApiProblem;
use crate::gate::{self, shape_for, shown_call};

/// The longest text of an exact call, in bytes.
const MAX_SHOWN: usize = 300;

/// The shape of the pattern, for the request that it was made from.
pub fn command_shape(
    stored: Option<&StoredRequest>,
    pattern: &str,
) -> Result<GrantShape, ApiProblem> {
    let stored = stored.ok_or_else(|| ApiProblem::bad_request("`request` is required"))?;
    check_request(stored)?;
    let shape = shape_for(stored, pattern).map_err(ApiProblem::conflict)?;
    Ok(GrantShape::Command(Box::new(shape)))
}

/// The shape of conditions on arguments, for the request that it was made from.
pub fn tool_call_shape(
    stored: &StoredRequest,
    conditions: Vec<ArgumentConstraint>,
) -> Result<GrantShape, ApiProblem> {
    check_request(stored)?;
    let shape = gate::tool_call_shape(stored, conditions).map_err(ApiProblem::conflict)?;
    Ok(GrantShape::ToolCall(Box::new(shape)))
}

/// Rejects requests that no grant can rest on.
fn check_request(stored: &StoredRequest) -> Result<(), ApiProblem> {
    if stored.request.state == State::Denied {
        return Err(ApiProblem::conflict("people denied this request"));
    }
    if stored.request.requester.is_drill() {
        return Err(ApiProblem::conflict("this request cannot have a grant"));
    }
    if stored.request.quorum.approve > 1 {
        return Err(ApiProblem::conflict("this call needs several people, so it has no grant"));
    }
    Ok(())
}

/// The text of an exact call, from the request that it was made from.
pub fn exact_text(
    stored: Option<&StoredRequest>,
    digest: &CallDigest,
) -> Result<Option<String>, ApiProblem> {
    match stored {
        Some(stored) if stored.request.digest != *digest => {
            Err(ApiProblem::conflict("the request is for another call"))
        }
        stored => Ok(stored.and_then(call_text)),
    }
}

/// The text of the call of a request.
pub fn call_text(stored: &StoredRequest) -> Option<String> {
    shown_call(stored, MAX_SHOWN)
}
