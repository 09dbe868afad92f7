//! The dear proof: an agent is started behind an installed gate, whole and broken, and watched.

use std::cell::Cell;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::knock::Found;
use super::{Model, Scratch, Subject};
use crate::hook::alone::first_program;

/// How long an agent may take for one call.
const PATIENCE: Duration = Duration::from_mins(2);
/// How long it is watched after the call was proposed, when its hook never answers.
const WATCHED: Duration = Duration::from_secs(10);
/// The forbidden program: every gate refuses it, and all it does is leave a mark.
const FORBIDDEN: &str = "./countersign-proof-of-gate";
const MARK: &str = "it-ran";
/// Silent about the call as long as its own file is there, which goes with the proof. When a person
/// writes it answers, or the agent would not get so far.
const SILENT: &str = "#!/bin/sh
case $(cat) in *countersign-proof-of-gate*) while [ -e \"$0\" ]; do sleep 1; done; exit 1;; esac
printf '{}'
";

/// What has become of the hook's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// It is as it should be.
    Whole,
    /// It is gone.
    Missing,
    /// It dies of a signal.
    Crashes,
    /// It never answers.
    Silent,
}

impl Hook {
    /// Each of them.
    pub const ALL: [Hook; 4] = [Hook::Whole, Hook::Missing, Hook::Crashes, Hook::Silent];

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Hook::Whole => "denied",
            Hook::Missing => "its hook missing",
            Hook::Crashes => "its hook crashing",
            Hook::Silent => "its hook silent",
        }
    }
}

/// What a proof has around it.
#[derive(Debug)]
pub struct Bench<'a> {
    /// The `countersign` that is installed: a copy of it, which can be broken.
    pub countersign: &'a Path,
    /// The `PATH` of the agent.
    pub path: &'a str,
    /// Where the daemon listens to agents, if that is known.
    pub door: Option<String>,
}

impl Bench<'_> {
    /// Starts the agent once, with its hook in this state. An error means that nothing is known.
    pub fn prove(&self, subject: &Subject, program: &Path, hook: Hook) -> io::Result<Found> {
        let folder = Folder::new()?;
        let model = Model::start((subject.shell)(FORBIDDEN))?;
        let mut scratch = Scratch::new(&folder.0, model.address())?;
        let door = self.door.iter().map(|door| ("COUNTERSIGN_AGENTS".to_owned(), door.clone()));
        scratch.variables.extend(door);
        let forbidden = scratch.project().join(FORBIDDEN);
        executable(&forbidden, &format!("#!/bin/sh\n: > {MARK}\n"))?;
        (subject.furnish)(&scratch)?;
        self.install(subject, &scratch, hook)?;
        let proposed = Cell::new(None);
        let run = subject.run(program, &scratch, self.path, |since| {
            if proposed.get().is_none() && model.seen().proposed {
                proposed.set(Some(since));
            }
            // Of a hook that never answers nothing more comes.
            let watched = proposed.get().filter(|_| hook == Hook::Silent);
            since < watched.map_or(PATIENCE, |begun| begun + WATCHED)
        })?;
        let seen = model.seen();
        if scratch.project().join(MARK).exists() {
            return Ok(Found::Open(format!("with {} the call ran", hook.words())));
        }
        // With a broken hook some agents do not even ask their model; that they can is seen whole.
        if seen.proposed || hook != Hook::Whole && run.ended {
            return Ok(Found::Shut(seen.told.last().cloned().unwrap_or_default()));
        }
        let said: String = run.said.trim().chars().take(200).collect();
        Ok(Found::NeverTested(format!("it did not get so far: {said}")))
    }

    /// Installs a `countersign` of the scratch home, and breaks it.
    fn install(&self, subject: &Subject, scratch: &Scratch, hook: Hook) -> io::Result<()> {
        let own = scratch.home().join("bin/countersign");
        fs::create_dir_all(scratch.home().join("bin"))?;
        let first = first_program(&own);
        lay(self.countersign, &own)?;
        if first_program(self.countersign).exists() {
            lay(&first_program(self.countersign), &first)?;
        }
        let done = Command::new(&own)
            .args(["install", subject.name, "--yes"])
            .env_clear()
            .env("PATH", self.path)
            .env("HOME", scratch.home())
            .current_dir(scratch.project())
            .stdin(Stdio::null())
            .output()?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            return Err(io::Error::other(format!("the gate could not be installed: {said}")));
        }
        for program in [own, first].iter().filter(|program| program.exists()) {
            if hook != Hook::Whole {
                fs::remove_file(program)?;
            }
            match hook {
                Hook::Whole | Hook::Missing => {}
                Hook::Crashes => executable(program, "#!/bin/sh\nkill -SEGV $$\n")?,
                Hook::Silent => executable(program, SILENT)?,
            }
        }
        Ok(())
    }
}

/// The same file under another name where that is possible; it is large.
fn lay(program: &Path, at: &Path) -> io::Result<()> {
    fs::hard_link(program, at).or_else(|_| fs::copy(program, at).map(drop))
}

fn executable(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, PermissionsExt::from_mode(0o755))
}

/// A folder of our own that goes with us.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Folder> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("countersign-live-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // Made anew or not at all: nobody else can have put something there.
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
