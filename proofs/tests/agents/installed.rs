//! The gate as people get it: `countersign install`, in the scratch home of an agent.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use countersign_gateways::agents::live_test::ScratchHome;
use countersign_gateways::live::run::LiveAgent;
use countersign_gateways::programs::small_program_beside;
use proof_skip::{Cause, skip};

use crate::agent_run::path;

/// The built `countersign`, beside the tests. Without it the running test is recorded as skipped.
pub fn countersign() -> Option<PathBuf> {
    let here = std::env::current_exe().unwrap();
    let mut folders = here.ancestors().skip(1).take(2);
    let found = folders.find_map(|at| Some(at.join("countersign")).filter(|at| at.is_file()));
    if found.is_none() {
        skip(Cause::Tool, "no `countersign` beside the tests: cargo build -p countersign");
    }
    found
}

/// Where the agent's own `countersign` lies: a file of its own, so that it can be broken.
pub fn own(scratch: &ScratchHome) -> PathBuf {
    scratch.home().join("bin/countersign")
}

/// How long the installed hook waits for a person before it answers that the call is pending.
const PATIENCE: &str = "10";

/// Installs the gate, by a `countersign` of this home.
pub fn install(live: LiveAgent, scratch: &ScratchHome, countersign: &Path) {
    let own = own(scratch);
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    if !own.exists() {
        lay(countersign, &own);
        lay(&small_program_beside(countersign), &small_program_beside(&own));
    }
    let done = Command::new(&own)
        .args(["install", live.agent.name, "--yes", "--patience", PATIENCE])
        .env_clear()
        .env("PATH", path())
        .env("HOME", scratch.home())
        .current_dir(scratch.project())
        .output()
        .unwrap();
    let said = [done.stdout, done.stderr].concat();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&said));
}

/// The same file under another name where that is possible; it is large.
fn lay(program: &Path, at: &Path) {
    fs::hard_link(program, at).or_else(|_| fs::copy(program, at).map(drop)).unwrap();
}

/// Puts a script in the place of the agent's `countersign`, large and small; nothing at all
/// without one.
pub fn replace(scratch: &ScratchHome, script: Option<&str>) {
    for program in [own(scratch), small_program_beside(&own(scratch))] {
        fs::remove_file(&program).unwrap();
        if let Some(script) = script {
            fs::write(&program, script).unwrap();
            fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        }
    }
}
