//! Bounds on what the readers follow. What exceeds a bound is a finding, never silence.
//!
//! The number in a [`Limit`] is private. A reader can only ask whether a count is within it, and
//! the answer for a count beyond it is an [`Excess`], which becomes a finding now or a mark on the
//! value that was cut off, reported when a command uses that value.

use crate::finding::{Doubt, Finding, Findings, Span};
use countersign_types::tier::Tier;

/// A bound on how many of something are followed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    of: &'static str,
    most: usize,
}

/// Proof that a bound was exceeded; it has to be reported.
#[derive(Debug, Clone, Copy)]
#[must_use = "what exceeds a bound is reported, now or where the value is used"]
pub(crate) struct Excess {
    limit: Limit,
}

/// The code of the finding.
pub(crate) const LIMIT_REACHED: &str = "shell.limit-reached";

impl Limit {
    /// A bound: `of` says what is counted, in the plural.
    pub(crate) const fn new(of: &'static str, most: usize) -> Limit {
        Limit { of, most }
    }

    /// Whether so many are within the bound.
    pub(crate) const fn check(self, count: usize) -> Result<(), Excess> {
        if count > self.most { Err(Excess { limit: self }) } else { Ok(()) }
    }

    /// Whether so many are within the bound; adds the finding where they are not.
    pub(crate) fn admits(self, count: usize, out: &mut Findings, span: Option<Span>) -> bool {
        match self.check(count) {
            Ok(()) => true,
            Err(excess) => {
                excess.report(out, span);
                false
            }
        }
    }

    /// Cuts a list at the bound; adds the finding where something was cut off.
    pub(crate) fn cut<T>(self, list: &mut Vec<T>, out: &mut Findings, span: Option<Span>) {
        if !self.admits(list.len(), out, span) {
            list.truncate(self.most);
        }
    }

    /// Cuts a list at the bound, but keeps its end as well as its beginning.
    pub(crate) fn cut_middle<T>(self, list: &mut Vec<T>, out: &mut Findings, span: Option<Span>) {
        if !self.admits(list.len(), out, span) {
            let end = list.split_off(list.len() - self.most / 2);
            list.truncate(self.most / 2);
            list.extend(end);
        }
    }

    /// The excess of a bound that is not a count of a list: work left undone.
    pub(crate) const fn exceeded(self) -> Excess {
        Excess { limit: self }
    }
}

impl Excess {
    /// Adds the finding: part of the call was not checked, so a person decides.
    pub(crate) fn report(self, out: &mut Findings, span: Option<Span>) {
        out.doubt(Doubt::Unreadable);
        let Limit { of, most } = self.limit;
        let message = format!("Has more {of} than are checked ({most}); the rest is unchecked.");
        let mut finding = Finding::pattern(LIMIT_REACHED, Tier::Medium, message);
        finding.span = span;
        out.add(finding);
    }
}

/// Adds the finding where a command uses a value that a bound cut off.
pub(crate) fn report_lost(out: &mut Findings, span: Option<Span>) {
    out.doubt(Doubt::Unreadable);
    let message = "Uses a value that was too long, or one of too many, to be followed.";
    let mut finding = Finding::pattern(LIMIT_REACHED, Tier::Medium, message);
    finding.span = span;
    out.add(finding);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_exceeds_a_bound_is_a_finding() {
        let limit = Limit::new("words", 2);
        let mut out = Findings::default();
        let mut words = vec![1, 2];
        limit.cut(&mut words, &mut out, None);
        assert_eq!((out.tier(), words.len()), (Tier::Safe, 2));
        words.push(3);
        limit.cut(&mut words, &mut out, None);
        assert_eq!((out.tier(), words.len()), (Tier::Medium, 2));
        assert!(out.has_doubt(Doubt::Unreadable));
        assert!(limit.check(2).is_ok() && limit.check(3).is_err());
    }
}
