//! The ledger compared with ct-merkle, and ten thousand ways to change its past.

#[cfg(test)]
mod ledger {
    use std::convert::Infallible;

    use countersign_json::Value;
    use countersign_json::canonical::Digest;
    use countersign_ledger::checkpoint::Checkpoint;
    use countersign_ledger::entry::{Entry, EntryKind};
    use countersign_ledger::merkle::{
        Frontier, Nodes, Tiled, completed, consistency_proof, inclusion_proof, leaf_hash, root_at,
        verify_consistency, verify_inclusion,
    };
    use countersign_ledger::verify::{Verifier, VerifyErrorKind};
    use ct_merkle::mem_backed_tree::MemoryBackedTree;
    use ct_merkle::{InclusionProof, RootHash};
    use sha2::Sha256;

    /// A small generator, so that a failure can be reproduced.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        }

        fn below(&mut self, count: usize) -> usize {
            usize::try_from(self.roll() % count as u64).unwrap()
        }
    }

    /// What a store keeps: leaf hashes and the levels 8, 16 and 24.
    #[derive(Default)]
    struct Store {
        levels: [Vec<Digest>; 4],
    }

    impl Nodes for &Store {
        type Error = Infallible;

        fn node(&mut self, level: u8, index: u64) -> Result<Digest, Infallible> {
            assert_eq!(level % 8, 0, "only these levels are kept");
            Ok(self.levels[usize::from(level / 8)][usize::try_from(index).unwrap()])
        }
    }

    fn joined(proof: &[Digest]) -> Vec<u8> {
        proof.iter().flat_map(|digest| *digest.as_bytes()).collect()
    }

    fn their_root(digest: &Digest, size: u64) -> RootHash<Sha256> {
        RootHash::new((*digest.as_bytes()).into(), size)
    }

    /// A tree in three forms: that of ct-merkle, ours as a store keeps it, and its roots so far.
    struct Trees {
        theirs: MemoryBackedTree<Sha256, Vec<u8>>,
        store: Store,
        frontier: Frontier,
        values: Vec<Vec<u8>>,
        roots: Vec<Digest>,
    }

    impl Trees {
        fn push(&mut self, value: Vec<u8>) {
            self.theirs.push(value.clone());
            let leaf = leaf_hash(&value);
            self.store.levels[0].push(leaf);
            let before = self.frontier.size();
            let store = &mut self.store;
            self.frontier.append_and(leaf, |level, _, node| {
                if level % 8 == 0 {
                    store.levels[usize::from(level / 8)].push(*node);
                }
            });
            let tile_is_full = self.values.len() % 256 == 255;
            let given = completed(before, self.frontier.size()).count();
            assert_eq!(given, usize::from(tile_is_full));
            self.values.push(value);
            assert_eq!(self.theirs.root().as_bytes()[..], self.frontier.root().as_bytes()[..]);
            self.roots.push(self.frontier.root());
        }

        fn check_inclusion(&self, dice: &mut Dice) {
            let (size, root) = (self.frontier.size(), &self.roots[self.values.len()]);
            let at = dice.below(self.values.len());
            let (index, value) = (at as u64, &self.values[at]);
            let proof = inclusion_proof(&mut Tiled::new(&self.store), index, size).unwrap();
            assert_eq!(joined(&proof), self.theirs.prove_inclusion(at).as_bytes());
            let leaf = leaf_hash(value);
            assert_eq!(verify_inclusion(&leaf, index, size, &proof, root), Ok(()));
            // A proof with one bit changed: both reject it.
            if let Some(bad) = flipped(&proof, dice) {
                assert!(verify_inclusion(&leaf, index, size, &bad, root).is_err());
                let bad = InclusionProof::<Sha256>::from_bytes(joined(&bad));
                assert!(their_root(root, size).verify_inclusion(value, index, &bad).is_err());
            }
        }

        fn check_consistency(&self, dice: &mut Dice) {
            let (size, root) = (self.frontier.size(), &self.roots[self.values.len()]);
            let at = 1 + dice.below(self.values.len());
            let (old, old_root) = (at as u64, &self.roots[at]);
            let mut nodes = Tiled::new(&self.store);
            let proof = consistency_proof(&mut nodes, old, size).unwrap();
            assert_eq!(root_at(&mut nodes, old).unwrap(), *old_root);
            let theirs = self.theirs.prove_consistency(self.values.len() - at);
            assert_eq!(joined(&proof), theirs.as_bytes(), "{old} to {size}");
            let verified =
                their_root(root, size).verify_consistency(&their_root(old_root, old), &theirs);
            assert!(verified.is_ok());
            assert_eq!(verify_consistency(old, old_root, size, root, &proof), Ok(()));
            if let Some(bad) = flipped(&proof, dice) {
                assert!(verify_consistency(old, old_root, size, root, &bad).is_err());
            }
        }
    }

    #[test]
    fn proofs_agree_with_ct_merkle() {
        let mut dice = Dice(6962);
        let mut trees = Trees {
            theirs: MemoryBackedTree::new(),
            store: Store::default(),
            frontier: Frontier::new(),
            values: Vec::new(),
            roots: vec![Frontier::new().root()],
        };
        let mut checked = 0;
        for _ in 0..2_600 {
            let value = (0..dice.below(80)).map(|_| dice.roll().to_be_bytes()[0]).collect();
            trees.push(value);
            for _ in 0..4 {
                trees.check_inclusion(&mut dice);
                trees.check_consistency(&mut dice);
                checked += 1;
            }
        }
        assert!(checked >= 10_000, "{checked}");
    }

    fn flipped(proof: &[Digest], dice: &mut Dice) -> Option<Vec<Digest>> {
        let mut bad = proof.to_vec();
        let at = dice.below(proof.len().max(1));
        let mut bytes = *bad.get(at)?.as_bytes();
        bytes[dice.below(32)] ^= 1 << dice.below(8);
        bad[at] = Digest::from_bytes(bytes);
        Some(bad)
    }

    fn entries(count: usize, dice: &mut Dice) -> Vec<Vec<u8>> {
        let mut at = 1_763_190_000_000;
        let mut all = Vec::new();
        for number in 0..count {
            at += i64::try_from(dice.below(3)).unwrap();
            let kind = EntryKind::ALL[dice.below(EntryKind::ALL.len())];
            let mut entry = Entry::new(at, kind, Digest::of(b"policy"));
            if dice.below(2) == 0 {
                entry.agent = Some("coder".into());
                entry.request = Some(format!("r-{number}").into());
            }
            if dice.below(3) == 0 {
                entry.facts = vec![("tool".into(), Value::String("Bash".into()))];
            }
            all.push(entry.encode().unwrap().into_bytes());
        }
        all
    }

    fn checkpoint(entries: &[Vec<u8>]) -> Checkpoint {
        let mut frontier = Frontier::new();
        for entry in entries {
            frontier.append(leaf_hash(entry));
        }
        Checkpoint { origin: "test".into(), size: frontier.size(), root: frontier.root() }
    }

    #[test]
    fn a_checkpoint_detects_every_edit() {
        let mut dice = Dice(12);
        let good = entries(60, &mut dice);
        let kept = checkpoint(&good);
        let verify = |entries: &[Vec<u8>]| {
            let mut verifier = Verifier::new();
            entries.iter().try_for_each(|entry| verifier.feed(entry))?;
            verifier.finish(&kept)
        };
        assert_eq!(verify(&good), Ok(()));
        let mut tried = [0; 6];
        while tried.iter().sum::<usize>() < 12_000 {
            let mut bad = good.clone();
            let (at, edit) = (dice.below(bad.len()), dice.below(6));
            match edit {
                0 => {
                    let byte = dice.below(bad[at].len());
                    bad[at][byte] ^= 1 << dice.below(8);
                }
                1 => drop(bad.remove(at)),
                2 => {
                    let copy = bad[dice.below(bad.len())].clone();
                    bad.insert(at, copy);
                }
                3 => bad.swap(at, dice.below(60)),
                4 => bad.truncate(at),
                _ => {
                    // A well-formed forgery: the same entry with another kind, at the same time.
                    let mut entry = Entry::decode(&good[at]).unwrap();
                    entry.kind = EntryKind::ALL[dice.below(EntryKind::ALL.len())];
                    bad[at] = entry.encode().unwrap().into_bytes();
                }
            }
            if bad == good {
                continue;
            }
            tried[edit] += 1;
            let fault = verify(&bad).expect_err("an edit that was not detected");
            assert!(fault.sequence <= bad.len() as u64, "{fault}");
        }
        assert!(tried.iter().all(|&count| count > 1_500), "{tried:?}");
    }

    #[test]
    fn only_an_external_checkpoint_detects_truncation() {
        let good = entries(50, &mut Dice(3));
        let outside = vec![checkpoint(&good[..40]), checkpoint(&good[..10]), checkpoint(&[])];
        for length in 0..=50 {
            let cut = &good[..length];
            // Without an external checkpoint, a shorter ledger is a valid ledger.
            let mut alone = Verifier::new();
            assert!(cut.iter().all(|entry| alone.feed(entry).is_ok()));
            assert_eq!(alone.end(), Ok(()));
            // With the signing key, an attacker can also sign a checkpoint for the shortened
            // ledger.
            assert_eq!(alone.finish(&checkpoint(cut)), Ok(()));
            let mut held = Verifier::expecting(outside.clone());
            assert!(cut.iter().all(|entry| held.feed(entry).is_ok()));
            let ended = held.end();
            if length < 40 {
                assert_eq!(ended.unwrap_err().kind, VerifyErrorKind::Short { wanted: 40 });
            } else {
                assert_eq!(ended, Ok(()));
            }
        }
    }

    #[test]
    fn a_rewritten_history_is_detected_at_the_first_checkpoint_after_the_change() {
        let good = entries(50, &mut Dice(4));
        let outside = vec![checkpoint(&good[..20]), checkpoint(&good[..30])];
        let mut forged = good.clone();
        let mut entry = Entry::decode(&good[25]).unwrap();
        entry.person = Some("nobody".into());
        forged[25] = entry.encode().unwrap().into_bytes();
        let mut verifier = Verifier::expecting(outside);
        let fed = forged.iter().try_for_each(|entry| verifier.feed(entry));
        let fault = fed.unwrap_err();
        assert_eq!((fault.sequence, &fault.kind), (30, &VerifyErrorKind::Root));
        // The first error is kept.
        assert_eq!(verifier.feed(&good[0]), Err(fault.clone()));
        assert_eq!(verifier.finish(&checkpoint(&forged)), Err(fault));
        // An empty ledger with a wrong root is detected before any entry.
        let lie = Checkpoint { root: leaf_hash(b""), ..checkpoint(&[]) };
        assert!(Verifier::expecting(vec![lie]).end().is_err());
    }

    #[test]
    fn the_first_error_has_a_clear_message() {
        let good = entries(3, &mut Dice(5));
        let fault = |bad: &[u8]| {
            let mut verifier = Verifier::new();
            verifier.feed(&good[0]).unwrap();
            verifier.feed(bad).unwrap_err().to_string()
        };
        let text = String::from_utf8(good[1].clone()).unwrap();
        assert_eq!(
            fault(text.replace("\"v\":1", "\"v\":2").as_bytes()),
            "entry 1 is invalid: its version is not 1"
        );
        assert_eq!(
            fault(text.replace(':', ": ").as_bytes()),
            "entry 1 is invalid: it is not in canonical form"
        );
        let early = Entry::new(5, EntryKind::Clock, Digest::of(b"policy")).encode().unwrap();
        let words = fault(early.as_bytes());
        assert!(words.starts_with("entry 1 goes back in time: 5 ms after"), "{words}");
        let mut verifier = Verifier::new();
        assert!(good.iter().all(|entry| verifier.feed(entry).is_ok()));
        let words = |checkpoint| verifier.clone().finish(&checkpoint).unwrap_err().to_string();
        let more = Checkpoint { size: 9, ..checkpoint(&good) };
        assert_eq!(words(more), "the ledger ends after 3 entries; the checkpoint has 9");
        let fewer = checkpoint(&good[..2]);
        assert_eq!(words(fewer), "the ledger has 3 entries; the checkpoint has only 2");
        let other = Checkpoint { root: leaf_hash(b"x"), ..checkpoint(&good) };
        assert_eq!(words(other), "the first 3 entries do not match the signed checkpoint");
    }
}
