//! Grants that rest on a request: commands of a pattern, and the text of an exact call.

use countersign_json::canonical::CallDigest;
use countersign_store::StoredRequest;
use countersign_workflow::grant::GrantShape;
use countersign_workflow::request::State;

use crate::api::ApiProblem;
use crate::gate::{shape_for, shown_call};

/// The longest text of an exact call, in bytes.
const MAX_SHOWN: usize = 300;

/// The shape of the pattern, for the request that it was made from.
pub fn command_shape(
    stored: Option<&StoredRequest>,
    pattern: &str,
) -> Result<GrantShape, ApiProblem> {
    let stored = stored.ok_or_else(|| ApiProblem::bad_request("`request` is required"))?;
    if stored.request.state == State::Denied {
        return Err(ApiProblem::conflict("people denied this request"));
    }
    if stored.request.requester.is_drill() {
        return Err(ApiProblem::conflict("this request cannot have a grant"));
    }
    if stored.request.quorum.approve > 1 {
        return Err(ApiProblem::conflict("this call needs several people, so it has no grant"));
    }
    let shape = shape_for(stored, pattern).map_err(ApiProblem::conflict)?;
    Ok(GrantShape::Command(Box::new(shape)))
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
