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
        let (name, workspace) = (last_part(&first.text), &self.shared.workspace);
        let is_file = |word: &str| last_part(word) == name && is_loose(&workspace.local(word));
        if self.shared.out.commands.iter().any(|command| makes_executable(command, is_file)) {
            self.shared.report(&structural_findings::MADE_EXECUTABLE, Some(first.span));
        }
    }
}

/// Whether a file is not in a folder of the project, where its own scripts are.
fn is_loose(path: &str) -> bool {
    let path = path.strip_prefix("./").unwrap_or(path);
    !path.contains('/') || path.starts_with(['/', '~']) || path.starts_with("..")
}

/// Whether a command is `chmod` with a mode that lets such a file run.
fn makes_executable(command: &CommandWords, is_file: impl Fn(&str) -> bool) -> bool {
    let Some((program, words)) = command.words.split_first() else { return false };
    if !matches!(program.as_str(), "chmod" | "gchmod") {
        return false;
    }
    match words.split_first() {
        Some((mode, files)) if lets_run(mode) => files.iter().any(|file| is_file(file)),
        // `+x` stands where options stand.
        _ => {
            command.options.iter().any(|mode| lets_run(mode))
                && words.iter().any(|file| is_file(file))
        }
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
