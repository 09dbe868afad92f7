//! The ledger: what an entry costs to write, and a million to verify.

use std::borrow::Cow;
use std::hint::black_box;

use countersign_json::Value;
use countersign_json::canonical::Digest;
use countersign_ledger::checkpoint::Checkpoint;
use countersign_ledger::entry::{Entry, EntryError, EntryKind};
use countersign_ledger::merkle::{Frontier, leaf_hash};
use countersign_ledger::verify::Verifier;
use sha2::{Digest as _, Sha256};

use crate::measure::{at, time};

/// Records in the ledger that is verified.
const RECORDS: u64 = 1_000_000;

/// Records in one timed round of writing.
const ROUND: u64 = 10_000;

/// Measures and prints.
pub fn agent_run(rounds: usize) {
    let policy = Digest::of(b"policy");
    let digest = Digest::of(b"call");
    let sample = pass(0, policy, digest).encode().unwrap_or_default();
    println!("\nledger: a pass of {} bytes; ns a record, median of {rounds} rounds", sample.len());

    let mut room = String::new();
    let mut row = |name: &str, work: &mut dyn FnMut(i64, &mut String)| {
        let mut runs: Vec<u64> = (0..rounds.max(1))
            .map(|_| time(|| (0..ROUND).for_each(|n| work(n.cast_signed(), &mut room))) / ROUND)
            .collect();
        runs.sort_unstable();
        println!("{name:34} {:>9} (worst round {})", at(&runs, 500), at(&runs, 1000));
    };
    let mut frontier = Frontier::new();
    row("encode, hash, append", &mut |n, room| {
        if pass(n, policy, digest).encode_into(room).is_ok() {
            frontier.append(leaf_hash(room.as_bytes()));
        }
    });
    row("  encode alone", &mut |n, room| {
        let _ = black_box(pass(n, policy, digest).encode_into(room));
        black_box(&room);
    });
    row("  leaf hash alone", &mut |_, _| {
        black_box(leaf_hash(black_box(sample.as_bytes())));
    });
    let leaf = leaf_hash(sample.as_bytes());
    row("  append alone", &mut |_, _| frontier.append(black_box(leaf)));
    row("  root", &mut |_, _| {
        black_box(frontier.root());
    });
    row("SHA-256 of the same bytes", &mut |_, _| {
        black_box(Sha256::digest(black_box(sample.as_bytes())));
    });
    row("decode", &mut |_, room| {
        let _ = black_box(Entry::decode_with(black_box(sample.as_bytes()), room));
    });
    verify(policy, digest);
}

fn verify(policy: Digest, digest: Digest) {
    let all: Result<Vec<String>, EntryError> =
        (0..RECORDS).map(|n| pass(n.cast_signed(), policy, digest).encode()).collect();
    let Ok(all) = all else { return };
    let mut frontier = Frontier::new();
    for entry in &all {
        frontier.append(leaf_hash(entry.as_bytes()));
    }
    let checkpoint =
        Checkpoint { origin: "bench".to_owned(), size: RECORDS, root: frontier.root() };
    let bytes: usize = all.iter().map(String::len).sum();
    for _ in 0..3 {
        let mut good = false;
        let nanos = time(|| {
            let mut verifier = Verifier::new();
            good = all.iter().try_for_each(|entry| verifier.feed(entry.as_bytes())).is_ok()
                && verifier.finish(&checkpoint).is_ok();
        });
        let verdict = if good { "good" } else { "FAULT" };
        println!(
            "verify {RECORDS} records, {} MB: {} ms, {verdict}",
            bytes / 1_000_000,
            nanos / 1_000_000
        );
    }
}

/// The entry that is written for every call that passes.
fn pass(n: i64, policy: Digest, digest: Digest) -> Entry<'static> {
    let word = |text| Value::String(Cow::Borrowed(text));
    Entry {
        agent: Some(Cow::Borrowed("coder")),
        session: Some(Cow::Borrowed("s-0193a5")),
        digest: Some(digest),
        facts: vec![(Cow::Borrowed("tier"), word("SAFE")), (Cow::Borrowed("tool"), word("Bash"))],
        ..Entry::new(1_763_190_000_000 + n, EntryKind::Pass, policy)
    }
}
