//! Budgets of a grant: money (`spend`) and recipients.

use countersign_text::sanitize::sanitize_within;
use countersign_workflow::grant::{GrantBudget, GrantShape, SpendLimit};

use super::members::integer;
use crate::api::ApiProblem;
use crate::api::fields::Fields;

const MAX_RECIPIENTS: u32 = 1_000;

/// The budget that a person asks for. Only a grant that names all arguments has one, and one for
/// calls that name an amount of money needs one.
pub fn budget(
    fields: &Fields<'_, '_>,
    shape: &GrantShape,
) -> Result<Option<GrantBudget>, ApiProblem> {
    let recipients = integer(fields, "recipients", MAX_RECIPIENTS)?;
    let spend = fields.text("spend")?.map(SpendLimit::parse).transpose().map_err(|error| {
        ApiProblem::bad_request(format!("`spend`: {}", sanitize_within(&error, 300).text))
    })?;
    let GrantShape::ToolCall(shape) = shape else {
        return match (spend, recipients) {
            (None, None) => Ok(None),
            _ => Err(ApiProblem::conflict(
                "a grant with a budget must name all arguments: it needs conditions (`where`)",
            )),
        };
    };
    if let Some(spend) = spend.as_ref().filter(|spend| !shape.has_argument(&spend.member)) {
        let member = sanitize_within(&spend.member, 60);
        return Err(ApiProblem::conflict(format!(
            "`spend`: `{}` is not an argument that every call has",
            member.text
        )));
    }
    if spend.is_none() && shape.moves_money() {
        return Err(ApiProblem::conflict(
            "the call names an amount of money, so the grant needs a budget: \
             spend ARGUMENT:CURRENCY:LIMIT, such as amount:USD:500",
        ));
    }
    let has_budget = spend.is_some() || recipients.is_some();
    Ok(has_budget.then_some(GrantBudget { spend, recipients }))
}
