//! What a person must type to approve: the higher the tier, the less an accidental key can do.

use countersign_client::{DecisionScope, RequestRecord};

use crate::engine::{Card, Tier};

/// The confirmation that an approval requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmation {
    /// A `y`.
    Yes,
    /// One of the two words and Enter, as in the web inbox.
    Word,
    /// The same, because the call is not shown in full.
    OnlyWord,
    /// A reason: the gate rejects an approval without one.
    Reason,
}

/// The confirmation that approving this request requires.
pub fn needed(request: &RequestRecord, card: &Card) -> Confirmation {
    // An unknown tier is not treated as a low one.
    match tier(request) {
        None | Some(Tier::Critical) => Confirmation::Reason,
        _ if request.crisis => Confirmation::Reason,
        _ if !card.one_tap() => Confirmation::OnlyWord,
        Some(Tier::High) => Confirmation::Word,
        Some(_) => Confirmation::Yes,
    }
}

/// The highest tier in the request; `None` if one is unknown.
fn tier(request: &RequestRecord) -> Option<Tier> {
    Tier::parse(&request.tier)
}

/// Why a request cannot be approved for so long; none if it can.
pub fn scope_refusal(request: &RequestRecord, scope: DecisionScope) -> Option<&'static str> {
    match scope {
        DecisionScope::Once => None,
        DecisionScope::Repository if request.repository_scope.is_none() => Some(
            "Only the first use of an unknown program in a git repository can be approved for \
             the repository.",
        ),
        _ if has_session_offer(request) => None,
        _ => Some(match request.session.as_deref() {
            None | Some("") => "This call can only be approved once: the agent named no session.",
            Some(_) => {
                "This call can only be approved once: CRITICAL calls, messages, payments and \
                 settings are asked each time."
            }
        }),
    }
}

/// Whether "for this session" can be offered: not for the highest tiers, not in a crisis.
fn has_session_offer(request: &RequestRecord) -> bool {
    let is_known = tier(request).is_some_and(|tier| tier < Tier::Critical);
    request.session_scope && !request.crisis && is_known
}

/// The two words as prompted for: "olive or tractor".
pub fn either_word(phrase: &str) -> String {
    phrase.split('-').collect::<Vec<_>>().join(" or ")
}

/// Whether one of the two words was typed, or both.
pub fn is_word(typed: &str, phrase: &str) -> bool {
    let typed = typed.trim();
    let is = |word: &str| !word.is_empty() && typed.eq_ignore_ascii_case(word);
    is(phrase) || phrase.split('-').any(is)
}

impl Confirmation {
    /// Whether the typed text is sufficient.
    pub fn is_given(self, typed: &str, phrase: &str) -> bool {
        let typed = typed.trim();
        match self {
            Confirmation::Yes => {
                typed.eq_ignore_ascii_case("y") || typed.eq_ignore_ascii_case("yes")
            }
            Confirmation::Word | Confirmation::OnlyWord => is_word(typed, phrase),
            Confirmation::Reason => !typed.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_typed_is_never_enough() {
        for proof in
            [Confirmation::Yes, Confirmation::Word, Confirmation::OnlyWord, Confirmation::Reason]
        {
            for typed in ["", " ", "\t"] {
                assert!(!proof.is_given(typed, "olive-tractor"));
                assert!(!proof.is_given(typed, ""));
            }
        }
        assert!(Confirmation::Word.is_given("Olive", "olive-tractor"));
        assert!(Confirmation::Word.is_given("tractor", "olive-tractor"));
        assert!(Confirmation::Word.is_given("olive-tractor", "olive-tractor"));
        for proof in [Confirmation::Word, Confirmation::OnlyWord] {
            for typed in ["y", "yes", "n", "oliv", "-"] {
                assert!(!proof.is_given(typed, "olive-tractor"), "{typed}");
            }
        }
    }
}
