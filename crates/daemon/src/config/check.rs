//! Checks that every part of the configuration uses, and the error that they report.

use countersign_types::time::Span;

use super::ConfigError;

/// The error for a field whose value cannot be used.
pub fn invalid(field: &'static str, problem: impl Into<String>) -> ConfigError {
    ConfigError::Invalid { field, problem: problem.into() }
}

/// A number of seconds within bounds, or the default.
pub fn seconds(
    field: &'static str,
    value: Option<u32>,
    default: u32,
    bounds: std::ops::RangeInclusive<u32>,
) -> Result<Span, ConfigError> {
    number(field, value, default, bounds).map(Span::seconds)
}

/// A number within bounds, or the default.
pub fn number(
    field: &'static str,
    value: Option<u32>,
    default: u32,
    bounds: std::ops::RangeInclusive<u32>,
) -> Result<u32, ConfigError> {
    let value = value.unwrap_or(default);
    if bounds.contains(&value) {
        return Ok(value);
    }
    let (least, most) = (bounds.start(), bounds.end());
    Err(invalid(field, format!("{value} is not between {least} and {most}")))
}
