//! What the daemon logs, to standard error, by configuration or flag.

use std::io::{self, IsTerminal as _};

use countersign_daemon::config::Log;
use tracing_subscriber::EnvFilter;

use crate::failure::Failure;
use crate::terminal::Paint;

/// Starts logging.
pub fn start(log: &Log, flag: Option<&str>) -> Result<(), Failure> {
    let level = flag.unwrap_or(&log.level);
    if !["error", "warn", "info", "debug", "trace"].contains(&level) {
        return Err(Failure::at("--log", "use error, warn, info, debug or trace"));
    }
    let filter = EnvFilter::try_new(level).map_err(|error| Failure::at("--log", error))?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_target(false);
    let colour = io::stderr().is_terminal() && Paint::of(&io::stderr()) == Paint::Colour;
    let started =
        if log.json { lines.json().try_init() } else { lines.with_ansi(colour).try_init() };
    started.map_err(|error| Failure::at("log", error))
}
