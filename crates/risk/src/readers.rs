//! The dispatcher: it knows every reader, and readers reach each other only through it.
//!
//! A reader that finds text in another language gives it to the dispatcher with its place and depth
//! and gets the result at once. A queue of nested texts that is drained later would be wrong here:
//! what a nested text sets or writes is seen by the next command (`eval`, `source`, `sh -c`), code
//! is harmless only if the commands in it are, and findings keep the order in which they were made.

use crate::code::{self, Language};
use crate::command_tables::{Spec, Speech};
use crate::context::Context;
use crate::finding::{Findings, Span};
use crate::flow::Flow;
use crate::hidden_text;
use crate::nested_command::{Command, NestedCommand};
use crate::shell::{CommandAssessor, CommandWord, Dispatch, EvalState};
use crate::{cmd, powershell, shell};

static DISPATCH: Dispatch = Dispatch { nested: read_nested, launch, run_powershell, bind };

/// Reads shell text and adds what it would do. `base` is where the text starts in its argument,
/// `depth` how many texts it is inside of.
pub fn read_shell(text: &str, base: usize, ctx: &Context<'_>, depth: u8, out: &mut Findings) {
    read_nested(&NestedCommand { command: Command::Text(text), base, depth }, ctx, out);
}

/// Reads code and adds what it would do. `base` is where the code starts in its argument.
pub fn read_code(lang: Language, text: &str, base: usize, ctx: &Context<'_>, out: &mut Findings) {
    code::read(lang, text, base, ctx, 0, read_nested, out);
}

/// Whether all of a code is read, nothing in it is known only when it runs, and nothing in it asks
/// for a person.
pub(crate) fn is_harmless_code(lang: Language, text: &str, ctx: &Context<'_>) -> bool {
    let mut findings = Findings::default();
    read_code(lang, text, 0, ctx, &mut findings);
    code::is_harmless_reading(lang, &findings)
}

/// Reads a whole PowerShell text that an agent wants to run.
pub fn read_powershell(text: &str, ctx: &Context<'_>, out: &mut Findings) {
    hidden_text::note(text, out);
    read_plain_powershell(text, ctx, out);
}

/// The same without a look at hidden characters.
pub(crate) fn read_plain_powershell(text: &str, ctx: &Context<'_>, out: &mut Findings) {
    powershell::read(text, 0, ctx, &DISPATCH, out);
}

/// Reads a whole text for cmd that an agent wants to run.
pub fn read_cmd(text: &str, ctx: &Context<'_>, out: &mut Findings) {
    hidden_text::note(text, out);
    cmd::read(text, ctx, &DISPATCH, out);
}

fn read_nested(nested: &NestedCommand<'_>, ctx: &Context<'_>, out: &mut Findings) {
    shell::read(nested, ctx, &DISPATCH, out);
}

fn launch(
    state: &mut EvalState<'_, '_>,
    speech: Speech,
    words: &[CommandWord],
    stdin: &Flow,
    span: Span,
) -> Option<Flow> {
    let mut assessor = CommandAssessor::new(state);
    match speech {
        Speech::Cmd => cmd::launched(&mut assessor, words, stdin, span),
        _ => powershell::launched(&mut assessor, words, stdin, span),
    }
}

fn run_powershell(state: &mut EvalState<'_, '_>, text: &str, span: Span) -> Flow {
    powershell::run_text(&mut CommandAssessor::new(state), text, span)
}

fn bind(spec: &'static Spec, words: &[CommandWord], stdin: &Flow) -> Vec<CommandWord> {
    if spec.cmdlet { powershell::bind_plain(spec, words, stdin) } else { cmd::slash_options(words) }
}
