//! A command as policy rules see it.

use super::invocation::Invocation;
use crate::command_words::CommandWords;

impl Invocation<'_, '_> {
    /// The program, its first operands and its options.
    pub(super) fn command_words(&self) -> CommandWords {
        let text = |at: &u16| self.args.get(usize::from(*at)).map(|arg| &*arg.text);
        let program = self.args.first().map_or("", |program| &*program.text);
        let (operands, options) = (self.operands.iter(), self.options.iter());
        CommandWords::new(program, operands.filter_map(text), options.filter_map(text))
    }
}
