//! The expensive test: starts an agent behind an installed gate, intact and broken.

use std::cell::Cell;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::model::StandInModel;
use super::probe::ProbeResult;
use super::run::LiveAgent;
use crate::agents::live_test::ScratchHome;
use crate::programs::small_program_beside;

/// How long an agent may take for one call.
const TIMEOUT: Duration = Duration::from_mins(2);
/// How long an agent is observed after the proposal if its hook never answers.
const OBSERVED: Duration = Duration::from_secs(10);
/// The forbidden program: every gate refuses it, and all it does is create a file.
const FORBIDDEN_PROGRAM: &str = "./countersign-proof-of-gate";
const MARKER_FILE: &str = "it-ran";
/// Does not answer about the call while its own file exists, which is removed with the test. It
/// answers a person's message, because otherwise the agent would not get to the call.
const SILENT_SCRIPT: &str = "#!/bin/sh
case $(cat) in *countersign-proof-of-gate*) while [ -e \"$0\" ]; do sleep 1; done; exit 1;; esac
printf '{}'
";

/// The condition of the hook's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookCondition {
    /// As installed.
    Intact,
    /// Removed.
    Missing,
    /// Killed by a signal.
    Crashing,
    /// Never answers.
    Silent,
}

impl HookCondition {
    /// Every condition.
    pub const ALL: [HookCondition; 4] = [
        HookCondition::Intact,
        HookCondition::Missing,
        HookCondition::Crashing,
        HookCondition::Silent,
    ];

    /// The condition in words.
    pub const fn words(self) -> &'static str {
        match self {
            HookCondition::Intact => "the hook denying",
            HookCondition::Missing => "the hook missing",
            HookCondition::Crashing => "the hook crashing",
            HookCondition::Silent => "the hook silent",
        }
    }
}

/// What a live test needs.
#[derive(Debug)]
pub struct LiveTestBench<'a> {
    /// The `countersign` to install: the test uses a copy, which it can break.
    pub countersign: &'a Path,
    /// The `PATH` of the agent.
    pub path: &'a str,
    /// The daemon's agent API, if it is known.
    pub agent_api: Option<String>,
}

impl LiveTestBench<'_> {
    /// Starts the agent once, with its hook in this condition. After an error nothing is known.
    pub fn test(
        &self,
        live: LiveAgent,
        program: &Path,
        hook: HookCondition,
    ) -> io::Result<ProbeResult> {
        let folder = TemporaryFolder::new()?;
        let model = StandInModel::start((live.test.shell_call)(FORBIDDEN_PROGRAM))?;
        let mut scratch = ScratchHome::new(&folder.0, model.address())?;
        let api = self.agent_api.iter().map(|api| ("COUNTERSIGN_AGENTS".to_owned(), api.clone()));
        scratch.variables.extend(api);
        let forbidden = scratch.project().join(FORBIDDEN_PROGRAM);
        write_program(&forbidden, &format!("#!/bin/sh\n: > {MARKER_FILE}\n"))?;
        (live.test.prepare_home)(&scratch)?;
        self.install(live, &scratch, hook)?;
        let proposed = Cell::new(None);
        let run = live.run(program, &scratch, self.path, |since| {
            if proposed.get().is_none() && model.log().proposed {
                proposed.set(Some(since));
            }
            // If the hook never answers, nothing more happens after the proposal.
            let observed = proposed.get().filter(|_| hook == HookCondition::Silent);
            since < observed.map_or(TIMEOUT, |since| since + OBSERVED)
        })?;
        let log = model.log();
        if scratch.project().join(MARKER_FILE).exists() {
            return Ok(ProbeResult::Unprotected(format!("with {} the call ran", hook.words())));
        }
        // With a broken hook some agents do not ask their model; the intact case shows they can.
        if log.proposed || hook != HookCondition::Intact && run.ended {
            return Ok(ProbeResult::Protected(log.results.last().cloned().unwrap_or_default()));
        }
        let output: String = run.output.trim().chars().take(200).collect();
        Ok(ProbeResult::Untested(format!("the call was not proposed; the agent printed: {output}")))
    }

    /// Installs the gate with a `countersign` in the scratch home, and breaks it.
    fn install(
        &self,
        live: LiveAgent,
        scratch: &ScratchHome,
        hook: HookCondition,
    ) -> io::Result<()> {
        let own = scratch.home().join("bin/countersign");
        fs::create_dir_all(scratch.home().join("bin"))?;
        let small = small_program_beside(&own);
        link_or_copy(self.countersign, &own)?;
        if small_program_beside(self.countersign).exists() {
            link_or_copy(&small_program_beside(self.countersign), &small)?;
        }
        let done = Command::new(&own)
            .args(["install", live.agent.name, "--yes"])
            .env_clear()
            .env("PATH", self.path)
            .env("HOME", scratch.home())
            .current_dir(scratch.project())
            .stdin(Stdio::null())
            .output()?;
        if !done.status.success() {
            let errors = String::from_utf8_lossy(&done.stderr).into_owned();
            return Err(io::Error::other(format!("the gate could not be installed: {errors}")));
        }
        for program in [own, small].iter().filter(|program| program.exists()) {
            if hook != HookCondition::Intact {
                fs::remove_file(program)?;
            }
            match hook {
                HookCondition::Intact | HookCondition::Missing => {}
                HookCondition::Crashing => write_program(program, "#!/bin/sh\nkill -SEGV $$\n")?,
                HookCondition::Silent => write_program(program, SILENT_SCRIPT)?,
            }
        }
        Ok(())
    }
}

/// A hard link if that is possible, because the program is large.
fn link_or_copy(program: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(program, to).or_else(|_| fs::copy(program, to).map(drop))
}

fn write_program(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, PermissionsExt::from_mode(0o755))
}

/// A private folder that is removed on drop.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> io::Result<TemporaryFolder> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("countersign-live-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // Fails if the folder exists, so that no other user can have prepared it.
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(TemporaryFolder(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
