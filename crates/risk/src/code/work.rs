//! What reading one code may cost.

use crate::code::reader::Reader;
use crate::limit::{Excess, Limit};

/// Work that one piece of code may cost, counted in bytes.
const WORK: Limit = Limit::new("steps in code", 65_536);

impl Reader<'_, '_> {
    /// Pays for work; false, and a finding, when there is nothing left.
    pub(super) fn pay(&mut self, cost: usize) -> bool {
        let enough = self.fuel >= cost;
        self.fuel = self.fuel.saturating_sub(cost);
        if !enough {
            self.exceeded(WORK.exceeded());
        }
        enough
    }

    /// Adds the finding of an exceeded bound.
    pub(super) fn exceeded(&mut self, excess: Excess) {
        let whole = self.span((0, 0));
        excess.report(self.out, Some(whole));
    }

    /// Whether so many are within a bound; adds the finding where they are not.
    pub(super) fn within(&mut self, limit: Limit, count: usize) -> bool {
        limit.check(count).map_err(|excess| self.exceeded(excess)).is_ok()
    }
}
