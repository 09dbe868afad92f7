//! Creates proofs from stored nodes (RFC 6962, 2.1.1 and 2.1.2).

use std::fmt;

use super::{Digest, Frontier, MAX_SIZE, Nodes, node_hash};

/// Why a proof cannot be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProveError<E> {
    /// The tree has no leaf with this index.
    NoSuchLeaf {
        /// The index, from 0.
        index: u64,
        /// How many leaves there are.
        size: u64,
    },
    /// The older tree would be larger than the newer one.
    Shrinking {
        /// Leaves of the older tree.
        old: u64,
        /// Leaves of the newer tree.
        new: u64,
    },
    /// Larger than the largest supported tree.
    TooLarge {
        /// The number of leaves.
        size: u64,
    },
    /// A node could not be read.
    Unread(E),
}

type Proof<E> = Result<Vec<Digest>, ProveError<E>>;

/// The audit path of leaf `index` in the tree of the first `size` leaves, lowest node first.
pub fn inclusion_proof<N: Nodes>(nodes: &mut N, index: u64, size: u64) -> Proof<N::Error> {
    if size > MAX_SIZE {
        return Err(ProveError::TooLarge { size });
    }
    if index >= size {
        return Err(ProveError::NoSuchLeaf { index, size });
    }
    let (mut start, mut end) = (0, size);
    let mut path = Vec::new();
    while end - start > 1 {
        let middle = start + split(end - start);
        if index < middle {
            path.push(range(nodes, middle, end)?);
            end = middle;
        } else {
            path.push(range(nodes, start, middle)?);
            start = middle;
        }
    }
    path.reverse();
    Ok(path)
}

/// The proof that the first `old` leaves are a prefix of the first `new`. Empty if nothing has to
/// be proved: for equal sizes, and for the empty tree.
pub fn consistency_proof<N: Nodes>(nodes: &mut N, old: u64, new: u64) -> Proof<N::Error> {
    if new > MAX_SIZE {
        return Err(ProveError::TooLarge { size: new });
    }
    if old > new {
        return Err(ProveError::Shrinking { old, new });
    }
    let mut path = Vec::new();
    if old == 0 || old == new {
        return Ok(path);
    }
    let (mut start, mut end) = (0, new);
    // Ends at the subtree whose right end is that of the older tree.
    while end != old {
        let middle = start + split(end - start);
        if old <= middle {
            path.push(range(nodes, middle, end)?);
            end = middle;
        } else {
            path.push(range(nodes, start, middle)?);
            start = middle;
        }
    }
    // From 0 it is the older tree itself, whose root the verifier has.
    if start > 0 {
        path.push(range(nodes, start, end)?);
    }
    path.reverse();
    Ok(path)
}

/// The root of the tree of the first `size` leaves.
pub fn root_at<N: Nodes>(nodes: &mut N, size: u64) -> Result<Digest, ProveError<N::Error>> {
    Ok(Frontier::read(nodes, size)?.root())
}

/// The largest power of two below `count`, which is at least 2.
fn split(count: u64) -> u64 {
    1 << (u64::BITS - 1 - (count - 1).leading_zeros())
}

/// The hash over the leaves from `start` to `end`, where a subtree of that many leaves may begin at
/// `start`.
fn range<N: Nodes>(nodes: &mut N, start: u64, end: u64) -> Result<Digest, ProveError<N::Error>> {
    let count = end - start;
    if count.is_power_of_two() {
        let level = u8::try_from(count.trailing_zeros()).unwrap_or(u8::MAX);
        return nodes.node(level, start >> level).map_err(ProveError::Unread);
    }
    let middle = start + split(count);
    let left = range(nodes, start, middle)?;
    let right = range(nodes, middle, end)?;
    Ok(node_hash(&left, &right))
}

impl<E: fmt::Display> fmt::Display for ProveError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProveError::NoSuchLeaf { index, size } => {
                write!(f, "the ledger has {size} entries; entry {index} does not exist")
            }
            ProveError::Shrinking { old, new } => {
                write!(f, "a ledger of {old} entries cannot be a prefix of one of {new}")
            }
            ProveError::TooLarge { size } => {
                write!(f, "{size} entries are more than a ledger can have")
            }
            ProveError::Unread(error) => write!(f, "cannot read a hash of the ledger: {error}"),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for ProveError<E> {}
