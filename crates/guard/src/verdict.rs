//! What a guard says about a text.

use std::collections::BTreeSet;

/// Who wrote the text that a guard checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GuardRole {
    /// A person: the text goes in.
    User,
    /// The agent: the text goes out.
    Agent,
}

/// A category of unsafe content, as the family of the model names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuardCategory {
    /// The code, such as `S11` or `self-harm/intent`.
    pub code: &'static str,
    /// The name for people.
    pub name: &'static str,
    /// Whether it is about suicide or self-harm.
    pub self_harm: bool,
}

impl GuardCategory {
    /// A category that is not about self-harm.
    pub(crate) const fn new(code: &'static str, name: &'static str) -> GuardCategory {
        GuardCategory { code, name, self_harm: false }
    }

    /// A category about suicide or self-harm.
    pub(crate) const fn self_harm(code: &'static str, name: &'static str) -> GuardCategory {
        GuardCategory { code, name, self_harm: true }
    }
}

/// Why there is no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum GuardFailure {
    /// The model has not passed its first test yet.
    #[error("the guard model is being tested")]
    NotTested,
    /// Too many failures; the model is tested again in the background.
    #[error("the guard model failed repeatedly and is tested again in the background")]
    CircuitOpen,
    /// The model got a known text wrong.
    #[error("the guard model failed its self-test")]
    SelfTest,
    /// No reply in time.
    #[error("the guard model did not answer in time")]
    TimedOut,
    /// Too many texts are checked already.
    #[error("too many texts wait for the guard model")]
    Busy,
    /// The server cannot be reached, or broke off.
    #[error("the guard model's server cannot be reached")]
    Unreachable,
    /// The server answered with an error.
    #[error("the guard model's server answered with an error")]
    ServerError,
    /// The reply is not complete.
    #[error("the guard model's reply is incomplete")]
    Incomplete,
    /// The reply has another form than the family's.
    #[error("the guard model's reply has an unknown form")]
    Unparseable,
    /// Another model answered, or one on another machine.
    #[error("another model than the configured local one answered")]
    WrongModel,
    /// The text is too long to be checked as a whole.
    #[error("the text is too long for the guard model")]
    TooLong,
}

impl GuardFailure {
    /// The word for machines.
    pub const fn code(self) -> &'static str {
        match self {
            GuardFailure::NotTested => "not_tested",
            GuardFailure::CircuitOpen => "circuit_open",
            GuardFailure::SelfTest => "self_test",
            GuardFailure::TimedOut => "timed_out",
            GuardFailure::Busy => "busy",
            GuardFailure::Unreachable => "unreachable",
            GuardFailure::ServerError => "server_error",
            GuardFailure::Incomplete => "incomplete",
            GuardFailure::Unparseable => "unparseable",
            GuardFailure::WrongModel => "wrong_model",
            GuardFailure::TooLong => "too_long",
        }
    }

    /// Whether the failure counts against the server: the text or the load caused the others.
    pub(crate) const fn counts(self) -> bool {
        !matches!(self, GuardFailure::Busy | GuardFailure::TooLong)
    }
}

/// What a guard says about a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardVerdict {
    /// An exact safe reply for every part of the text.
    Safe,
    /// An exact unsafe reply for at least one part, with the categories of all parts.
    Unsafe(BTreeSet<GuardCategory>),
    /// No verdict. It is never treated as safe.
    Unavailable(GuardFailure),
}

impl GuardVerdict {
    /// The verdict on two parts of a text: unsafe wins over unavailable, and both over safe.
    #[must_use]
    pub fn and(self, other: GuardVerdict) -> GuardVerdict {
        match (self, other) {
            (GuardVerdict::Unsafe(mut one), GuardVerdict::Unsafe(other)) => {
                one.extend(other);
                GuardVerdict::Unsafe(one)
            }
            (GuardVerdict::Unsafe(found), _) | (_, GuardVerdict::Unsafe(found)) => {
                GuardVerdict::Unsafe(found)
            }
            (GuardVerdict::Unavailable(why), _) | (_, GuardVerdict::Unavailable(why)) => {
                GuardVerdict::Unavailable(why)
            }
            (GuardVerdict::Safe, GuardVerdict::Safe) => GuardVerdict::Safe,
        }
    }

    /// Whether the text is unsafe because of suicide or self-harm.
    pub fn is_self_harm(&self) -> bool {
        matches!(self, GuardVerdict::Unsafe(found) if found.iter().any(|one| one.self_harm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stricter_verdict_wins() {
        let one = || GuardVerdict::Unsafe([GuardCategory::new("S1", "a")].into());
        let two = || GuardVerdict::Unsafe([GuardCategory::self_harm("S11", "b")].into());
        let down = || GuardVerdict::Unavailable(GuardFailure::TimedOut);
        assert_eq!(GuardVerdict::Safe.and(GuardVerdict::Safe), GuardVerdict::Safe);
        assert_eq!(GuardVerdict::Safe.and(down()), down());
        assert_eq!(down().and(one()), one());
        assert_eq!(one().and(GuardVerdict::Safe), one());
        assert!(one().and(two()).is_self_harm() && !one().is_self_harm());
    }
}
