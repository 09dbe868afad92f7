//! What our figures are held against: the same bytes, done by others.

use std::hint::black_box;

use sha2::{Digest, Sha256};

use crate::measure::Contender;

/// SHA-256 of the bytes.
pub fn sha256<'a, I: ?Sized + AsRef<[u8]>>() -> Contender<'a, I> {
    Contender::new("SHA-256 of the bytes", |input: &I| {
        black_box(Sha256::digest(black_box(input.as_ref())));
    })
}

/// The bytes copied into a buffer.
pub fn copy<'a, I: ?Sized + AsRef<[u8]>>() -> Contender<'a, I> {
    let mut buffer: Vec<u8> = Vec::with_capacity(1 << 20);
    Contender::new("copy of the bytes", move |input: &I| {
        buffer.clear();
        buffer.extend_from_slice(black_box(input.as_ref()));
        black_box(&buffer);
    })
}

/// tree-sitter-bash parses the command.
#[cfg(feature = "tree-sitter")]
pub fn tree_sitter<'a>() -> Option<Contender<'a, str>> {
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    Some(Contender::new("tree-sitter-bash parses it", move |command: &str| {
        black_box(parser.parse(black_box(command), None));
    }))
}

/// Built without it.
#[cfg(not(feature = "tree-sitter"))]
pub fn tree_sitter<'a>() -> Option<Contender<'a, str>> {
    None
}
