//! Output shared by the commands: lines for people, or JSON.

use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::failure::Failure;
use crate::terminal::Paint;

/// Runs `print` on standard output.
pub fn say(
    print: impl FnOnce(&mut dyn Write, Paint) -> Result<(), Failure>,
) -> Result<ExitCode, Failure> {
    let stdout = io::stdout();
    let paint = Paint::of(&stdout);
    let mut out = io::BufWriter::new(stdout.lock());
    print(&mut out, paint)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// A value as JSON.
pub fn json(value: &impl Serialize) -> Result<ExitCode, Failure> {
    say(|out, _| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        Ok(out.write_all(b"\n")?)
    })
}

/// One line for people.
pub fn line(text: &str) -> Result<ExitCode, Failure> {
    say(|out, _| Ok(writeln!(out, "{text}")?))
}
