//! Writes imported calls as JSON Lines, readable only by their owner.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde_json::json;

use crate::engine::Call;
use crate::failure::Failure;

/// A file of calls that is being written.
pub struct SavedCalls {
    out: BufWriter<File>,
}

impl SavedCalls {
    /// Creates the file. An existing file is not replaced.
    pub fn create(path: &Path) -> Result<SavedCalls, Failure> {
        let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let file = opened.map_err(|error| Failure::at(&path.display().to_string(), error))?;
        Ok(SavedCalls { out: BufWriter::new(file) })
    }

    /// Adds a call. `raw` is the text of its arguments.
    pub fn add(&mut self, call: &Call<'_>, raw: &str, rejected: bool) -> Result<(), Failure> {
        let mut row = json!({
            "tool": call.tool, "session": call.session, "cwd": call.context.cwd,
            "project": call.context.project, "host": call.context.host,
            "arguments": serde_json::from_str::<serde_json::Value>(raw)?,
        });
        if let (true, Some(members)) = (rejected, row.as_object_mut()) {
            members.insert("decision".to_owned(), "denied".into());
        }
        serde_json::to_writer(&mut self.out, &row)?;
        Ok(self.out.write_all(b"\n")?)
    }

    /// Writes what is left.
    pub fn finish(mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }
}
