//! Checkpoints are signed, sent to witnesses, and never go back.

use std::process::Command;

use countersign_ledger::entry::{Entry, EntryKind};

use super::*;
use crate::test_gate::{TestGate, test_gate};

async fn grow(gate: &TestGate, entries: u64) {
    for _ in 0..entries {
        let entry = Entry::new(0, EntryKind::Edit, gate.gate.rules().hash);
        gate.gate.store().append(vec![entry]).await.unwrap();
    }
}

async fn open(gate: &TestGate, ledger: &LedgerConfig) -> Checkpoints {
    let parts = (Arc::clone(&gate.gate), Arc::clone(&gate.keys));
    Checkpoints::open(parts.0, parts.1, gate.folder.path(), ledger).await.unwrap()
}

fn ledger(gate: &TestGate) -> LedgerConfig {
    let folder = gate.folder.path();
    LedgerConfig {
        every: countersign_types::time::Millis::from_seconds(10),
        file: Some(folder.join("witness")),
        webhook: None,
        git: Some(folder.join("repository")),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_is_signed_after_growth_and_sent_to_witnesses() {
    let gate = test_gate().await;
    let ledger = ledger(&gate);
    let folder = ledger.git.clone().unwrap();
    assert!(Command::new("git").args(["init", "-q"]).arg(&folder).status().unwrap().success());
    grow(&gate, 3).await;
    let checkpoints = open(&gate, &ledger).await;
    assert!(checkpoints.sign(true).await.unwrap());
    let note = gate.gate.store().checkpoint().await.unwrap().unwrap();
    let first = gate.keys.signed_checkpoint(&note).unwrap();
    assert_eq!(fs::read_to_string(ledger.file.as_ref().unwrap()).unwrap(), format!("{note}\n"));
    assert_eq!(fs::read_to_string(folder.join("checkpoint")).unwrap(), note);
    let log = Command::new("git").arg("-C").arg(&folder).args(["log", "--oneline"]).output();
    assert!(String::from_utf8(log.unwrap().stdout).unwrap().contains("entries"));
    // Entries about the checkpoint itself are no reason to sign again …
    assert!(!checkpoints.sign(true).await.unwrap());
    grow(&gate, 1).await;
    // … any other entry is.
    assert!(checkpoints.sign(true).await.unwrap());
    // At the end everything is signed, and nothing more is written.
    assert!(checkpoints.sign(false).await.unwrap());
    let head = gate.gate.store().tree_head().await.unwrap();
    let note = gate.gate.store().checkpoint().await.unwrap().unwrap();
    let last = gate.keys.signed_checkpoint(&note).unwrap();
    assert_eq!((last.size, last.root), (head.size, head.root));
    let proof = gate.gate.store().consistency_proof(first.size, last.size).await.unwrap().unwrap();
    verify_consistency(first.size, &first.root, last.size, &last.root, &proof).unwrap();
    let slice = gate.gate.store().entries(0, 100).await.unwrap();
    let sent = slice.entries.iter().filter(|entry| {
        let text = String::from_utf8_lossy(entry);
        text.contains("checkpoint_sent") && text.contains("\"arrived\":true")
    });
    assert_eq!(sent.count(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_witness_is_recorded_and_does_not_block() {
    let gate = test_gate().await;
    let ledger = LedgerConfig {
        file: Some("/nowhere/at/all".into()),
        git: Some(gate.folder.path().join("no-repository")),
        webhook: Some("https://example.org/".into()),
        ..ledger(&gate)
    };
    let checkpoints = open(&gate, &ledger).await;
    assert!(checkpoints.sign(true).await.unwrap());
    let slice = gate.gate.store().entries(0, 100).await.unwrap();
    let failed = slice
        .entries
        .iter()
        .filter(|entry| String::from_utf8_lossy(entry).contains("\"arrived\":false"));
    assert_eq!(failed.count(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolled_back_ledger_is_never_signed() {
    let first = test_gate().await;
    let ledger = LedgerConfig { file: None, git: None, ..ledger(&first) };
    grow(&first, 9).await;
    assert!(open(&first, &ledger).await.sign(false).await.unwrap());
    let note = fs::read_to_string(first.folder.path().join(NEWEST)).unwrap();
    // The same key and the newest checkpoint, next to a store from an earlier day.
    let second = test_gate().await;
    for name in ["signing.key", NEWEST] {
        fs::copy(first.folder.path().join(name), second.folder.path().join(name)).unwrap();
    }
    let second = TestGate { keys: Arc::clone(&first.keys), ..second };
    let signs = open(&second, &ledger).await;
    assert!(matches!(signs.sign(true).await, Err(SignError::RolledBack(_))));
    // A ledger that grew beyond the old size still has another past.
    grow(&second, 30).await;
    assert!(matches!(signs.sign(true).await, Err(SignError::RolledBack(_))));
    assert!(matches!(signs.sign(false).await, Err(SignError::RolledBack(_))));
    assert_eq!(second.gate.store().checkpoint().await.unwrap(), None);
    assert_eq!(fs::read_to_string(second.folder.path().join(NEWEST)).unwrap(), note);
    // A changed checkpoint in our name is rejected as well.
    fs::write(second.folder.path().join(NEWEST), note.replacen('\n', "\n1", 1)).unwrap();
    assert!(matches!(open(&second, &ledger).await.sign(true).await, Err(SignError::Forged(_))));
}
