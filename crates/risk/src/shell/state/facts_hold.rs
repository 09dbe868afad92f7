//! Whether facts still hold. An observer looks before the call runs; a command that runs later in
//! the call may find another file under the same name.

use crate::effect::{Effect, Effects};

/// Effects of a command after which everything that is left is as it was.
const QUIET: Effects = Effects::of(&[Effect::Read, Effect::Delete, Effect::Secret]);

/// Whether facts may make the next command look harmless. They may always make it look worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FactsHold {
    /// A command may have changed files.
    changed: bool,
    /// How many constructs are open in which commands run in another order than they are written,
    /// or at another time.
    out_of_order: u32,
}

impl FactsHold {
    /// A text inside code runs at any time between the lines of the code.
    pub fn at_depth(depth: u8) -> FactsHold {
        FactsHold { changed: false, out_of_order: u32::from(depth > 0) }
    }

    /// Whether they hold.
    pub fn is_sure(self) -> bool {
        !self.changed && self.out_of_order == 0
    }

    /// Enters a loop, a pipeline, a background command or a text that runs later.
    pub fn enter_out_of_order(&mut self) {
        self.out_of_order = self.out_of_order.saturating_add(1);
    }

    /// Leaves it.
    pub fn leave_out_of_order(&mut self) {
        self.out_of_order = self.out_of_order.saturating_sub(1);
    }

    /// Ends it if the commands so far had other effects than reading and deleting; returns whether
    /// it ended now.
    pub fn end_by(&mut self, effects: Effects) -> bool {
        let ends = !self.changed && !effects.without(QUIET).is_empty();
        self.changed |= ends;
        ends
    }
}
