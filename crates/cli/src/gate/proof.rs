//! What a person must do to say yes: the graver the call, the less a stray key can do.

use countersign_client::Request;

use crate::core_api::{Card, Tier};

/// What stands between the wish to approve and the approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// A `y`.
    Yes,
    /// A typed `y`, or the first of the two words, and Enter.
    Word,
    /// The first of the two words and Enter: not all of the call can be seen.
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

/// The first of the two words.
pub fn first_word(phrase: &str) -> &str {
    phrase.split('-').next().unwrap_or_default()
}

impl Proof {
    /// Whether what was typed is enough. A reason is enough if it is one.
    pub fn is_given(self, typed: &str, phrase: &str) -> bool {
        let typed = typed.trim();
        let word = first_word(phrase);
        let is_word = !word.is_empty() && typed.eq_ignore_ascii_case(word);
        let is_yes = typed.eq_ignore_ascii_case("y") || typed.eq_ignore_ascii_case("yes");
        match self {
            Proof::Yes => is_yes,
            Proof::Word => is_yes || is_word,
            Proof::OnlyWord => is_word,
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
        assert!(Proof::Word.is_given("y", "olive-tractor"));
        assert!(!Proof::OnlyWord.is_given("y", "olive-tractor"));
        assert!(!Proof::Word.is_given("n", "olive-tractor"));
    }
}
