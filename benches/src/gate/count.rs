//! Instructions of one auto-approved question, counted by callgrind: no clock, no noise.

use std::io;
use std::path::Path;
use std::process::Command;

use proofs::http::Client;

use super::{HARMLESS, installation};

/// Two runs that differ in these many questions; the start and the stop fall out.
const FEW: u64 = 300;
const MORE: u64 = 1_300;

/// Counts and prints.
pub fn agent_run(folder: &Path) -> io::Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("\ngate: valgrind is not installed, so instructions are not counted");
        return Ok(());
    }
    let few = count(&folder.join("few"), FEW)?;
    let more = count(&folder.join("more"), MORE)?;
    let each = more.saturating_sub(few) / (MORE - FEW);
    println!(
        "\ngate: {each} instructions a question (callgrind knows no SHA-NI: hashing counts whole)"
    );
    Ok(())
}

/// Instructions of a whole life with so many questions.
fn count(folder: &Path, questions: u64) -> io::Result<u64> {
    std::fs::create_dir_all(folder)?;
    let log = folder.join("log");
    let to_log = format!("--log-file={}", log.display());
    let out = format!("--callgrind-out-file={}", folder.join("out").display());
    // The first start hashes a passphrase, which would drown everything else.
    let first = installation(folder)?.start()?;
    first.stop()?;
    let installation =
        installation(folder)?.wrapped(&["valgrind", "--tool=callgrind", &to_log, &out]);
    let gate = installation.start()?;
    let mut client = Client::new(gate.agents);
    for _ in 0..questions {
        let reply = client.send("POST", "/confirm", &[], Some(HARMLESS))?;
        if reply.text("status") != "auto_approved" {
            return Err(io::Error::other(reply.body.to_string()));
        }
    }
    gate.stop()?;
    let text = std::fs::read_to_string(&log)?;
    let line = text.lines().find_map(|line| line.split_once("Collected :"));
    let figure = line.and_then(|(_, figure)| figure.trim().parse().ok());
    figure.ok_or_else(|| io::Error::other(text))
}
