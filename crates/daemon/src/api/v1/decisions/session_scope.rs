//! Whether an approval may count for the rest of the session or for the repository.

use countersign_store::StoredRequest;
use countersign_types::tier::Tier;
use countersign_workflow::request::ApprovalScope;

use crate::api::ApiProblem;

/// Rejects an approval for the session or the repository that the gate would never use, with the
/// reason.
pub fn check(
    stored: &StoredRequest,
    scope: ApprovalScope,
    edited: bool,
    grant: bool,
) -> Result<(), ApiProblem> {
    if scope == ApprovalScope::Once {
        return Ok(());
    }
    if edited {
        return Err(ApiProblem::conflict("an edited call is approved once; send the scope `once`"));
    }
    if grant {
        return Err(ApiProblem::bad_request(
            "an approval for the session or the repository cannot have a grant; send one of the two",
        ));
    }
    let why = refusal(stored).or_else(|| {
        let refused = scope == ApprovalScope::Repository
            && stored.session_question.answerable_repository().is_none();
        refused.then_some(NOT_FOR_REPOSITORY)
    });
    match why {
        Some(why) => Err(ApiProblem::conflict(format!(
            "this call cannot be approved for the {}: {why}; send the scope `once`",
            scope.label()
        ))),
        None => Ok(()),
    }
}

const NOT_FOR_REPOSITORY: &str = "only the first use of a program without a description can be, in a git repository on the \
     daemon's machine that the agent's hook named";

/// Why a request cannot be approved for its session; none if it can.
fn refusal(stored: &StoredRequest) -> Option<&'static str> {
    let request = &stored.request;
    if stored.session_question.is_answerable() {
        None
    } else if request.crisis {
        Some("a person may be in crisis")
    } else if request.tier == Tier::Critical {
        Some("a CRITICAL call is approved each time")
    } else if stored.session.is_empty() {
        Some("the agent did not name a session")
    } else {
        Some(
            "calls that send messages, spend money or change the agent's own settings are \
             approved each time",
        )
    }
}
