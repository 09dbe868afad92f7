//! Input from arguments, files and standard input, bounded in size.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::failure::Failure;
use crate::lines::{LONGEST, as_text};

/// Text from the command line: `-` is standard input, `@file` a file (if allowed).
pub fn text(given: &str, name: &str, files: Files) -> Result<String, Failure> {
    match given.strip_prefix('@') {
        _ if given == "-" => bounded(io::stdin().lock(), "standard input"),
        Some(path) if files == Files::Named => {
            let place = format!("{name} {path}");
            let file = File::open(Path::new(path)).map_err(|e| Failure::at(&place, e))?;
            bounded(file, &place)
        }
        _ if given.len() > LONGEST => {
            Err(Failure::at(name, format!("longer than {LONGEST} bytes")))
        }
        _ => Ok(given.to_owned()),
    }
}

/// Whether `@name` means a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// It is a file.
    Named,
    /// It is ordinary text.
    AreText,
}

fn bounded(input: impl Read, place: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let limit = LONGEST as u64 + 1;
    input.take(limit).read_to_end(&mut bytes).map_err(|e| Failure::at(place, e))?;
    if bytes.len() > LONGEST {
        return Err(Failure::at(place, format!("longer than {LONGEST} bytes")));
    }
    as_text(&bytes).map_err(|e| Failure::at(place, e))?;
    String::from_utf8(bytes).map_err(|e| Failure::at(place, e))
}
