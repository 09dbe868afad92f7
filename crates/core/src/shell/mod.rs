//! Reading shell text.

use crate::context::Context;
use crate::finding::Findings;

/// Reads shell text and adds what it would do. `base` is where the text starts in its argument.
pub fn read_nested(_text: &str, _base: usize, _ctx: &Context<'_>, _depth: u8, _out: &mut Findings) {
}
