//! `assess`: a call in, its whole record out. Pure and deterministic.

use crate::call::Call;
use crate::finding::Findings;
use crate::verdict::Policy;

pub use crate::assessment::{Assessment, Pattern, Reason};
pub use crate::impact::HumanImpact;

/// Judges one call.
pub fn assess(call: &Call<'_>, policy: &Policy) -> Assessment {
    let mut findings = Findings::of_call();
    crate::tools::read(call, &mut findings);
    crate::score::conclude(call, policy, findings)
}
