//! The tree against the test vectors of Certificate Transparency, and edge cases.

use std::convert::Infallible;

use super::*;

/// Leaves of the reference tests of Certificate Transparency, and the roots of the first 1 to 8.
const LEAVES: [&[u8]; 8] = [
    b"",
    b"\x00",
    b"\x10",
    b"\x20\x21",
    b"\x30\x31",
    b"\x40\x41\x42\x43",
    b"\x50\x51\x52\x53\x54\x55\x56\x57",
    b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
];
const ROOTS: [&str; 9] = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

/// Every complete subtree of some leaves; counts reads, fails for nodes that are not stored.
struct Kept {
    levels: Vec<Vec<Digest>>,
    only_stored: bool,
    read: usize,
}

impl Kept {
    fn over(leaves: Vec<Digest>) -> Kept {
        let mut levels = vec![leaves];
        while levels.last().unwrap().len() > 1 {
            let below = levels.last().unwrap();
            levels.push(below.chunks_exact(2).map(|two| node_hash(&two[0], &two[1])).collect());
        }
        Kept { levels, only_stored: false, read: 0 }
    }
}

impl Nodes for Kept {
    type Error = Infallible;

    fn node(&mut self, level: u8, index: u64) -> Result<Digest, Infallible> {
        assert!(!self.only_stored || level == 0 || STORED_LEVELS.contains(&level), "level {level}");
        self.read += 1;
        Ok(self.levels[usize::from(level)][usize::try_from(index).unwrap()])
    }
}

fn leaves(count: u64) -> Vec<Digest> {
    (0..count).map(|n| leaf_hash(&n.to_be_bytes())).collect()
}

fn root_of(leaves: &[Digest]) -> Digest {
    let mut frontier = Frontier::new();
    for &leaf in leaves {
        frontier.append(leaf);
    }
    frontier.root()
}

#[test]
fn the_roots_of_the_reference_leaves() {
    let mut frontier = Frontier::new();
    assert_eq!(frontier.root().to_string(), ROOTS[0]);
    assert_eq!(empty_root().to_string(), ROOTS[0]);
    for (count, leaf) in LEAVES.iter().enumerate() {
        frontier.append(leaf_hash(leaf));
        assert_eq!(frontier.size(), count as u64 + 1);
        assert_eq!(frontier.root().to_string(), ROOTS[count + 1]);
    }
}

#[test]
fn reference_proofs() {
    let mut kept = Kept::over(LEAVES.map(leaf_hash).to_vec());
    let nodes = &mut kept;
    let shown = |proof: Vec<Digest>| proof.iter().map(Digest::to_string).collect::<Vec<_>>();
    let path = shown(inclusion_proof(nodes, 0, 8).unwrap());
    assert_eq!(
        path,
        [
            "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
        ]
    );
    let proof = shown(consistency_proof(nodes, 6, 8).unwrap());
    assert_eq!(
        proof,
        [
            "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ]
    );
}

#[test]
fn every_proof_of_small_trees_is_valid_only_for_its_leaf() {
    let all = leaves(40);
    let roots: Vec<Digest> = (0..=40).map(|size| root_of(&all[..size])).collect();
    let mut kept = Kept::over(all.clone());
    let nodes = &mut kept;
    for (size, root) in roots.iter().enumerate() {
        let count = size as u64;
        assert_eq!(root_at(nodes, count).unwrap(), *root);
        for (index, leaf) in all[..size].iter().enumerate() {
            let proof = inclusion_proof(nodes, index as u64, count).unwrap();
            assert_eq!(verify_inclusion(leaf, index as u64, count, &proof, root), Ok(()));
            for other in 0..=size {
                let stands = verify_inclusion(leaf, other as u64, count, &proof, root).is_ok();
                assert_eq!(stands, other == index, "{index} shown as {other} of {size}");
            }
            broken(&proof, |bad| verify_inclusion(leaf, index as u64, count, bad, root).is_ok());
        }
        for (old, before) in roots[..=size].iter().enumerate() {
            let proof = consistency_proof(nodes, old as u64, count).unwrap();
            let holds = |before: &Digest, root: &Digest, proof: &[Digest]| {
                verify_consistency(old as u64, before, count, root, proof).is_ok()
            };
            assert!(holds(before, root, &proof));
            broken(&proof, |bad| holds(before, root, bad));
            for other in roots[..=size].iter().filter(|&other| other != before) {
                assert!(!holds(other, root, &proof));
            }
            // Every tree extends the empty tree.
            assert_eq!(holds(before, &leaf_hash(b"other"), &proof), old == 0 && size > 0);
        }
    }
}

/// Each hash changed, one left out, one too many.
fn broken(proof: &[Digest], accepted: impl Fn(&[Digest]) -> bool) {
    for at in 0..proof.len() {
        let mut bad = proof.to_vec();
        bad[at] = leaf_hash(b"another");
        assert!(!accepted(&bad), "changed at {at}");
        bad.remove(at);
        assert!(!accepted(&bad), "left out at {at}");
    }
    for at in 0..=proof.len() {
        let mut bad = proof.to_vec();
        bad.insert(at, leaf_hash(b"more"));
        assert!(!accepted(&bad), "added at {at}");
    }
}

#[test]
fn impossible_sizes_are_rejected() {
    let leaf = leaf_hash(b"x");
    assert_eq!(verify_inclusion(&leaf, 0, 0, &[], &leaf), Err(ProofError::Size));
    assert_eq!(verify_inclusion(&leaf, 1, 1, &[], &leaf), Err(ProofError::Size));
    assert_eq!(verify_inclusion(&leaf, 0, 1, &[], &leaf), Ok(()));
    assert_eq!(verify_inclusion(&leaf, 5, u64::MAX, &[], &leaf), Err(ProofError::Size));
    let empty = empty_root();
    assert_eq!(verify_consistency(0, &empty, 0, &empty, &[]), Ok(()));
    assert_eq!(verify_consistency(0, &empty, 1, &leaf, &[]), Ok(()));
    assert_eq!(verify_consistency(0, &leaf, 1, &leaf, &[]), Err(ProofError::OldRoot));
    assert_eq!(verify_consistency(0, &empty, 0, &leaf, &[]), Err(ProofError::Root));
    assert_eq!(verify_consistency(0, &empty, 1, &leaf, &[leaf]), Err(ProofError::Length));
    assert_eq!(verify_consistency(2, &leaf, 1, &leaf, &[]), Err(ProofError::Size));
    assert_eq!(verify_consistency(3, &leaf, 3, &leaf, &[]), Ok(()));
    assert_eq!(verify_consistency(3, &leaf, 3, &leaf, &[leaf]), Err(ProofError::Length));
    assert_eq!(verify_consistency(3, &leaf, u64::MAX, &leaf, &[]), Err(ProofError::Size));
    let mut kept = Kept::over(leaves(3));
    let nodes = &mut kept;
    assert!(matches!(inclusion_proof(nodes, 3, 3), Err(ProveError::NoSuchLeaf { .. })));
    assert!(matches!(inclusion_proof(nodes, 0, u64::MAX), Err(ProveError::TooLarge { .. })));
    assert!(matches!(consistency_proof(nodes, 3, 2), Err(ProveError::Shrinking { .. })));
    assert!(matches!(consistency_proof(nodes, 3, u64::MAX), Err(ProveError::TooLarge { .. })));
    assert!(matches!(root_at(nodes, u64::MAX), Err(ProveError::TooLarge { .. })));
}

#[test]
fn a_frontier_is_rebuilt_and_extended() {
    let all = leaves(300);
    for size in [0, 1, 2, 3, 7, 8, 255, 256, 257, 299] {
        let mut whole = Frontier::new();
        for &leaf in &all[..size] {
            whole.append(leaf);
        }
        let again = Frontier::from_peaks(whole.size(), whole.peaks().to_vec()).unwrap();
        assert_eq!(again, whole);
        let mut kept = Kept::over(all.clone());
        let mut read = Frontier::read(&mut kept, size as u64).unwrap();
        assert_eq!(read, whole);
        for &leaf in &all[size..] {
            read.append(leaf);
        }
        assert_eq!(read.root(), root_of(&all));
    }
    let leaf = all[0];
    assert_eq!(Frontier::from_peaks(3, vec![leaf]), None);
    assert_eq!(Frontier::from_peaks(0, vec![leaf]), None);
    assert_eq!(Frontier::from_peaks(u64::MAX, vec![leaf; 64]), None);
}

#[test]
fn tiles_give_every_node_from_the_stored_levels() {
    let count = 70_000;
    let mut kept = Kept::over(leaves(count));
    let whole = kept.levels.clone();
    kept.only_stored = true;
    let mut tiled = Tiled::new(kept);
    for (level, nodes) in whole.iter().enumerate() {
        let level = u8::try_from(level).unwrap();
        for index in [0, nodes.len() / 2, nodes.len() - 1] {
            assert_eq!(tiled.node(level, index as u64), Ok(nodes[index]), "{level} {index}");
            if STORED_LEVELS.contains(&level) {
                assert_eq!(tiled.rebuild(level, index as u64), Ok(nodes[index]));
            }
        }
    }
    // A proof reads only a few tiles.
    let kept = tiled.into_inner();
    let before = kept.read;
    let mut tiled = Tiled::new(kept);
    let proof = inclusion_proof(&mut tiled, 12_345, count).unwrap();
    let root = root_at(&mut tiled, count).unwrap();
    let read = tiled.into_inner().read - before;
    assert!(read < 4 * 256 * 2, "{read} nodes read");
    let leaf = leaf_hash(&12_345_u64.to_be_bytes());
    assert_eq!(verify_inclusion(&leaf, 12_345, count, &proof, &root), Ok(()));
}

#[test]
fn completed_nodes_are_reported_when_appending() {
    let all = leaves(66_000);
    let whole = Kept::over(all.clone()).levels;
    let mut frontier = Frontier::new();
    for leaf in all {
        let before = frontier.size();
        let mut given = Vec::new();
        frontier.append_and(leaf, |level, index, node| {
            assert_eq!(whole[usize::from(level)][usize::try_from(index).unwrap()], *node);
            if STORED_LEVELS.contains(&level) {
                given.push((level, index));
            }
        });
        assert_eq!(given, completed(before, frontier.size()).collect::<Vec<_>>());
    }
    assert_eq!(completed(0, 66_000).filter(|&(level, _)| level == 8).count(), 257);
    assert_eq!(completed(0, 66_000).last(), Some((16, 0)));
    assert_eq!(completed(300, 200).count(), 0);
}
