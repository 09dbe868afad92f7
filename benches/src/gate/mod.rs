//! The daemon compared with a bare axum handler and the original daemon; then waiting callers.

mod count;
mod speed;
mod wake;

use std::io;
use std::path::{Path, PathBuf};

use proofs::installation::{TestInstallation, UNLIMITED};

/// A call that passes, in the format of the original API.
const HARMLESS: &str = concat!(
    r#"{"action":"terminal","description":"Shows what changed.","#,
    r#""payload":{"command":"git status"},"risk_level":"low","session_key":"s-1"}"#
);

/// Requests a second, instructions a request, and how fast those who wait are woken.
pub fn agent_run(rounds: usize) -> Result<(), String> {
    let folder = place().map_err(|error| error.to_string())?;
    let done = run(&folder, rounds).map_err(|error| error.to_string());
    let _ = std::fs::remove_dir_all(&folder);
    done
}

fn run(folder: &Path, rounds: usize) -> io::Result<()> {
    if proofs::installation::binary().is_err() {
        println!("\nthe gate is not built: cargo build --release -p proofs --bin gate");
        return Ok(());
    }
    speed::agent_run(&folder.join("speed"), rounds)?;
    count::agent_run(&folder.join("count"))?;
    for (number, callers) in [1_000, 10_000].into_iter().enumerate() {
        wake::agent_run(&folder.join(format!("wake-{number}")), callers)?;
    }
    Ok(())
}

fn place() -> io::Result<PathBuf> {
    let folder = std::env::current_dir()?.join("target/bench-gate");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// An installation without rate limits.
fn installation(folder: &Path) -> io::Result<TestInstallation> {
    TestInstallation::new(folder, UNLIMITED)
}
