//! Members of a new grant that several shapes have.

use crate::api::ApiProblem;
use crate::api::fields::Fields;

/// The longest name of a tool or a session, in bytes.
pub const MAX_NAME: usize = 200;

/// The name of the tool.
pub fn tool_name(fields: &Fields<'_, '_>) -> Result<String, ApiProblem> {
    let name = fields.required_text("tool")?;
    if name.len() <= MAX_NAME {
        Ok(name.to_owned())
    } else {
        Err(ApiProblem::bad_request(format!("`tool` may have at most {MAX_NAME} bytes")))
    }
}

/// A number from 1 to `most`.
pub fn integer(
    fields: &Fields<'_, '_>,
    name: &'static str,
    most: u32,
) -> Result<Option<u32>, ApiProblem> {
    let Some(value) = fields.get(name) else { return Ok(None) };
    let number = value.as_number().and_then(|digits| digits.parse().ok());
    let number = number.filter(|number| (1..=most).contains(number));
    number.map(Some).ok_or_else(|| ApiProblem::bad_request(format!("`{name}` must be 1 to {most}")))
}
