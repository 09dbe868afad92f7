//! The results of one run: all sources and their shares.

use super::expectation::Metric;
use super::tally::{RowKind, Shares, Tally, TimeHistogram};

/// The results of one run.
pub struct Measured {
    /// By source, in the order read.
    pub sources: Vec<Tally>,
    /// The context of the rows, for people.
    pub context: String,
}

impl Measured {
    /// The sources of one kind.
    pub fn of(&self, kind: RowKind) -> impl Iterator<Item = &Tally> {
        self.sources.iter().filter(move |s| s.kind == kind)
    }

    /// All shares of one kind combined.
    pub fn shares(&self, kind: RowKind) -> Shares {
        let mut all = Shares::default();
        self.of(kind).for_each(|source| all.add(&source.shares));
        all
    }

    /// All times of one kind combined.
    pub fn times(&self, kind: RowKind) -> Option<TimeHistogram> {
        let mut sources = self.of(kind);
        let mut all = sources.next()?.times.clone();
        sources.for_each(|source| all.merge(&source.times));
        Some(all)
    }

    /// Whether every target is met, overall and in every source.
    pub fn all_met(&self) -> bool {
        let overall =
            [RowKind::Commands, RowKind::ToolCalls, RowKind::Texts].into_iter().all(|kind| {
                let shares = self.shares(kind);
                Metric::ALL.into_iter().all(|bar| {
                    let wanted = bar.wanted_overall(kind == RowKind::ToolCalls);
                    wanted.is_none_or(|wanted| shares.of(bar).reaches(wanted))
                })
            });
        let each = self.sources.iter().all(|source| {
            Metric::ALL
                .into_iter()
                .all(|bar| bar.wanted().is_none_or(|wanted| source.shares.of(bar).reaches(wanted)))
        });
        overall && each
    }
}
