//! Redirections, and files that a text writes.

use super::run::Evaluator;
use super::value::PsValue;
use crate::command_tables::ArgumentUse;
use crate::flow::{Flow, Taint};
use crate::paths::windows_path;
use countersign_shell::powershell::ast::{PsExpr, PsRedirection};

impl Evaluator<'_, '_, '_, '_> {
    /// `> file`; whether the output still flows on.
    pub(super) fn redirect(&mut self, redirection: &PsRedirection<'_>, output: &PsValue) -> bool {
        let is_null = |name: &str| name.eq_ignore_ascii_case("null");
        if matches!(&redirection.target, PsExpr::Variable(name) if is_null(name)) {
            return !redirection.output;
        }
        let span = self.assessor.span(redirection.start, redirection.end);
        let target = self.value(&redirection.target);
        for word in target.words(span, true) {
            self.write(&word, redirection.append, &output.flow());
        }
        !redirection.output
    }

    /// Writes a flow into a file.
    pub fn write(&mut self, word: &crate::shell::CommandWord, append: bool, flow: &Flow) {
        let share = windows_path::share_host(&word.text).is_some();
        let path = windows_path::normalize(&word.text, self.assessor.context().cwd).into_owned();
        if share {
            self.assessor.sent(flow.taint.has(Taint::SECRET), word.span);
        }
        let target = crate::shell::CommandWord { text: path, ..word.clone() };
        let touch = if append { ArgumentUse::Append } else { ArgumentUse::Write };
        self.assessor.touch(touch, &target, false);
        self.assessor.written(&target.text, append, flow);
    }
}
