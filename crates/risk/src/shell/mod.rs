//! Shell text: read into a small IR, then walked for what it would do.

mod alternatives;
mod apply_rules;
mod arg;
mod awk;
mod braces;
mod builtins;
mod certain_flags;
mod code_text;
mod command;
mod command_word;
mod cwd_set;
mod double_parentheses;
mod doubtful_flags;
mod downloads;
mod endless;
mod evaluated_values;
mod evaluator;
mod expand;
mod fetched_code;
mod fields;
mod file_ops;
mod functions;
mod help;
mod imported_files;
mod in_place;
mod interpret;
mod invocation;
mod loops;
mod machine_facts;
mod made_executable;
mod memo;
mod nested;
mod net_access;
mod new_remotes;
mod noted_command;
mod objects;
mod operands;
mod other_shells;
mod output;
mod parameter;
mod path_access;
mod path_cost;
mod plain;
mod plan_facts;
mod program;
mod program_output;
mod python_module;
mod redirects;
mod remembered;
mod remote_facts;
mod rule_match;
mod runner_hosts;
mod runner_texts;
mod runners;
mod scope;
mod script_facts;
mod script_files;
mod sed;
mod shell_text;
mod shortened_options;
mod source_runs;
mod state;
mod subject;
mod transfers;
mod undescribed;
mod unexpected_commands;
mod xargs;

use crate::command_tables::UNDESCRIBED_READ_ONLY;
use crate::context::Context;
use crate::finding::{Findings, Span};
use crate::flow::{Flow, Taint};
use crate::nested_command::{Command, NestedCommand};
use arg::Arg;
use evaluator::Evaluator;

pub(crate) use command_word::CommandWord;
pub(crate) use other_shells::{CommandAssessor, assess_text, described_program};
pub(crate) use state::{Dispatch, EvalState};

/// Reads shell text or words that code or another caller hands to a shell.
pub(crate) fn read(
    nested: &NestedCommand<'_>,
    ctx: &Context<'_>,
    dispatch: &'static Dispatch,
    out: &mut Findings,
) {
    let mut state = EvalState::new(ctx, nested.base, nested.depth, dispatch, out);
    let words = match nested.command {
        Command::Text(text) => {
            let flow = state.text(text, &Flow::none());
            return shown(&flow, out);
        }
        // One word with blanks is a line for the shell, as `system("rm x")` takes it.
        Command::Words([line]) if line.contains(char::is_whitespace) => {
            let flow = state.text(line, &Flow::none());
            return shown(&flow, out);
        }
        Command::Words(words) => words,
    };
    let span = Span::new(nested.base, nested.base);
    let args: Vec<Arg<'_>> = words.iter().map(|word| Arg::plain(word, span)).collect();
    let mut walker =
        Evaluator { shared: &mut state, functions: Vec::new(), defining: None, text: "" };
    let flow = walker.command(&args, Flow::none(), span);
    shown(&flow, out);
}

/// Notes a secret in what the agent reads as the output of its command. A program that uses a
/// secret without printing it shows nothing.
fn shown(flow: &Flow, out: &mut Findings) {
    if flow.taint.has(Taint::SECRET) && out.trace.secrets.is_empty() {
        out.trace.shows_secret("a file or setting that holds secrets");
    }
}

/// Whether a rule that only says what a program without a description seems to do fits a line of
/// plain words. Such rules leave no finding of their own.
pub(crate) fn looks(id: &str, line: &str) -> bool {
    let span = Span::new(0, 0);
    let args: Vec<Arg<'_>> = line.split_whitespace().map(|word| Arg::plain(word, span)).collect();
    let inv = invocation::Invocation::new(&args, None);
    UNDESCRIBED_READ_ONLY.iter().any(|rule| rule.id == id && inv.fits(rule, false, true))
}
