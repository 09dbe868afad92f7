//! Why something is no entry of a ledger.

use std::fmt;

use super::MAX_ENTRY;
use countersign_json::JsonError;
use countersign_text::sanitize::show_within;

/// Why something is no entry, or cannot be written as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryError {
    /// Longer than `MAX_ENTRY`.
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// Facts inside facts, too many levels.
    TooDeep,
    /// A number that no double holds.
    Number,
    /// A name that stands twice in the facts.
    Twice,
    /// No time, or one that is no whole number of milliseconds within 2^53.
    Time,
    /// Not JSON.
    Json(JsonError),
    /// JSON, but no object.
    NoObject,
    /// Of another version, or without one.
    Version,
    /// A member that must be there is not.
    Missing(&'static str),
    /// A member is not what it must be.
    Member(&'static str),
    /// A kind of entry that nobody knows.
    Kind(String),
    /// A member that nobody knows.
    Unknown(String),
    /// The same could be said in other bytes; only one form is taken.
    NotCanonical,
}

impl fmt::Display for EntryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EntryError::TooLong { bytes } => {
                write!(f, "it has {bytes} bytes, at most {MAX_ENTRY} are taken")
            }
            EntryError::TooDeep => f.write_str("its facts are nested too deeply"),
            EntryError::Number => {
                f.write_str("its facts hold a number that no double holds; write it as text")
            }
            EntryError::Twice => f.write_str("its facts name something twice"),
            EntryError::Time => f.write_str("its time is not a whole number of milliseconds"),
            EntryError::Json(error) => write!(f, "it is not JSON: {error}"),
            EntryError::NoObject => f.write_str("it is not a JSON object"),
            EntryError::Version => f.write_str("its version is not 1"),
            EntryError::Missing(name) => write!(f, "its member \"{name}\" is missing"),
            EntryError::Member(name) => write!(f, "its member \"{name}\" is of the wrong form"),
            EntryError::Kind(word) => {
                write!(f, "its kind \"{}\" is not known", show_within(word, 64).text)
            }
            EntryError::Unknown(key) => {
                write!(f, "its member \"{}\" is not known", show_within(key, 64).text)
            }
            EntryError::NotCanonical => f.write_str("it is not in canonical form"),
        }
    }
}

impl std::error::Error for EntryError {}
