//! Suggestions of grants from people's answers: a call that people approved many times.
//!
//! A suggestion is for exactly the call that was shown every time, so that many harmless calls
//! cannot widen it. It permits nothing by itself: a person accepts it like any other grant.

mod forms;

use std::collections::HashMap;

use countersign_json::canonical::{CallDigest, Digest};
use countersign_risk::effect::{Effect, Effects};
use countersign_types::tier::Tier;

pub use forms::{AnsweredCommand, ApprovedForm, CommandForm, FormCounts};

/// How many approvals in a row lead to a suggestion, unless another number is set.
pub const DEFAULT_APPROVALS: u32 = 10;

/// Effects of calls that are never suggested, however often people approved them.
const NEVER: Effects = Effects::of(&[
    Effect::Send,
    Effect::Money,
    Effect::Secret,
    Effect::SelfChange,
    Effect::Privilege,
    Effect::Crisis,
]);

/// What a person answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepeatedAnswer {
    /// The call ran.
    Approved,
    /// The call did not run.
    Denied,
}

/// A call that a person answered.
#[derive(Debug, Clone, Copy)]
pub struct AnsweredCall<'a> {
    /// The agent as authenticated.
    pub agent: &'a str,
    /// The digests of the call that was shown.
    pub digest: CallDigest,
    /// Its tier.
    pub tier: Tier,
    /// Whether its session was in a crisis, or the call touches the crisis rules.
    pub crisis: bool,
    /// The answer.
    pub answer: RepeatedAnswer,
}

/// How often people approved calls in a row.
#[derive(Debug, Default)]
pub struct ApprovalCounts {
    counts: HashMap<CallKey, u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct CallKey {
    agent: String,
    canonical: Digest,
    /// Where the bytes as received matter too.
    raw: Option<Digest>,
}

impl CallKey {
    fn new(agent: &str, digest: &CallDigest) -> CallKey {
        let raw = digest.both_bind.then_some(digest.raw);
        CallKey { agent: agent.to_owned(), canonical: digest.canonical, raw }
    }
}

impl ApprovalCounts {
    /// Notes an answer; the oldest first. A denial starts again from zero, and so does any answer
    /// about a call that may not be suggested.
    pub fn note(&mut self, answered: &AnsweredCall<'_>) {
        let count = self.counts.entry(CallKey::new(answered.agent, &answered.digest)).or_default();
        let counts = answered.answer == RepeatedAnswer::Approved
            && may_suggest(answered.tier, answered.crisis);
        *count = if counts { count.saturating_add(1) } else { 0 };
    }

    /// How often people approved this call in a row.
    pub fn approvals(&self, agent: &str, digest: &CallDigest) -> u32 {
        self.counts.get(&CallKey::new(agent, digest)).copied().unwrap_or(0)
    }
}

/// Whether calls of this tier may be suggested: never HIGH, CRITICAL or in a crisis. SAFE calls
/// pass without a grant.
pub fn may_suggest(tier: Tier, crisis: bool) -> bool {
    matches!(tier, Tier::Low | Tier::Medium) && !crisis
}

/// Whether calls with these effects may be suggested: nothing that is sent to people, moves money,
/// reads secrets, raises rights, or changes an agent or Countersign.
pub fn may_suggest_effects(effects: Effects) -> bool {
    !effects.meets(NEVER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn digest(number: u8, both_bind: bool) -> CallDigest {
        let of = |text: &str| Digest::of(format!("{text}{number}").as_bytes());
        CallDigest { canonical: of("call"), raw: of("raw"), both_bind }
    }

    fn answered(number: u8, tier: Tier, crisis: bool, approved: bool) -> AnsweredCall<'static> {
        let answer = if approved { RepeatedAnswer::Approved } else { RepeatedAnswer::Denied };
        AnsweredCall { agent: "claude", digest: digest(number, false), tier, crisis, answer }
    }

    #[test]
    fn ten_approvals_in_a_row_and_one_denial_resets() {
        let mut counts = ApprovalCounts::default();
        let medium = |approved| answered(1, Tier::Medium, false, approved);
        for _ in 0..9 {
            counts.note(&medium(true));
        }
        assert_eq!(counts.approvals("claude", &digest(1, false)), 9);
        counts.note(&medium(false));
        assert_eq!(counts.approvals("claude", &digest(1, false)), 0);
        for _ in 0..10 {
            counts.note(&medium(true));
        }
        assert_eq!(counts.approvals("claude", &digest(1, false)), DEFAULT_APPROVALS);
    }

    #[test]
    fn another_agent_other_bytes_and_other_calls_have_their_own_count() {
        let mut counts = ApprovalCounts::default();
        for _ in 0..100 {
            counts.note(&answered(1, Tier::Low, false, true));
        }
        assert_eq!(counts.approvals("codex", &digest(1, false)), 0);
        assert_eq!(counts.approvals("claude", &digest(2, false)), 0);
        assert_eq!(counts.approvals("claude", &digest(1, true)), 0);
    }

    #[test]
    fn effects_that_are_never_suggested() {
        for effect in [Effect::Send, Effect::Money, Effect::Secret, Effect::SelfChange] {
            assert!(!may_suggest_effects(Effects::of(&[Effect::Read, effect])));
        }
        assert!(may_suggest_effects(Effects::of(&[Effect::Write, Effect::Exec, Effect::Remote])));
    }

    proptest! {
        /// The count is the length of the run of harmless approvals of exactly this call at the
        /// end of its answers, whatever else was answered between them.
        #[test]
        fn only_the_last_run_of_approvals_counts(
            answers in proptest::collection::vec(
                (0..4_u8, 0..5_usize, any::<bool>(), any::<bool>()),
                0..200,
            ),
        ) {
            let mut counts = ApprovalCounts::default();
            let tier = |index: usize| Tier::ALL.get(index).copied().unwrap_or(Tier::Critical);
            for (call, index, crisis, approved) in &answers {
                counts.note(&answered(*call, tier(*index), *crisis, *approved));
            }
            for call in 0..5_u8 {
                let own = answers.iter().rev().filter(|answer| answer.0 == call);
                let run = own.take_while(|(_, index, crisis, approved)| {
                    *approved && !crisis && matches!(tier(*index), Tier::Low | Tier::Medium)
                });
                let found = counts.approvals("claude", &digest(call, false));
                prop_assert_eq!(found as usize, run.count());
            }
        }
    }
}
