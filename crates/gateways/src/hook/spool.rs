//! Calls that passed without the daemon, on their way into its ledger: one line each in a file.
//!
//! A line is one write, so that many hooks can write at once. A program of ours sends the file off
//! the path of any call, and keeps what cannot be sent.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use countersign_client::Agent;
use countersign_json as json;
use rustix::fs::{FlockOperation, OFlags, flock};

use super::alone::asking_program;
use crate::agents::Proposed;

/// What is longer goes through the daemon: a line must be one write.
const LONGEST_LINE: usize = 16 << 10;
/// So much may wait; whoever comes then has to go through the daemon.
const FULLEST: u64 = 4 << 20;
/// So many calls are sent at once, of at most so many bytes.
const AT_ONCE: usize = 200;
const BYTES_AT_ONCE: usize = 150 << 10;
/// How often a sender tries before it leaves the rest to the next one.
const TRIES: u32 = 20;
const BETWEEN: Duration = Duration::from_secs(1);
const A_MOMENT: Duration = Duration::from_millis(100);
/// So many times it looks in vain before it goes: a call that has to start one pays for it.
const IN_VAIN: u32 = 30;
/// After so long without a sender another one is started.
const STALE: Duration = Duration::from_secs(30);

/// The folder with what waits.
#[derive(Debug, Clone)]
pub struct Spool {
    folder: PathBuf,
}

impl Spool {
    /// In a folder of this user, which is made when something is kept.
    pub fn at(folder: PathBuf) -> Spool {
        Spool { folder }
    }

    /// Keeps one call. An error means that it is not kept, and must not pass.
    pub fn keep(&self, gateway: &str, call: &Proposed) -> io::Result<()> {
        let line = line(gateway, call, now());
        if line.len() > LONGEST_LINE {
            return Err(io::Error::other("too long"));
        }
        let mut file = match self.open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
                self.open()?
            }
            opened => opened?,
        };
        let before = file.metadata()?;
        if !before.is_file() || before.len() >= FULLEST {
            return Err(io::Error::other("full, or no file"));
        }
        if file.write(line.as_bytes())? != line.len() {
            return Err(io::Error::other("cut short"));
        }
        if self.is_stale() {
            self.send();
        }
        Ok(())
    }

    fn open(&self) -> io::Result<File> {
        // Not to wait for whoever put a pipe in its place.
        let flags = (OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK).bits();
        let mut how = OpenOptions::new();
        how.append(true).create(true).mode(0o600).custom_flags(flags.cast_signed());
        how.open(self.waiting())
    }

    fn waiting(&self) -> PathBuf {
        self.folder.join("passes.jsonl")
    }

    fn lock_file(&self) -> PathBuf {
        self.folder.join("sender.lock")
    }

    /// Starts a sender if something waits and none was there lately.
    pub fn send_if_stale(&self) {
        if self.waits() && self.is_stale() {
            self.send();
        }
    }

    fn waits(&self) -> bool {
        let holds = |path| fs::metadata(path).is_ok_and(|found| found.len() > 0);
        holds(self.waiting()) || holds(self.sending())
    }

    fn is_stale(&self) -> bool {
        let touched = fs::metadata(self.lock_file()).and_then(|found| found.modified());
        // A time to come says nothing: whoever set it may want that nothing is ever sent.
        touched.map_or(true, |at| at.elapsed().map_or(true, |ago| ago > STALE))
    }

    /// Starts the sender, which nobody waits for.
    fn send(&self) {
        let Ok(program) = asking_program() else { return };
        let mut command = Command::new(program);
        command.args(["hook", "drain"]).arg("--spool").arg(&self.folder).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        // The lines stay where they are if it cannot start: the next hook tries again.
        let _ = command.spawn();
    }
}

/// The line for a call. Calls that only read hold no secrets worth the name, and the file is this
/// user's alone; the daemon keeps no word of them.
fn line(gateway: &str, call: &Proposed, at: u64) -> String {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    // What a full disk cut short before it must not swallow this one: it begins a line of its own.
    let mut line = format!(
        "\n{{\"gateway\":{},\"at\":{at},\"call\":{{\"tool\":{},\"arguments\":{}",
        text(gateway),
        text(&call.tool),
        call.arguments.replace(['\n', '\r'], " "),
    );
    for (name, value) in [("session", &call.session), ("cwd", &call.cwd)] {
        if let Some(value) = value {
            let _ = write!(line, ",\"{name}\":{}", text(value));
        }
    }
    line.push_str("}}\n");
    line
}

#[expect(clippy::disallowed_methods, reason = "only to say how long ago a call passed")]
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Sends what waits, while nobody else does. What cannot be sent stays for the next one.
pub fn drain(folder: &Path, daemon: &Agent) -> io::Result<()> {
    let spool = Spool::at(folder.to_owned());
    let mut how = OpenOptions::new();
    how.write(true).create(true).truncate(false).mode(0o600);
    let lock = how.open(spool.lock_file())?;
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(());
    }
    let (mut tries, mut in_vain) = (0, 0);
    // Where the folder went, nothing will come any more.
    while spool.lock_file().exists() {
        // Whoever comes while we are here need not start another one.
        lock.set_modified(UNIX_EPOCH + Duration::from_millis(now()))?;
        thread::sleep(BETWEEN);
        let sent = !spool.take()? || spool.send_all(daemon)?;
        (tries, in_vain) = match (sent, spool.waits()) {
            (false, _) => (tries + 1, 0),
            (true, true) => (0, 0),
            (true, false) => (0, in_vain + 1),
        };
        if tries < TRIES && in_vain < IN_VAIN {
            continue;
        }
        // From now on the next call starts the next sender; one that came just before did not.
        lock.set_modified(UNIX_EPOCH)?;
        if tries >= TRIES || !spool.waits() {
            break;
        }
    }
    Ok(())
}

impl Spool {
    fn sending(&self) -> PathBuf {
        self.folder.join("sending.jsonl")
    }

    /// Moves what waits to where only the sender writes. `true` if there is something to send.
    fn take(&self) -> io::Result<bool> {
        if self.sending().exists() {
            return Ok(true);
        }
        match fs::rename(self.waiting(), self.sending()) {
            Ok(()) => {
                // Who opened it a moment ago still writes here.
                thread::sleep(A_MOMENT);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Sends it in pieces; `false` if the daemon did not take all of it. At least once: what was
    /// sent before something broke is sent again.
    fn send_all(&self, daemon: &Agent) -> io::Result<bool> {
        let mut piece = Vec::new();
        let (mut bytes, mut whose) = (0, String::new());
        let mut file = BufReader::new(File::open(self.sending())?);
        for line in file.by_ref().lines() {
            // A line that a crash cut short says nothing any more.
            let Some((gateway, call)) = read(&line?) else { continue };
            let full = piece.len() >= AT_ONCE || bytes + call.len() > BYTES_AT_ONCE;
            if !piece.is_empty() && (full || gateway != whose) {
                if !self.send_piece(daemon, &whose, &piece)? {
                    return Ok(false);
                }
                piece.clear();
                bytes = 0;
            }
            bytes += call.len();
            whose = gateway;
            piece.push(call);
        }
        if !piece.is_empty() && !self.send_piece(daemon, &whose, &piece)? {
            return Ok(false);
        }
        if file.stream_position()? < fs::metadata(self.sending())?.len() {
            return Ok(false);
        }
        fs::remove_file(self.sending())?;
        Ok(true)
    }

    /// `false` if it is worth trying again. What the daemon refuses is laid aside, so that it
    /// holds nothing up and the gap can be seen.
    fn send_piece(&self, daemon: &Agent, gateway: &str, piece: &[String]) -> io::Result<bool> {
        match daemon.passed(gateway, piece) {
            Ok(_) => Ok(true),
            Err(error) if error.passes_by_itself() => Ok(false),
            Err(_) => {
                let mut how = OpenOptions::new();
                how.append(true).create(true).mode(0o600);
                let mut aside = how.open(self.refused())?;
                piece.iter().try_for_each(|call| writeln!(aside, "{call}"))?;
                Ok(true)
            }
        }
    }

    fn refused(&self) -> PathBuf {
        self.folder.join("refused.jsonl")
    }

    /// How many calls wait to be written down, and how many the daemon refused to take.
    pub fn counts(&self) -> (usize, usize) {
        let count = |all: String| all.lines().filter(|line| !line.is_empty()).count();
        let lines = |path: PathBuf| fs::read_to_string(path).map_or(0, count);
        (lines(self.waiting()) + lines(self.sending()), lines(self.refused()))
    }
}

/// The gateway and the call of a line, as the daemon wants it.
fn read(line: &str) -> Option<(String, String)> {
    let value = json::parse(line).ok()?;
    let gateway = value.get("gateway")?.as_str()?.to_owned();
    let at: u64 = value.get("at")?.as_number()?.parse().ok()?;
    let call = json::member_text(line, "call").ok().flatten()?;
    let members = call.trim().strip_suffix('}')?;
    let ago = now().saturating_sub(at).max(1);
    Some((gateway, format!("{members},\"seconds_ago\":{}.{:03}}}", ago / 1000, ago % 1000)))
}
