//! A command as policy rules see it.

use super::invocation::Invocation;
use crate::command_words::CommandWords;

impl Invocation<'_, '_> {
    /// The program, its first operands and its options.
    pub(super) fn command_words(&self) -> CommandWords {
        let texts = |list: &[u16]| -> Vec<&str> {
            list.iter().filter_map(|at| self.args.get(usize::from(*at))).map(|a| &*a.text).collect()
        };
        let program = self.args.first().map_or("", |program| &*program.text);
        let (operands, options) = (texts(&self.operands), texts(&self.options));
        CommandWords::new(program, operands.into_iter(), options.into_iter())
    }
}
