//! A file to which checkpoints are appended, preferably on another machine's disk.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::error::WitnessError;

/// Appends a checkpoint and waits until it is on the disk.
pub fn add(path: &Path, note: &str) -> Result<(), WitnessError> {
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    // One write, so that a checkpoint is not split by another writer.
    file.write_all(format!("{note}\n").as_bytes())?;
    Ok(file.sync_all()?)
}
