//! Source files that a build tool compiles and runs at once: `go run x.go`, `deno run x.ts`.

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::invocation::Invocation;
use crate::command_tables::{CodeLanguage, Interpreter};
use crate::finding::Span;
use crate::flow::Flow;
use crate::name_lists::{SOURCE_ENDINGS, SOURCE_RUNNING_PROGRAMS};
use crate::paths::{PathAction, last_part};
use crate::structural_findings;
use countersign_types::tier::Tier;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// A source file outside the project is a program like any other; one that the session wrote
    /// is read.
    pub(super) fn run_source(&mut self, inv: &Invocation<'_, 't>, stdin: &Flow, span: Span) {
        let words = source_and_words(inv);
        let Some(file) = words.first().cloned() else { return };
        if matches!(program(inv), "bun" | "deno") {
            let interpreter = Interpreter {
                language: CodeLanguage::JavaScript,
                stdin: false,
                script: true,
                inline: Tier::Low,
                bare: Tier::Safe,
                bare_operands: 0,
            };
            self.script(interpreter, &words, stdin, span);
            return;
        }
        if self.shared.file_content(&file.text).is_some() {
            return;
        }
        let class = self.shared.class_for(PathAction::Write, &file.text);
        if matches!(class.id, "temporary" | "shared-data") {
            self.first_use(&structural_findings::ODD_PLACE, &file.text, file.span);
        }
    }
}

fn program<'i>(inv: &Invocation<'i, '_>) -> &'i str {
    inv.args.first().map_or("", |arg| last_part(&arg.text))
}

/// The file that is run and the words behind it; nothing if none is.
fn source_and_words<'t>(inv: &Invocation<'_, 't>) -> Vec<Arg<'t>> {
    let from = match program(inv) {
        "bun" | "deno" => usize::from(inv.operand(0) == Some("run")),
        "swift" => 0,
        // `-jar` is read as a cluster of letters, so the file may count as a value.
        "java" => {
            let mut files = inv.args.iter().skip(1);
            return files.find(|arg| is_source(arg)).cloned().into_iter().collect();
        }
        program
            if SOURCE_RUNNING_PROGRAMS.contains(&program)
                && matches!(inv.operand(0), Some("run" | "r")) =>
        {
            1
        }
        _ => return Vec::new(),
    };
    let words = inv.operands.iter().skip(from).filter_map(|at| inv.arg(*at)).cloned();
    let words: Vec<Arg<'t>> = words.collect();
    if words.first().is_some_and(is_source) { words } else { Vec::new() }
}

fn is_source(arg: &Arg<'_>) -> bool {
    SOURCE_ENDINGS.iter().any(|ending| arg.text.ends_with(ending))
}
