//! The points of the findings: the heaviest pattern, a little for each further one, the rest added.

use crate::assessment::Reason;
use crate::finding::{Factor, Finding, Findings};
use countersign_types::tier::Points;

/// Each further distinct pattern adds this much, hundredths of a point …
const SURCHARGE: u16 = 5;
/// … and all of them together no more than this.
const MAX_SURCHARGE: u16 = 20;

/// One finding for each code and argument, the heaviest: people read a reason once, and weights
/// that add up do so once.
pub(super) fn heaviest(findings: &Findings) -> Vec<Finding> {
    let mut list: Vec<&Finding> = Vec::new();
    for finding in findings {
        let same = |f: &&Finding| f.code == finding.code && f.argument == finding.argument;
        match list.iter().position(same).and_then(|at| list.get_mut(at)) {
            Some(known) if known.weight >= finding.weight => {}
            Some(known) => *known = finding,
            None => list.push(finding),
        }
    }
    list.into_iter().cloned().collect()
}

/// Patterns by max with a surcharge, the rest added. Each reason keeps its true share.
pub(super) fn weigh(list: Vec<Finding>) -> (Vec<Reason>, u16) {
    let heaviest = list
        .iter()
        .enumerate()
        .filter(|(_, f)| f.factor == Factor::Pattern)
        .max_by_key(|(index, f)| (f.weight, std::cmp::Reverse(*index)))
        .map(|(index, f)| (index, f.weight.min(Points::MAX)));
    let (first, base) = heaviest.map_or((usize::MAX, 0), |(index, weight)| (index, weight.0));
    // The surcharge never carries a call into the next tier.
    let room = (99 - base % 100).min(MAX_SURCHARGE);
    let mut surcharge = if base >= Points::MAX.0 { 0 } else { room };
    let mut points = 0_u16;
    // Room for what the context may add.
    let mut reasons: Vec<Reason> = Vec::with_capacity(list.len() + 1);
    for (index, finding) in list.into_iter().enumerate() {
        let share = match finding.factor {
            Factor::Pattern if index == first => base,
            Factor::Pattern => {
                let counts =
                    finding.weight.0 > 0 && !reasons.iter().any(|r| r.code == finding.code);
                let share = if counts { surcharge.min(SURCHARGE) } else { 0 };
                surcharge -= share;
                share
            }
            Factor::Behaviour | Factor::Context => finding.weight.0,
        };
        points = points.saturating_add(share);
        reasons.push(Reason {
            code: finding.code,
            factor: finding.factor,
            weight: Points(share),
            message: finding.message,
            suggestion: finding.suggestion,
            argument: finding.argument,
            span: finding.span,
        });
    }
    (reasons, points)
}
