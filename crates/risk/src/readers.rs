//! The dispatcher: it knows every reader, and readers reach each other only through it.
//!
//! A reader that finds text in another language gives it to the dispatcher with its place and depth
//! and gets the result at once. A queue of nested texts that is drained later would be wrong here:
//! what a nested text sets or writes is seen by the next command (`eval`, `source`, `sh -c`), code
//! is harmless only if the commands in it are, and findings keep the order in which they were made.
//!
//! `basic_readers` is the same for a small program that has only the reader of POSIX shells.

use crate::code::{self, Language};
use crate::command_tables::{CodeLanguage, Spec};
use crate::context::{Context, ReaderSet, TextReaders};
use crate::finding::{Findings, Span};
use crate::flow::Flow;
use crate::hidden_text;
use crate::nested_command::{Command, NestedCommand};
use crate::prose::note_crisis;
use crate::shell::{CommandAssessor, CommandWord, Dispatch, EvalState};
use crate::{cmd, powershell, shell};

static DISPATCH: Dispatch = Dispatch { code: read_nested_code, launch, run_powershell, bind };

static ALL: ReaderSet = ReaderSet {
    shell: read_shell_text,
    code: read_whole_code,
    is_harmless_code,
    powershell: read_powershell_text,
    plain_powershell,
    cmd: read_cmd_text,
    screen: note_crisis,
};

/// All readers.
pub fn all() -> TextReaders<'static> {
    TextReaders::of(&ALL)
}

/// Reads shell text and adds what it would do. `base` is where the text starts in its argument,
/// `depth` how many texts it is inside of.
pub fn read_shell(text: &str, base: usize, ctx: &Context<'_>, depth: u8, out: &mut Findings) {
    read_shell_text(text, base, &with_all(ctx), depth, out);
}

/// Reads code and adds what it would do. `base` is where the code starts in its argument.
pub fn read_code(lang: Language, text: &str, base: usize, ctx: &Context<'_>, out: &mut Findings) {
    code::read(lang, text, base, &with_all(ctx), 0, read_nested, out);
}

/// Reads a whole PowerShell text that an agent wants to run.
pub fn read_powershell(text: &str, ctx: &Context<'_>, out: &mut Findings) {
    read_powershell_text(text, &with_all(ctx), out);
}

/// Reads a whole text for cmd that an agent wants to run.
pub fn read_cmd(text: &str, ctx: &Context<'_>, out: &mut Findings) {
    read_cmd_text(text, &with_all(ctx), out);
}

fn with_all<'a>(ctx: &Context<'a>) -> Context<'a> {
    Context { readers: all(), ..*ctx }
}

fn read_shell_text(text: &str, base: usize, ctx: &Context<'_>, depth: u8, out: &mut Findings) {
    read_nested(&NestedCommand { command: Command::Text(text), base, depth }, ctx, out);
}

fn read_whole_code(lang: Language, text: &str, ctx: &Context<'_>, out: &mut Findings) {
    code::read(lang, text, 0, ctx, 0, read_nested, out);
}

fn read_nested_code(
    lang: Language,
    text: &str,
    ctx: &Context<'_>,
    depth: u8,
    out: &mut Findings,
) -> bool {
    code::read(lang, text, 0, ctx, depth, read_nested, out);
    code::is_harmless_reading(lang, text, out)
}

/// Whether all of a code is read, nothing in it is known only when it runs, and nothing in it asks
/// for a person.
fn is_harmless_code(lang: Language, text: &str, ctx: &Context<'_>) -> bool {
    let mut findings = Findings::default();
    read_whole_code(lang, text, ctx, &mut findings);
    code::is_harmless_reading(lang, text, &findings)
}

fn read_powershell_text(text: &str, ctx: &Context<'_>, out: &mut Findings) {
    hidden_text::note(text, out);
    plain_powershell(text, ctx, out);
}

/// The same without a look at hidden characters.
fn plain_powershell(text: &str, ctx: &Context<'_>, out: &mut Findings) {
    powershell::read(text, 0, ctx, &DISPATCH, out);
}

fn read_cmd_text(text: &str, ctx: &Context<'_>, out: &mut Findings) {
    hidden_text::note(text, out);
    cmd::read(text, ctx, &DISPATCH, out);
}

fn read_nested(nested: &NestedCommand<'_>, ctx: &Context<'_>, out: &mut Findings) {
    shell::read(nested, ctx, &DISPATCH, out);
}

fn launch(
    state: &mut EvalState<'_, '_>,
    language: CodeLanguage,
    words: &[CommandWord],
    stdin: &Flow,
    span: Span,
) -> Option<Flow> {
    let mut assessor = CommandAssessor::new(state);
    match language {
        CodeLanguage::Cmd => cmd::launched(&mut assessor, words, stdin, span),
        _ => powershell::launched(&mut assessor, words, stdin, span),
    }
}

fn run_powershell(state: &mut EvalState<'_, '_>, text: &str, span: Span) -> Flow {
    powershell::run_text(&mut CommandAssessor::new(state), text, span)
}

fn bind(
    _: &mut EvalState<'_, '_>,
    spec: &'static Spec,
    words: &[CommandWord],
    stdin: &Flow,
) -> Vec<CommandWord> {
    if spec.cmdlet { powershell::bind_plain(spec, words, stdin) } else { cmd::slash_options(words) }
}
