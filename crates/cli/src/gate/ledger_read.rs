//! Reads entries of the ledger from a daemon, a file of lines, or the store's file.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use countersign_client::{LedgerRowDifference, LedgerRows};
use countersign_store::{OfflineLedger, RowComparison};

use super::args::PersonArgs;
use super::credential::PersonSession;
use crate::failure::Failure;
use crate::lines::{self, InputLine};

/// Entries per request.
const PAGE: u32 = 500;
/// The longest entry.
const LONGEST: usize = 64 << 10;

/// A source of entries in order.
pub enum EntrySource {
    /// A running daemon.
    Daemon(Box<PersonSession>),
    /// JSON Lines.
    Lines(Box<dyn BufRead>, String),
    /// The file of a store.
    Store(OfflineLedger, String),
}

impl EntrySource {
    /// Selects the source named on the command line.
    pub fn open(
        file: Option<&str>,
        store: Option<&str>,
        person: &PersonArgs,
    ) -> Result<EntrySource, Failure> {
        if let Some(name) = store {
            let store =
                OfflineLedger::open(Path::new(name)).map_err(|error| Failure::at(name, error))?;
            return Ok(EntrySource::Store(store, name.to_owned()));
        }
        Ok(match file {
            None => EntrySource::Daemon(Box::new(PersonSession::open(person)?)),
            Some("-") => {
                EntrySource::Lines(Box::new(io::stdin().lock()), "standard input".to_owned())
            }
            Some(name) => {
                let file = File::open(name).map_err(|error| Failure::at(name, error))?;
                EntrySource::Lines(Box::new(BufReader::new(file)), name.to_owned())
            }
        })
    }

    /// The rows compared with their entries, where there are rows.
    pub fn rows(&self) -> Result<Option<LedgerRows>, Failure> {
        match self {
            EntrySource::Daemon(session) => match session.ledger_rows() {
                // An older daemon does not compare them.
                Err(countersign_client::Error::NotFound(_)) => Ok(None),
                rows => Ok(Some(rows?)),
            },
            EntrySource::Store(store, name) => store
                .compare_rows()
                .map(|rows| Some(listed(rows)))
                .map_err(|e| Failure::at(name, e)),
            EntrySource::Lines(..) => Ok(None),
        }
    }

    /// Calls `take` with every entry from an index on, and its index.
    pub fn each(
        &mut self,
        from: u64,
        mut take: impl FnMut(u64, &str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            EntrySource::Daemon(session) => {
                let mut next = from;
                loop {
                    let page = session.entries(next, PAGE)?;
                    for text in &page.entries {
                        take(next, text)?;
                        next += 1;
                    }
                    if page.entries.is_empty() || next >= page.size {
                        return Ok(());
                    }
                }
            }
            EntrySource::Store(store, name) => {
                let mut next = from;
                loop {
                    let page = store.entries(next, PAGE).map_err(|e| Failure::at(name, e))?;
                    if page.entries.is_empty() {
                        return Ok(());
                    }
                    for bytes in &page.entries {
                        let place = format!("{name}, entry {next}");
                        let text = lines::as_text(bytes).map_err(|e| Failure::at(&place, e))?;
                        take(next, text)?;
                        next += 1;
                    }
                }
            }
            EntrySource::Lines(input, name) => {
                each_line(
                    input,
                    name,
                    |number, text| {
                        if number >= from { take(number, text) } else { Ok(()) }
                    },
                )
            }
        }
    }
}

/// A comparison of the store as the API would return it.
pub fn listed(rows: RowComparison) -> LedgerRows {
    let RowComparison { requests, differences, listed } = rows;
    let listed = listed.into_iter().map(|one| LedgerRowDifference {
        request: one.request.map(|id| id.to_string()),
        credential: one.credential,
        row: one.row,
        ledger: one.ledger,
    });
    LedgerRows { requests, differences, listed: listed.collect() }
}

/// Calls `take` with every line of a file of entries, and its number from 0.
fn each_line(
    input: &mut Box<dyn BufRead>,
    name: &str,
    mut take: impl FnMut(u64, &str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut line = Vec::new();
    let mut number = 0_u64;
    loop {
        let place = format!("{name}, line {}", number + 1);
        match lines::next(input, &mut line, LONGEST)? {
            InputLine::End => return Ok(()),
            InputLine::TooLong => {
                return Err(Failure::at(&place, "the line is too long for an entry"));
            }
            InputLine::Line => {}
        }
        let text = lines::as_text(&line).map_err(|error| Failure::at(&place, error))?;
        take(number, text)?;
        number += 1;
    }
}
