//! The names that people and agents may have.

use countersign_workflow::request::DRILL;

pub use crate::gate::ANONYMOUS;
use crate::gate::RefusedLabels;

/// Why a name is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Not 1 to 64 of the allowed characters.
    #[error("a name must have 1 to 64 characters of A-Z, a-z, 0-9, `.`, `_` and `-`")]
    InvalidCharacters,
    /// The name has another meaning in records.
    #[error("this name is reserved")]
    Reserved,
}

/// Words that records use in the place of a person's name.
const RESERVED_FOR_PEOPLE: [&str; 9] =
    ["agent", "anonymous", "deadline", DRILL, "grant", "judge", "policy", "requester", "whitelist"];

/// Words that stand for the product itself: an agent with such a name could be mistaken for it.
const RESERVED_FOR_AGENTS: [&str; 8] =
    ["admin", "administrator", "approver", "countersign", "daemon", "owner", "root", "system"];

/// Checks the name of a person.
pub fn person_name(name: &str) -> Result<(), NameError> {
    check_characters(name)?;
    let reserved = RESERVED_FOR_PEOPLE.iter().any(|word| word.eq_ignore_ascii_case(name));
    if reserved { Err(NameError::Reserved) } else { Ok(()) }
}

/// Checks the name of an agent. `uid:1000` is the name of an unknown caller on the socket.
pub fn agent_name(name: &str) -> Result<(), NameError> {
    let socket = name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("uid:"));
    let words = [ANONYMOUS, DRILL];
    let mut reserved = words.iter().chain(&RESERVED_FOR_PEOPLE).chain(&RESERVED_FOR_AGENTS);
    if socket || reserved.any(|word| word.eq_ignore_ascii_case(name)) {
        return Err(NameError::Reserved);
    }
    check_characters(name)
}

/// The labels that no agent program may have, because they are names of people or of the product.
pub fn refused_labels<'n>(people: impl Iterator<Item = &'n str>) -> RefusedLabels {
    let words = RESERVED_FOR_AGENTS.into_iter().chain(people);
    RefusedLabels::new(RESERVED_FOR_PEOPLE, words)
}

fn check_characters(name: &str) -> Result<(), NameError> {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let fits = (1..=64).contains(&name.len()) && name.bytes().all(letter);
    if fits { Ok(()) } else { Err(NameError::InvalidCharacters) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_not_reserved() {
        for name in ["ana", "A.b_c-9", &"x".repeat(64)] {
            assert_eq!((person_name(name), agent_name(name)), (Ok(()), Ok(())), "{name}");
        }
        let long = "x".repeat(65);
        for name in ["", "a b", "a/b", "a:b", "\u{430}na", "ana\n", "a,b", &long] {
            assert_eq!(person_name(name), Err(NameError::InvalidCharacters), "{name:?}");
            assert_eq!(agent_name(name), Err(NameError::InvalidCharacters), "{name:?}");
        }
        for name in ["anonymous", "uid:0", "UID:1000", "owner", "System", "policy", "admin"] {
            assert_eq!(agent_name(name), Err(NameError::Reserved), "{name}");
        }
        for name in ["policy", "Grant", "whitelist"] {
            assert_eq!(person_name(name), Err(NameError::Reserved), "{name}");
        }
    }
}
