//! Where entries of the ledger come from: a daemon, a file of lines, or the store's own file.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use countersign_store::OfflineLedger;

use super::args::Person;
use super::credential::Session;
use crate::failure::Failure;
use crate::lines::{self, Next};

/// Entries asked for at once.
const PAGE: u32 = 500;
/// An entry is never longer.
const LONGEST: usize = 64 << 10;

/// Entries in order, wherever they lie.
pub enum Source {
    /// A running daemon.
    Daemon(Box<Session>),
    /// JSON Lines.
    Lines(Box<dyn BufRead>, String),
    /// The file of a store.
    Store(OfflineLedger, String),
}

impl Source {
    /// By what the command line names.
    pub fn open(
        file: Option<&str>,
        store: Option<&str>,
        person: &Person,
    ) -> Result<Source, Failure> {
        if let Some(name) = store {
            let store =
                OfflineLedger::open(Path::new(name)).map_err(|error| Failure::at(name, error))?;
            return Ok(Source::Store(store, name.to_owned()));
        }
        Ok(match file {
            None => Source::Daemon(Box::new(Session::open(person)?)),
            Some("-") => Source::Lines(Box::new(io::stdin().lock()), "standard input".to_owned()),
            Some(name) => {
                let file = File::open(name).map_err(|error| Failure::at(name, error))?;
                Source::Lines(Box::new(BufReader::new(file)), name.to_owned())
            }
        })
    }

    /// Gives every entry from a place on to `take`, with its number.
    pub fn each(
        &mut self,
        from: u64,
        mut take: impl FnMut(u64, &str) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Source::Daemon(session) => {
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
            Source::Store(store, name) => {
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
            Source::Lines(input, name) => {
                let mut line = Vec::new();
                let mut number = 0_u64;
                loop {
                    let place = format!("{name}, line {}", number + 1);
                    match lines::next(input, &mut line, LONGEST)? {
                        Next::End => return Ok(()),
                        Next::TooLong => return Err(Failure::at(&place, "too long for an entry")),
                        Next::Line => {}
                    }
                    let text = lines::as_text(&line).map_err(|error| Failure::at(&place, error))?;
                    if number >= from {
                        take(number, text)?;
                    }
                    number += 1;
                }
            }
        }
    }
}
