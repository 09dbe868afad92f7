//! The queue of calls that passed without the daemon, on their way to its ledger: one line each.
//!
//! A line is one write, so that many hooks can write at once. A background process sends the file,
//! so that no call waits for it; lines that cannot be sent stay in the file.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use countersign_client::{AgentClient, Error};
use countersign_json as json;
use rustix::fs::{FlockOperation, OFlags, flock};

use crate::agents::ProposedCall;
use crate::daemon_markers::asks_about_every_call;
use crate::programs::asking_program;

/// A longer call goes through the daemon, because a line must be one write.
const MAX_LINE: usize = 16 << 10;
/// The size of a full queue; further calls go through the daemon.
const MAX_QUEUE: u64 = 4 << 20;
/// The largest number of calls, and of their bytes, in one request.
const MAX_CALLS: usize = 200;
const MAX_BYTES: usize = 150 << 10;
/// How often a sender tries before it leaves the rest to the next sender.
const MAX_TRIES: u32 = 20;
const INTERVAL: Duration = Duration::from_secs(1);
const GRACE: Duration = Duration::from_millis(100);
/// After how many checks without a new line the sender exits. A later call has to start a new one.
const MAX_IDLE_CHECKS: u32 = 30;
/// After this time without a sender, another one is started.
const STALE: Duration = Duration::from_secs(30);

/// The queue's folder.
#[derive(Debug, Clone)]
pub struct Spool {
    folder: PathBuf,
}

impl Spool {
    /// A queue in a folder of this user, which is created with the first call.
    pub fn at(folder: PathBuf) -> Spool {
        Spool { folder }
    }

    /// The folder, where the daemon also keeps its files for gateways.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds one call. After an error the call is not recorded and must not pass.
    pub fn add(&self, gateway: &str, call: &ProposedCall) -> io::Result<()> {
        if asks_about_every_call(&self.folder, call.cwd.as_deref(), call.project.as_deref()) {
            return Err(io::Error::other("the daemon decides about every call at present"));
        }
        let line = line(gateway, call, now());
        if line.len() > MAX_LINE {
            return Err(io::Error::other("the call is too long for the queue"));
        }
        let mut file = match self.open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
                self.open()?
            }
            opened => opened?,
        };
        let before = file.metadata()?;
        if !before.is_file() || before.len() >= MAX_QUEUE {
            return Err(io::Error::other("the queue is full or is not a regular file"));
        }
        if file.write(line.as_bytes())? != line.len() {
            return Err(io::Error::other("the line was only written in part"));
        }
        if self.is_stale() {
            self.send();
        }
        Ok(())
    }

    fn open(&self) -> io::Result<File> {
        // Opening a named pipe in its place must not block.
        let flags = (OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK).bits();
        let mut how = OpenOptions::new();
        how.append(true).create(true).mode(0o600).custom_flags(flags.cast_signed());
        how.open(self.queue())
    }

    fn queue(&self) -> PathBuf {
        self.folder.join("passes.jsonl")
    }

    fn lock_file(&self) -> PathBuf {
        self.folder.join("sender.lock")
    }

    /// Starts a sender if calls are queued and there was no sender recently.
    pub fn send_if_stale(&self) {
        if self.has_calls() && self.is_stale() {
            self.send();
        }
    }

    fn has_calls(&self) -> bool {
        let holds = |path| fs::metadata(path).is_ok_and(|found| found.len() > 0);
        holds(self.queue()) || holds(self.sending())
    }

    fn is_stale(&self) -> bool {
        let touched = fs::metadata(self.lock_file()).and_then(|found| found.modified());
        // A time in the future is ignored: an agent could set it so that nothing is ever sent.
        touched.map_or(true, |at| at.elapsed().map_or(true, |ago| ago > STALE))
    }

    /// Starts the sender in the background.
    fn send(&self) {
        let Ok(program) = asking_program() else { return };
        let mut command = Command::new(program);
        command.args(["hook", "drain"]).arg("--spool").arg(&self.folder).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        // If it cannot start, the lines stay and the next hook tries again.
        let _ = command.spawn();
    }
}

/// The line for a call. Only this user can read the file, and the daemon stores no arguments of
/// passed calls.
fn line(gateway: &str, call: &ProposedCall, at: u64) -> String {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    // A full disk may have cut the previous line short, so this one starts with a line break.
    let mut line = format!(
        "\n{{\"gateway\":{},\"at\":{at},\"call\":{{\"tool\":{},\"arguments\":{}",
        text(gateway),
        text(&call.tool),
        call.arguments.replace(['\n', '\r'], " "),
    );
    let members = [
        ("session", call.session.as_deref()),
        ("cwd", call.cwd.as_deref()),
        ("project", call.project.as_deref()),
        ("host", call.host),
    ];
    for (name, value) in members {
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

/// Sends queued calls, unless another sender is running. Unsent calls stay for the next sender.
/// `find` finds the daemon for each try: its first start publishes the key that is trusted.
pub fn drain(folder: &Path, find: impl Fn() -> Option<AgentClient>) -> io::Result<()> {
    let spool = Spool::at(folder.to_owned());
    let mut how = OpenOptions::new();
    how.write(true).create(true).truncate(false).mode(0o600);
    let lock = how.open(spool.lock_file())?;
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(());
    }
    let (mut tries, mut idle_checks) = (0, 0);
    // Without the folder no further call can be queued.
    while spool.lock_file().exists() {
        // While this sender runs, hooks do not start another one.
        lock.set_modified(UNIX_EPOCH + Duration::from_millis(now()))?;
        thread::sleep(INTERVAL);
        let sent = match (spool.take()?, find()) {
            (false, _) => true,
            (true, Some(daemon)) => spool.send_all(&daemon)?,
            (true, None) => false,
        };
        (tries, idle_checks) = match (sent, spool.has_calls()) {
            (false, _) => (tries + 1, 0),
            (true, true) => (0, 0),
            (true, false) => (0, idle_checks + 1),
        };
        if tries < MAX_TRIES && idle_checks < MAX_IDLE_CHECKS {
            continue;
        }
        // From now on the next call starts a sender; a call just before this line did not.
        lock.set_modified(UNIX_EPOCH)?;
        if tries >= MAX_TRIES || !spool.has_calls() {
            break;
        }
    }
    Ok(())
}

impl Spool {
    fn sending(&self) -> PathBuf {
        self.folder.join("sending.jsonl")
    }

    /// Moves the queue to a file that only the sender uses. `true` if there is something to send.
    fn take(&self) -> io::Result<bool> {
        if self.sending().exists() {
            return Ok(true);
        }
        match fs::rename(self.queue(), self.sending()) {
            Ok(()) => {
                // A hook that opened the file just before may still write to it.
                thread::sleep(GRACE);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Sends the calls in chunks; `false` if the daemon did not accept all of them. Delivery is at
    /// least once: after an error, chunks that were already sent are sent again.
    fn send_all(&self, daemon: &AgentClient) -> io::Result<bool> {
        let mut chunk = Vec::new();
        let (mut bytes, mut current_gateway) = (0, String::new());
        let mut file = BufReader::new(File::open(self.sending())?);
        for line in file.by_ref().lines() {
            // A line that a crash cut short is skipped.
            let Some((gateway, call)) = read(&line?) else { continue };
            let full = chunk.len() >= MAX_CALLS || bytes + call.len() > MAX_BYTES;
            if !chunk.is_empty() && (full || gateway != current_gateway) {
                if !self.send_chunk(daemon, &current_gateway, &chunk)? {
                    return Ok(false);
                }
                chunk.clear();
                bytes = 0;
            }
            bytes += call.len();
            current_gateway = gateway;
            chunk.push(call);
        }
        if !chunk.is_empty() && !self.send_chunk(daemon, &current_gateway, &chunk)? {
            return Ok(false);
        }
        if file.stream_position()? < fs::metadata(self.sending())?.len() {
            return Ok(false);
        }
        fs::remove_file(self.sending())?;
        Ok(true)
    }

    /// `false` if it is worth trying again. Calls that the daemon rejects are moved to a file of
    /// their own, so that they block nothing and the gap stays visible.
    fn send_chunk(
        &self,
        daemon: &AgentClient,
        gateway: &str,
        chunk: &[String],
    ) -> io::Result<bool> {
        match daemon.report_passes(gateway, chunk) {
            Ok(_) => Ok(true),
            Err(error) if error.is_transient() || matches!(error, Error::Untrusted(_)) => Ok(false),
            Err(_) => {
                let mut how = OpenOptions::new();
                how.append(true).create(true).mode(0o600);
                let mut aside = how.open(self.refused())?;
                chunk.iter().try_for_each(|call| writeln!(aside, "{call}"))?;
                Ok(true)
            }
        }
    }

    fn refused(&self) -> PathBuf {
        self.folder.join("refused.jsonl")
    }

    /// How many calls are queued, and how many the daemon rejected.
    pub fn counts(&self) -> (usize, usize) {
        let count = |all: String| all.lines().filter(|line| !line.is_empty()).count();
        let lines = |path: PathBuf| fs::read_to_string(path).map_or(0, count);
        (lines(self.queue()) + lines(self.sending()), lines(self.refused()))
    }
}

/// The gateway of a line and its call in the daemon's format.
fn read(line: &str) -> Option<(String, String)> {
    let value = json::parse(line).ok()?;
    let gateway = value.get("gateway")?.as_str()?.to_owned();
    let at: u64 = value.get("at")?.as_number()?.parse().ok()?;
    let call = json::member_text(line, "call").ok().flatten()?;
    let members = call.trim().strip_suffix('}')?;
    let ago = now().saturating_sub(at).max(1);
    Some((gateway, format!("{members},\"seconds_ago\":{}.{:03}}}", ago / 1000, ago % 1000)))
}
