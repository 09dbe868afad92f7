//! Reading shell text.

use crate::context::Context;
use crate::finding::Findings;

/// A stub to be replaced: reads a shell line found inside other code.
pub(crate) fn read_nested(
    _text: &str,
    _base: usize,
    _ctx: &Context<'_>,
    _depth: u8,
    _out: &mut Findings,
) {
}

/// A stub to be replaced: reads the words of a program start found inside other code.
pub(crate) fn read_argv(
    _argv: &[String],
    _base: usize,
    _ctx: &Context<'_>,
    _depth: u8,
    _out: &mut Findings,
) {
}
