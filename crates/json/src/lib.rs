//! Strict JSON: duplicate keys rejected, numbers exact, depth and size bounded.

pub mod base64;
pub mod canonical;
mod error;
mod parse;
mod serialize;
mod value;
mod write;

#[cfg(test)]
mod tests;

pub use error::{JsonError, JsonErrorKind};
pub use parse::{MAX_BYTES, member_text, parse, parse_bytes, parse_within};
pub use value::{MAX_DEPTH, Value, push_index, push_key};
pub use write::write_string;
