//! A stretch of a text, in byte offsets.

use serde::Serialize;

/// Byte offsets into the argument a finding points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// A span from offsets; offsets past 4 GiB cannot occur (input is bounded far below).
    pub fn new(start: usize, end: usize) -> Span {
        let clip = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Span { start: clip(start), end: clip(end.max(start)) }
    }
}
