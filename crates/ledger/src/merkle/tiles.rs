//! A tree of which only some levels are stored: any other node is computed from at most 256 of
//! them.

use super::{Digest, Nodes, node_hash};

/// The levels that are stored in addition to the leaf hashes.
pub const STORED_LEVELS: [u8; 3] = [8, 16, 24];

/// Computes any complete subtree from a store that has the leaf hashes and `STORED_LEVELS`.
///
/// A node needs up to 128 stored nodes in trees below 2^32 leaves; larger trees need more.
#[derive(Debug, Clone)]
pub struct Tiled<N> {
    stored: N,
}

impl<N: Nodes> Tiled<N> {
    /// Wraps a store that has levels 0, 8, 16 and 24.
    pub const fn new(stored: N) -> Tiled<N> {
        Tiled { stored }
    }

    /// Returns the store.
    pub fn into_inner(self) -> N {
        self.stored
    }

    /// Computes a node of a stored level from its 256 children, to restore a lost node.
    /// `Frontier::append_and` reports new nodes without reading.
    pub fn rebuild(&mut self, level: u8, index: u64) -> Result<Digest, N::Error> {
        match level.checked_sub(8) {
            Some(below) => self.fold(below - below % 8, level, index),
            None => self.node(level, index),
        }
    }

    /// The node over its descendants on a stored level.
    fn fold(&mut self, base: u8, level: u8, index: u64) -> Result<Digest, N::Error> {
        if level <= base {
            return self.stored.node(level, index);
        }
        let left = self.fold(base, level - 1, index << 1)?;
        let right = self.fold(base, level - 1, index << 1 | 1)?;
        Ok(node_hash(&left, &right))
    }
}

impl<N: Nodes> Nodes for Tiled<N> {
    type Error = N::Error;

    fn node(&mut self, level: u8, index: u64) -> Result<Digest, N::Error> {
        let [.., highest] = STORED_LEVELS;
        self.fold((level - level % 8).min(highest), level, index)
    }
}

/// The nodes of the stored levels (level, index) that growing from one size to another completes,
/// level by level: each can be computed from those before it.
pub fn completed(before: u64, after: u64) -> impl Iterator<Item = (u8, u64)> {
    let levels = STORED_LEVELS.into_iter();
    levels.flat_map(move |level| (before >> level..after >> level).map(move |index| (level, index)))
}
