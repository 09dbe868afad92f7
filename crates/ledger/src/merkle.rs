//! The Merkle tree of RFC 6962: hashes and the right edge. The submodules create and check proofs.

use sha2::{Digest as _, Sha256};

use countersign_json::canonical::Digest;

mod check;
mod prove;
mod tiles;

#[cfg(test)]
mod tests;

pub use check::{ProofError, verify_consistency, verify_inclusion};
pub use prove::{ProveError, consistency_proof, inclusion_proof, root_at};
pub use tiles::{STORED_LEVELS, Tiled, completed};

/// The largest supported tree; below it no arithmetic overflows.
pub const MAX_SIZE: u64 = 1 << 62;

/// Reads the hashes of complete subtrees.
pub trait Nodes {
    /// Why a node could not be read.
    type Error;

    /// The hash of the complete subtree over the leaves from `index << level` up to but not
    /// including `(index + 1) << level`. Level 0 is the leaf hashes.
    fn node(&mut self, level: u8, index: u64) -> Result<Digest, Self::Error>;
}

/// The hash of a leaf. The prefix prevents a leaf from being mistaken for an inner node.
pub fn leaf_hash(bytes: &[u8]) -> Digest {
    let hash = Sha256::new().chain_update([0]).chain_update(bytes);
    Digest::from_bytes(hash.finalize().into())
}

/// The hash of an inner node.
pub fn node_hash(left: &Digest, right: &Digest) -> Digest {
    let hash = Sha256::new()
        .chain_update([1])
        .chain_update(left.as_bytes())
        .chain_update(right.as_bytes());
    Digest::from_bytes(hash.finalize().into())
}

/// The root of the empty tree: the hash of no bytes.
pub fn empty_root() -> Digest {
    Digest::of(&[])
}

/// The right edge of a tree: enough to append and to compute the root, at most 62 hashes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frontier {
    size: u64,
    /// The roots of the complete subtrees, largest first: one for each bit set in `size`.
    peaks: Vec<Digest>,
}

impl Frontier {
    /// The empty tree.
    pub fn new() -> Frontier {
        Frontier::default()
    }

    /// The right edge from its complete subtrees, largest first. `None` if their number does not
    /// match `size`, or `size` is beyond `MAX_SIZE`.
    pub fn from_peaks(size: u64, peaks: Vec<Digest>) -> Option<Frontier> {
        let fits = usize::try_from(size.count_ones()) == Ok(peaks.len()) && size <= MAX_SIZE;
        fits.then_some(Frontier { size, peaks })
    }

    /// The right edge of the first `size` leaves, read from a store.
    pub fn read<N: Nodes>(nodes: &mut N, size: u64) -> Result<Frontier, ProveError<N::Error>> {
        if size > MAX_SIZE {
            return Err(ProveError::TooLarge { size });
        }
        let peaks = peak_places(size).map(|(level, index)| nodes.node(level, index));
        let peaks = peaks.collect::<Result<_, _>>().map_err(ProveError::Unread)?;
        Ok(Frontier { size, peaks })
    }

    /// Appends a leaf: one hash on average.
    pub fn append(&mut self, leaf: Digest) {
        self.append_and(leaf, |_, _, _| {});
    }

    /// Appends a leaf and reports every inner node that it completes (level, index, hash), lowest
    /// first. The store keeps those of `STORED_LEVELS` without having to read anything.
    pub fn append_and(&mut self, leaf: Digest, mut completed: impl FnMut(u8, u64, &Digest)) {
        let mut node = leaf;
        let mut level = 0;
        while self.size >> level & 1 == 1 {
            let Some(left) = self.peaks.pop() else { break };
            node = node_hash(&left, &node);
            level += 1;
            completed(level, self.size >> level, &node);
        }
        self.peaks.push(node);
        // Unreachable by counting. A wrong root would be detected; a panic would stop the gate.
        self.size = self.size.saturating_add(1);
    }

    /// How many leaves there are.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The complete subtrees, largest first.
    pub fn peaks(&self) -> &[Digest] {
        &self.peaks
    }

    /// The root of the tree.
    pub fn root(&self) -> Digest {
        let mut smallest_first = self.peaks.iter().rev();
        let Some(&last) = smallest_first.next() else { return empty_root() };
        smallest_first.fold(last, |right, left| node_hash(left, &right))
    }
}

/// The complete subtrees of a tree, largest first, as level and index.
pub fn peak_places(size: u64) -> impl Iterator<Item = (u8, u64)> {
    let set = (0_u8..64).rev().filter(move |&level| size >> level & 1 == 1);
    set.map(move |level| (level, (size >> level) - 1))
}
