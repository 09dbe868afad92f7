//! Heads are signed, witnessed, and never go back.

use std::process::Command;

use countersign_ledger::entry::{Entry, Kind};

use super::*;
use crate::trial::{Trial, trial};

async fn grow(trial: &Trial, entries: u64) {
    for _ in 0..entries {
        let entry = Entry::new(0, Kind::Edit, trial.gate.rules().hash);
        trial.gate.store().append(vec![entry]).await.unwrap();
    }
}

async fn open(trial: &Trial, ledger: &Ledger) -> Checkpoints {
    let parts = (Arc::clone(&trial.gate), Arc::clone(&trial.keys));
    Checkpoints::open(parts.0, parts.1, trial.folder.path(), ledger).await.unwrap()
}

fn ledger(trial: &Trial) -> Ledger {
    let folder = trial.folder.path();
    Ledger {
        every: countersign_types::time::Span::seconds(10),
        file: Some(folder.join("witness")),
        webhook: None,
        git: Some(folder.join("repository")),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_is_signed_when_the_ledger_grew_and_reaches_its_witnesses() {
    let trial = trial().await;
    let ledger = ledger(&trial);
    let folder = ledger.git.clone().unwrap();
    assert!(Command::new("git").args(["init", "-q"]).arg(&folder).status().unwrap().success());
    grow(&trial, 3).await;
    let checkpoints = open(&trial, &ledger).await;
    assert!(checkpoints.sign(true).await.unwrap());
    let note = trial.gate.store().checkpoint().await.unwrap().unwrap();
    let first = trial.keys.signed_checkpoint(&note).unwrap();
    assert_eq!(fs::read_to_string(ledger.file.as_ref().unwrap()).unwrap(), format!("{note}\n"));
    assert_eq!(fs::read_to_string(folder.join("checkpoint")).unwrap(), note);
    let log = Command::new("git").arg("-C").arg(&folder).args(["log", "--oneline"]).output();
    assert!(String::from_utf8(log.unwrap().stdout).unwrap().contains("entries"));
    // What is written about it is no reason to sign again …
    assert!(!checkpoints.sign(true).await.unwrap());
    grow(&trial, 1).await;
    // … anything else is.
    assert!(checkpoints.sign(true).await.unwrap());
    // At the end everything is signed, and nothing more is written.
    assert!(checkpoints.sign(false).await.unwrap());
    let head = trial.gate.store().tree_head().await.unwrap();
    let note = trial.gate.store().checkpoint().await.unwrap().unwrap();
    let last = trial.keys.signed_checkpoint(&note).unwrap();
    assert_eq!((last.size, last.root), (head.size, head.root));
    let proof = trial.gate.store().consistency_proof(first.size, last.size).await.unwrap().unwrap();
    verify_consistency(first.size, &first.root, last.size, &last.root, &proof).unwrap();
    let slice = trial.gate.store().entries(0, 100).await.unwrap();
    let sent = slice.entries.iter().filter(|entry| {
        let text = String::from_utf8_lossy(entry);
        text.contains("checkpoint_sent") && text.contains("\"arrived\":true")
    });
    assert_eq!(sent.count(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_witness_that_fails_is_written_down_and_stops_nothing() {
    let trial = trial().await;
    let ledger = Ledger {
        file: Some("/nowhere/at/all".into()),
        git: Some(trial.folder.path().join("no-repository")),
        webhook: Some("https://example.org/".into()),
        ..ledger(&trial)
    };
    let checkpoints = open(&trial, &ledger).await;
    assert!(checkpoints.sign(true).await.unwrap());
    let slice = trial.gate.store().entries(0, 100).await.unwrap();
    let failed = slice
        .entries
        .iter()
        .filter(|entry| String::from_utf8_lossy(entry).contains("\"arrived\":false"));
    assert_eq!(failed.count(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_that_went_back_is_never_signed_again() {
    let first = trial().await;
    let ledger = Ledger { file: None, git: None, ..ledger(&first) };
    grow(&first, 9).await;
    assert!(open(&first, &ledger).await.sign(false).await.unwrap());
    let note = fs::read_to_string(first.folder.path().join(NEWEST)).unwrap();
    // The same key, and the store of an earlier day beside the newest checkpoint.
    let second = trial().await;
    for name in ["signing.key", NEWEST] {
        fs::copy(first.folder.path().join(name), second.folder.path().join(name)).unwrap();
    }
    let second = Trial { keys: Arc::clone(&first.keys), ..second };
    let signs = open(&second, &ledger).await;
    assert!(matches!(signs.sign(true).await, Err(SignError::RolledBack(_))));
    // Growing beyond the old size does not help: it is another past.
    grow(&second, 30).await;
    assert!(matches!(signs.sign(true).await, Err(SignError::RolledBack(_))));
    assert!(matches!(signs.sign(false).await, Err(SignError::RolledBack(_))));
    assert_eq!(second.gate.store().checkpoint().await.unwrap(), None);
    assert_eq!(fs::read_to_string(second.folder.path().join(NEWEST)).unwrap(), note);
    // A changed note in our name is as bad.
    fs::write(second.folder.path().join(NEWEST), note.replacen('\n', "\n1", 1)).unwrap();
    assert!(matches!(open(&second, &ledger).await.sign(true).await, Err(SignError::Forged(_))));
}
