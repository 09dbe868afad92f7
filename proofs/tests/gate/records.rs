//! The state of a daemon after its end: the rows and the ledger, and whether both are consistent.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use countersign_ledger::entry::Entry;
use countersign_ledger::verify::Verifier;
use countersign_store::{SqliteOptions, SqliteStore, Store as _};
use countersign_types::id::Id;
use countersign_types::time::{Clock, Moment, Timestamp};

use crate::fixture::run;

/// A clock far behind: reading needs no time.
struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> Moment {
        Moment::reliable(Timestamp(0))
    }
}

/// What is written.
pub struct Records {
    /// The rows: state by id.
    pub states: HashMap<String, String>,
    /// The entries that end a request, by its id.
    pub ends: HashMap<String, Vec<String>>,
}

/// Reads a store whose daemon is gone, and verifies its ledger. The rows are those of `ids`.
pub fn read<'a>(store: &Path, ids: impl Iterator<Item = &'a str>) -> Records {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(store, Arc::new(Stopped), SqliteOptions::default()).unwrap();
        let mut verifier = Verifier::new();
        let mut ends: HashMap<String, Vec<String>> = HashMap::new();
        loop {
            let slice = store.entries(verifier.size(), 4_096).await.unwrap();
            if slice.entries.is_empty() {
                break;
            }
            for bytes in &slice.entries {
                verifier.feed(bytes).unwrap();
                let entry = Entry::decode(bytes).unwrap();
                let kind = entry.kind.as_str();
                if ["approve", "deny", "expire", "cancel"].contains(&kind)
                    && let Some(id) = entry.request
                {
                    ends.entry(id.to_string()).or_default().push(kind.to_owned());
                }
            }
        }
        let head = store.tree_head().await.unwrap();
        assert_eq!((verifier.size(), verifier.root()), (head.size, head.root));
        let mut states = HashMap::new();
        for text in ids {
            let id = Id::parse(text).unwrap();
            if let Some(stored) = store.request(id).await.unwrap() {
                states.insert(text.to_owned(), stored.request.state.label().to_owned());
            }
        }
        drop(store);
        Records { states, ends }
    })
}

/// The ledger's word for how a request ended.
pub fn word(state: &str) -> &str {
    match state {
        "approved" => "approve",
        "denied" => "deny",
        "expired" => "expire",
        "cancelled" => "cancel",
        other => other,
    }
}

/// SQLite's own check of the file, by another SQLite than ours.
pub fn integrity(store: &Path) -> String {
    let script = "import sqlite3, sys\n\
                  file = sqlite3.connect(sys.argv[1])\n\
                  print(file.execute('PRAGMA integrity_check').fetchone()[0])";
    let (_, out) = run(&["python3", "-c", script, &store.display().to_string()]);
    out.trim().to_owned()
}
