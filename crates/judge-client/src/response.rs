//! What a model answered, and how both APIs' responses are read.

use countersign_json as json;
use countersign_json::Value;

use crate::error::ModelError;

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelReply {
    /// The text of the answer, complete.
    pub text: String,
    /// Tokens of the prompt.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
}

/// A response body as strict JSON.
pub fn parse(body: &[u8]) -> Result<Value<'_>, ModelError> {
    json::parse_bytes(body).map_err(|_| ModelError::Form("not JSON"))
}

/// A whole number, if there is one.
pub fn count(value: &Value<'_>, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_number).and_then(|digits| digits.parse().ok())
}

/// Whether a member is absent, null, or an empty list.
pub fn is_absent(value: &Value<'_>, pointer: &str) -> bool {
    value.pointer(pointer).is_none_or(|found| {
        found.is_null() || found.as_array().is_some_and(<[Value<'_>]>::is_empty)
    })
}

/// A word of a server in an error: bounded, plain characters only.
pub fn plain_word(text: &str) -> String {
    let fits = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    text.chars().filter(fits).take(32).collect()
}
