//! Findings that come from structure, not from one program's rule. `rules/structure.toml` holds
//! their tiers and messages; the readers refer to them by name.

use countersign_types::tier::Tier;

use crate::finding::Finding;

/// The rule of a structural finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StructuralRule {
    /// Stable code.
    pub code: &'static str,
    /// The tier, unless a reader reports a more severe one.
    pub tier: Tier,
    /// The sentence for people.
    pub message: &'static str,
    /// A safer way, where there is one.
    pub suggestion: Option<&'static str>,
}

impl StructuralRule {
    /// The finding, without a place.
    pub fn finding(&self) -> Finding {
        let mut finding = Finding::pattern(self.code, self.tier, self.message);
        finding.suggestion = self.suggestion.map(Into::into);
        finding
    }
}

include!(concat!(env!("OUT_DIR"), "/structure.rs"));
