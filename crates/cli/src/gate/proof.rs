//! What a person must do to say yes: the graver the call, the less a stray key can do.

use countersign_client::Request;

use crate::core_api::{Card, Tier};

/// What stands between the wish to approve and the approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// A `y`.
    Yes,
    /// One of the two words and Enter, as in the web inbox.
    Word,
    /// The same, because not all of the call can be seen.
    OnlyWord,
    /// Why, in words: the gate refuses without.
    Reason,
}

/// What approving this request takes.
pub fn needed(request: &Request, card: &Card) -> Proof {
    // A tier that we do not know is not taken for a small one.
    match tier(request) {
        None | Some(Tier::Critical) => Proof::Reason,
        _ if request.crisis => Proof::Reason,
        _ if !card.one_tap() => Proof::OnlyWord,
        Some(Tier::High) => Proof::Word,
        Some(_) => Proof::Yes,
    }
}

/// Its tier, by the gravest of what is said of it; none if one is not known.
fn tier(request: &Request) -> Option<Tier> {
    Tier::parse(&request.tier)
}

/// Whether "also for this session" can be offered: not for the gravest, not in a crisis.
pub fn has_session_offer(request: &Request) -> bool {
    let session = request.session.as_deref().is_some_and(|name| !name.is_empty());
    session && !request.crisis && tier(request).is_some_and(|tier| tier < Tier::Critical)
}

/// The two words as they are asked for: "olive or tractor".
pub fn either_word(phrase: &str) -> String {
    phrase.split('-').collect::<Vec<_>>().join(" or ")
}

/// Whether one of the two words was typed, or both.
pub fn is_word(typed: &str, phrase: &str) -> bool {
    let typed = typed.trim();
    let is = |word: &str| !word.is_empty() && typed.eq_ignore_ascii_case(word);
    is(phrase) || phrase.split('-').any(is)
}

impl Proof {
    /// Whether what was typed is enough. A reason is enough if it is one.
    pub fn is_given(self, typed: &str, phrase: &str) -> bool {
        let typed = typed.trim();
        match self {
            Proof::Yes => typed.eq_ignore_ascii_case("y") || typed.eq_ignore_ascii_case("yes"),
            Proof::Word | Proof::OnlyWord => is_word(typed, phrase),
            Proof::Reason => !typed.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_typed_is_never_enough() {
        for proof in [Proof::Yes, Proof::Word, Proof::OnlyWord, Proof::Reason] {
            for typed in ["", " ", "\t"] {
                assert!(!proof.is_given(typed, "olive-tractor"));
                assert!(!proof.is_given(typed, ""));
            }
        }
        assert!(Proof::Word.is_given("Olive", "olive-tractor"));
        assert!(Proof::Word.is_given("tractor", "olive-tractor"));
        assert!(Proof::Word.is_given("olive-tractor", "olive-tractor"));
        for proof in [Proof::Word, Proof::OnlyWord] {
            for typed in ["y", "yes", "n", "oliv", "-"] {
                assert!(!proof.is_given(typed, "olive-tractor"), "{typed}");
            }
        }
    }
}
