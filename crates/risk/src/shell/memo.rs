//! A command that was judged before is not judged again (see `state::memo`).

use super::arg::Arg;
use super::evaluator::Evaluator;
use crate::flow::Flow;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Judges a command unless the very same was judged before.
    pub(super) fn judged(
        &mut self,
        args: &[Arg<'t>],
        stdin: &Flow,
        judge: impl FnOnce(&mut Self) -> Flow,
    ) -> Flow {
        if !self.shared.uses_memo() {
            return judge(self);
        }
        if let Some(known) = self.shared.judged_before(args, stdin) {
            self.shared.subject_passed_over();
            return known;
        }
        let guard = self.shared.begin_judgement();
        let flow = judge(self);
        self.shared.end_judgement(&guard, args, stdin, &flow);
        self.shared.subject_judged();
        flow
    }
}
