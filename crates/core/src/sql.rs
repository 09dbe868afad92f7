//! SQL read for what it would change.

use crate::context::Context;
use crate::finding::Findings;

/// Reads SQL and adds what it would change. `base` is where the text starts in its argument.
pub fn read(_text: &str, _base: usize, _ctx: &Context<'_>, _out: &mut Findings) {}

/// Redis commands, one a line.
pub fn read_redis(_text: &str, _base: usize, _ctx: &Context<'_>, _out: &mut Findings) {}

/// Mongo shell text.
pub fn read_mongo(_text: &str, _base: usize, _ctx: &Context<'_>, _out: &mut Findings) {}
