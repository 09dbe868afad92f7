//! Files that a program works on: emptied in place, or named so that a command runs instead.

use super::evaluator::Evaluator;
use super::invocation::Invocation;
use super::{awk, sed};
use crate::command_tables::{ArgumentUse, CodeLanguage, Interpreter, Spec};
use crate::flow::Flow;
use crate::name_lists::{PRINTING_WORDS, QUIET_OPTIONS};
use countersign_shell::UNKNOWN;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// `perl -i -pe 's/a/b/' FILE`: code that writes its files back.
    pub(super) fn changed_in_place(&mut self, spec: &'static Spec, inv: &Invocation<'_, 't>) {
        if inv.has_any(&spec.in_place) {
            for arg in inv.operands.iter().filter_map(|index| inv.arg(*index)) {
                self.touch(ArgumentUse::Write, arg, false);
            }
        }
    }

    /// `sed -i d *` and `perl -i -ne '' *` leave their files empty, as if they had been deleted.
    pub(super) fn emptied_in_place(
        &mut self,
        interpreter: Interpreter,
        spec: &'static Spec,
        inv: &Invocation<'_, 't>,
    ) {
        let in_place = inv.has_any(&spec.in_place) || inv.has("-i");
        if !in_place || !matches!(interpreter.language, CodeLanguage::Sed | CodeLanguage::Perl) {
            return;
        }
        let code = |name: &str| {
            spec.touches.iter().any(|(n, touch)| *n == name && *touch == ArgumentUse::Code)
        };
        let given = inv.values.iter().filter(|(name, _)| code(name)).map(|(_, v)| v.text);
        let mut program: Vec<&str> = given.collect();
        let mut files = 0;
        if program.is_empty() {
            program.extend(inv.operand(0));
            files = 1;
        }
        let program = program.join("\n");
        let quiet = inv.has_one(QUIET_OPTIONS);
        let empties = if interpreter.language == CodeLanguage::Sed {
            let summary = sed::summary(&program);
            !summary.prints && (summary.empties || quiet)
        } else {
            quiet && !PRINTING_WORDS.iter().any(|word| program.contains(word))
        };
        if !empties || program.contains(UNKNOWN) {
            return;
        }
        for index in inv.operands.iter().skip(files) {
            if let Some(arg) = inv.arg(*index) {
                self.touch(ArgumentUse::Delete, arg, false);
            }
        }
    }

    /// Perl opens the files it is given with its two-argument `open`: `'command |'` runs, `'>
    /// file'`
    /// writes.
    pub(super) fn magic_files(&mut self, interpreter: Interpreter, inv: &Invocation<'_, 't>) {
        if interpreter.language != CodeLanguage::Perl {
            return;
        }
        for index in &inv.operands {
            let Some(arg) = inv.arg(*index) else { continue };
            let text = arg.text.trim();
            let command = text.strip_suffix('|').or_else(|| text.strip_prefix('|'));
            if let Some(command) = command {
                let command = command.replace(UNKNOWN, "$_");
                self.inside(&command, arg.span, &Flow::none());
            } else if let Some(path) = text.strip_prefix('>') {
                awk::write(self, path.trim_start_matches('>').trim(), false, arg.span);
            }
        }
    }
}
