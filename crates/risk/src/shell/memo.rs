//! A command that was assessed before is not assessed again (see `state::memo`).

use super::arg::Arg;
use super::evaluator::Evaluator;
use crate::flow::Flow;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Assesses a command unless the very same was assessed before.
    pub(super) fn memoized(
        &mut self,
        args: &[Arg<'t>],
        stdin: &Flow,
        assess: impl FnOnce(&mut Self) -> Flow,
    ) -> Flow {
        if !self.shared.uses_memo() {
            return assess(self);
        }
        if let Some(known) = self.shared.find_in_memo(args, stdin) {
            self.shared.subject_passed_over();
            return known;
        }
        let guard = self.shared.begin_assessment();
        let flow = assess(self);
        self.shared.end_assessment(&guard, args, stdin, &flow);
        self.shared.subject_assessed();
        flow
    }
}
