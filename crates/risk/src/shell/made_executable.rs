//! A file that a call makes executable and runs, although nobody read its text.

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::program::resolve;
use crate::command_words::CommandWords;
use crate::paths::last_part;
use crate::structural_findings;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Notes a file that an earlier command of this call made executable. A program with a
    /// description is assessed by it, and in a container build such files are ordinary.
    pub(super) fn run_made_executable(&mut self, first: &Arg<'t>) {
        if self.shared.ctx.environment.is_disposable() || resolve(&first.text).is_some() {
            return;
        }
        let name = last_part(&first.text);
        if self.shared.out.commands.iter().any(|command| makes_executable(command, name)) {
            self.shared.report(&structural_findings::MADE_EXECUTABLE, Some(first.span));
        }
    }
}

/// Whether a command is `chmod` with a mode that lets the named file run.
fn makes_executable(command: &CommandWords, name: &str) -> bool {
    let Some((program, words)) = command.words.split_first() else { return false };
    if !matches!(program.as_str(), "chmod" | "gchmod") {
        return false;
    }
    let is_file = |word: &String| last_part(word) == name;
    match words.split_first() {
        Some((mode, files)) if lets_run(mode) => files.iter().any(is_file),
        // `+x` stands where options stand.
        _ => command.options.iter().any(|mode| lets_run(mode)) && words.iter().any(is_file),
    }
}

/// Whether a mode lets a file run: `755`, `u+rwx`, `+x`.
fn lets_run(mode: &str) -> bool {
    let is_octal = mode.len() >= 3 && mode.bytes().all(|b| matches!(b, b'0'..=b'7'));
    let adds_right = |part: &str| {
        part.split_once(['+', '=']).is_some_and(|(_, rights)| rights.contains(['x', 'X']))
    };
    if is_octal {
        mode.bytes().rev().take(3).any(|digit| digit % 2 == 1)
    } else {
        mode.split(',').any(adds_right)
    }
}
