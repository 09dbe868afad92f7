//! Grants for a tool with conditions on its arguments, such as `repository=acme/shop`.

use countersign_json::Value;
use countersign_risk::call::Annotations;
use countersign_store::StoredRequest;
use countersign_workflow::grant::{
    ArgumentConstraint, GrantShape, ShownToolCall, ToolCallShape, example_arguments,
};

use super::from_request;
use super::members::tool_name;
use super::useful::assess_example;
use crate::api::fields::Fields;
use crate::api::{Api, ApiProblem};

/// The most conditions as texts; several may be about the same argument.
const MAX_TEXTS: usize = 200;

/// The shape, from the request that it was made from or by the name of the tool.
pub fn shape(
    api: &Api,
    fields: &Fields<'_, '_>,
    stored: Option<&StoredRequest>,
) -> Result<GrantShape, ApiProblem> {
    fields.text("request")?;
    if let Some(stored) = stored {
        return from_request::tool_call_shape(stored, conditions(fields, true)?);
    }
    let (tool, conditions) = (tool_name(fields)?, conditions(fields, false)?);
    // A person who names a tool of a server expects that it acts outside.
    let annotations = Annotations { open_world: Some(true), ..Annotations::default() };
    let arguments = example_arguments(&conditions);
    let seen = assess_example(api, &tool, arguments.clone(), annotations);
    let shape = ToolCallShape::new(&ShownToolCall::new(&arguments, &seen), conditions);
    let shape = shape.map_err(|error| ApiProblem::conflict(error.message()))?;
    Ok(GrantShape::ToolCall(Box::new(shape)))
}

fn conditions(
    fields: &Fields<'_, '_>,
    may_be_empty: bool,
) -> Result<Vec<ArgumentConstraint>, ApiProblem> {
    let list = fields.list("where")?.unwrap_or_default();
    if list.is_empty() && may_be_empty {
        return Ok(Vec::new());
    }
    let texts: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
    let texts = texts.filter(|texts| texts.len() <= MAX_TEXTS).ok_or_else(|| {
        ApiProblem::bad_request(format!("`where` must be a list of up to {MAX_TEXTS} strings"))
    })?;
    ArgumentConstraint::parse_all(texts).map_err(|error| {
        let error = countersign_text::sanitize::sanitize_within(&error, 300);
        ApiProblem::bad_request(format!("`where`: {}", error.text))
    })
}
