//! Shell text: read into a small IR, then walked for what it would do.

mod alternatives;
mod awk;
mod builtins;
mod command;
mod cwd_set;
mod endless;
mod entry;
mod evaluator;
mod expand;
mod file_ops;
mod flow;
mod help;
mod in_place;
mod interpret;
mod invocation;
mod memo;
mod nested;
mod objects;
mod other_shells;
mod output;
mod path_access;
mod plain;
mod program;
mod redirects;
mod remembered;
mod runners;
mod scope;
mod sed;
mod short_list;
mod structural_findings;
pub mod tables;

use std::borrow::Cow;

use crate::context::Context;
use crate::finding::{Findings, Span};
use evaluator::{EvalState, Evaluator};
use expand::Arg;

pub use entry::read;
pub(crate) use entry::{NEW_ORDERS, hidden_text, new_orders, phrases};
pub(crate) use flow::{Flow, Taint};
pub use flow::{base64_bytes, hex_bytes};
pub(crate) use other_shells::{CommandJudge, CommandWord, described_program, judge_text};

/// Reads shell text and adds what it would do. `base` is where the text starts in its argument.
pub fn read_nested(text: &str, base: usize, ctx: &Context<'_>, depth: u8, out: &mut Findings) {
    let mut shared = EvalState::new(ctx, base, out);
    shared.texts = depth;
    shared.text(text, &Flow::none());
}

/// The same for a command that is already in words.
pub fn read_argv(argv: &[String], base: usize, ctx: &Context<'_>, depth: u8, out: &mut Findings) {
    // One word with blanks is a line for the shell, as `system("rm x")` takes it.
    if let [line] = argv
        && line.contains(char::is_whitespace)
    {
        read_nested(line, base, ctx, depth, out);
        return;
    }
    let mut shared = EvalState::new(ctx, base, out);
    shared.texts = depth;
    let span = Span::new(base, base);
    let args: Vec<Arg<'_>> = argv
        .iter()
        .map(|word| Arg { text: Cow::Borrowed(word), span, taint: Taint::default(), glob: false })
        .collect();
    let mut walker =
        Evaluator { shared: &mut shared, functions: Vec::new(), defining: None, text: "" };
    walker.command(&args, Flow::none(), span);
}

/// Whether a rule that only says what a program without a description seems to do fits a line of
/// plain words. Such rules leave no finding of their own.
pub(crate) fn looks(id: &str, line: &str) -> bool {
    let span = Span::new(0, 0);
    let args: Vec<Arg<'_>> = line
        .split_whitespace()
        .map(|word| Arg { text: Cow::Borrowed(word), span, taint: Taint::default(), glob: false })
        .collect();
    let inv = invocation::Invocation::new(&args, None);
    tables::UNDESCRIBED_READ_ONLY.iter().any(|rule| rule.id == id && inv.fits(rule, false, true))
}
