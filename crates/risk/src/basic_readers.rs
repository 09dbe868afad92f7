//! The readers of a small program: POSIX shells only. Every other text is left unread, and the
//! program must give the call to one that has all readers.

use std::sync::atomic::AtomicBool;

use crate::command_tables::{CodeLanguage, Spec};
use crate::context::{Context, ReaderSet, TextReaders};
use crate::finding::{Findings, Span};
use crate::flow::{Flow, Taint};
use crate::language::Language;
use crate::nested_command::{Command, NestedCommand};
use crate::shell::{self, CommandWord, Dispatch, EvalState};

static DISPATCH: Dispatch = Dispatch {
    code: leave_nested_code,
    launch: leave_launch,
    run_powershell: leave_powershell,
    bind: leave_bind,
};

static BASIC: ReaderSet = ReaderSet {
    shell: read_shell,
    code: |_, _, ctx, out| ctx.leave_unread(out),
    is_harmless_code: |_, _, ctx| {
        ctx.leave_unread(&mut Findings::default());
        false
    },
    powershell: leave_text,
    plain_powershell: leave_text,
    cmd: leave_text,
    screen: leave_text,
};

/// The basic readers; `left_unread` becomes true when a text needs another one.
pub(crate) fn basic(left_unread: &AtomicBool) -> TextReaders<'_> {
    TextReaders::partial(&BASIC, left_unread)
}

fn read_shell(text: &str, base: usize, ctx: &Context<'_>, depth: u8, out: &mut Findings) {
    read_nested(&NestedCommand { command: Command::Text(text), base, depth }, ctx, out);
}

fn read_nested(nested: &NestedCommand<'_>, ctx: &Context<'_>, out: &mut Findings) {
    shell::read(nested, ctx, &DISPATCH, out);
}

fn leave_text(_: &str, ctx: &Context<'_>, out: &mut Findings) {
    ctx.leave_unread(out);
}

fn leave_nested_code(_: Language, _: &str, ctx: &Context<'_>, _: u8, out: &mut Findings) -> bool {
    ctx.leave_unread(out);
    false
}

fn leave_launch(
    state: &mut EvalState<'_, '_>,
    _: CodeLanguage,
    _: &[CommandWord],
    _: &Flow,
    _: Span,
) -> Option<Flow> {
    state.ctx.leave_unread(state.out);
    None
}

fn leave_powershell(state: &mut EvalState<'_, '_>, _: &str, _: Span) -> Flow {
    state.ctx.leave_unread(state.out);
    Flow::unknown(Taint::default())
}

fn leave_bind(
    state: &mut EvalState<'_, '_>,
    _: &'static Spec,
    words: &[CommandWord],
    _: &Flow,
) -> Vec<CommandWord> {
    state.ctx.leave_unread(state.out);
    words.to_vec()
}
