//! Verifies proofs (RFC 9162, 2.1.3.2 and 2.1.4.2): every length and size must be exact.

use std::fmt;

use super::{Digest, MAX_SIZE, empty_root, node_hash};

/// Why a proof is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProofError {
    /// The tree has no such leaf, the older tree is larger, or a size is impossible.
    Size,
    /// Too few or too many hashes for these sizes.
    Length,
    /// The hashes give another root than the older one.
    OldRoot,
    /// The hashes give another root than the given one.
    Root,
}

/// Verifies that a leaf is at `index` in the tree with this size and root.
pub fn verify_inclusion(
    leaf: &Digest,
    index: u64,
    size: u64,
    proof: &[Digest],
    root: &Digest,
) -> Result<(), ProofError> {
    if index >= size || size > MAX_SIZE {
        return Err(ProofError::Size);
    }
    let mut path = PathToRoot { node: index, last: size - 1 };
    let mut hash = *leaf;
    for sibling in proof {
        hash = match path.step()? {
            Side::Left => node_hash(sibling, &hash),
            Side::Right => node_hash(&hash, sibling),
        };
    }
    if path.last != 0 {
        return Err(ProofError::Length);
    }
    if hash == *root { Ok(()) } else { Err(ProofError::Root) }
}

/// Verifies that the tree of `old_size` is a prefix of the tree of `new_size`.
///
/// The empty tree is a prefix of every tree: its proof must be empty, and the older root that of
/// the empty tree. Trees of equal size must have equal roots.
pub fn verify_consistency(
    old_size: u64,
    old_root: &Digest,
    new_size: u64,
    new_root: &Digest,
    proof: &[Digest],
) -> Result<(), ProofError> {
    if old_size > new_size || new_size > MAX_SIZE {
        return Err(ProofError::Size);
    }
    if old_size == 0 && *old_root != empty_root() {
        return Err(ProofError::OldRoot);
    }
    if old_size == new_size && old_root != new_root {
        return Err(ProofError::Root);
    }
    if old_size == 0 || old_size == new_size {
        return if proof.is_empty() { Ok(()) } else { Err(ProofError::Length) };
    }
    // A complete older tree is a subtree of the newer one: its root is not part of the proof.
    let (first, rest) = if old_size.is_power_of_two() {
        (old_root, proof)
    } else {
        proof.split_first().ok_or(ProofError::Length)?
    };
    let mut path = PathToRoot { node: old_size - 1, last: new_size - 1 };
    path.rise(path.node.trailing_ones());
    let (mut old, mut new) = (*first, *first);
    for sibling in rest {
        match path.step()? {
            Side::Left => {
                old = node_hash(sibling, &old);
                new = node_hash(sibling, &new);
            }
            Side::Right => new = node_hash(&new, sibling),
        }
    }
    if path.last != 0 {
        return Err(ProofError::Length);
    }
    if old != *old_root {
        return Err(ProofError::OldRoot);
    }
    if new == *new_root { Ok(()) } else { Err(ProofError::Root) }
}

/// On which side of the path the next sibling is.
enum Side {
    Left,
    Right,
}

/// The path from a node to the root; `last` is the last node on the same level.
struct PathToRoot {
    node: u64,
    last: u64,
}

impl PathToRoot {
    /// Consumes one hash of the proof. Fails at the root: the proof is too long.
    fn step(&mut self) -> Result<Side, ProofError> {
        if self.last == 0 {
            return Err(ProofError::Length);
        }
        let side = if self.node & 1 == 1 || self.node == self.last {
            // A last node without a sibling moves up unchanged.
            if self.node & 1 == 0 {
                self.rise(self.node.trailing_zeros());
            }
            Side::Left
        } else {
            Side::Right
        };
        self.rise(1);
        Ok(side)
    }

    /// Moves up. Zero has no set bit to stop at: then the root is reached.
    fn rise(&mut self, levels: u32) {
        self.node = self.node.checked_shr(levels).unwrap_or(0);
        self.last = self.last.checked_shr(levels).unwrap_or(0);
    }
}

impl fmt::Display for ProofError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProofError::Size => "the proof has impossible sizes",
            ProofError::Length => "the proof has too few or too many hashes for these sizes",
            ProofError::OldRoot => "the proof does not match the older root",
            ProofError::Root => "the proof does not match the root",
        })
    }
}

impl std::error::Error for ProofError {}
