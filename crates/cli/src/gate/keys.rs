//! `countersign keys`: the key by which agents recognize the daemon.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use countersign_client::{DaemonKey, split_authority};
use countersign_daemon::config::DaemonConfig;
use countersign_daemon::key_rotation::{OldKey, read_statements, rotate_response_key};
use countersign_daemon::keys::{RESPONSE_KEY_FILE, response_key_text};
use countersign_daemon::tls::configured_pin;
use countersign_types::time::Timestamp;

use super::args::Asker;
use super::args_admin::{KeysAction, KeysArgs};
use super::now::now;
use super::output;
use super::reach::{self, HomeOnly};
use crate::failure::Failure;

/// The longest text with a key or with statements about keys.
const MAX_KEY_TEXT: u64 = 64 << 10;

/// Runs the command.
pub fn run(args: &KeysArgs) -> Result<ExitCode, Failure> {
    match &args.action {
        KeysAction::Show { state: None, .. } => show(),
        KeysAction::Show { state: Some(state), create } => show_of(state, *create),
        KeysAction::Tls { config, state } => show_tls(config.as_deref(), state.as_deref()),
        KeysAction::Rotations { state } => rotations(state.as_deref()),
        KeysAction::Trust { file, rotated: true, .. } => trust_rotated(file.as_deref()),
        KeysAction::Trust { file, replace, .. } => {
            trust(file.as_deref().unwrap_or_default(), *replace)
        }
        KeysAction::Rotate { state, compromised } => rotate(state.as_deref(), *compromised),
    }
}

fn show() -> Result<ExitCode, Failure> {
    let file = reach::daemon_key_file(&HomeOnly);
    let key = DaemonKey::read(&file)?;
    // Standard output holds the key alone, for `countersign keys trust -`.
    let _ = writeln!(io::stderr(), "countersign: the key in {} is pinned", file.display());
    output::line(key.text().trim_end())
}

/// Prints the pin of the TLS key. Standard output holds the pin alone.
fn show_tls(config: Option<&str>, state: Option<&str>) -> Result<ExitCode, Failure> {
    let paths = reach::paths(config, state)?;
    let config = DaemonConfig::load(&paths).map_err(|error| Failure::Input(error.to_string()))?;
    let Some(pin) = configured_pin(&config) else {
        let why = "TLS is off: set tls = true in [listen] and start the daemon";
        return Err(Failure::at(&paths.config.display().to_string(), why));
    };
    let pin = pin.map_err(|error| Failure::Input(error.to_string()))?;
    let host = config.hosts.first().map_or("HOST", |host| split_authority(host).0);
    let _ = writeln!(
        io::stderr(),
        "countersign: clients use https://{host}:{}#{pin} as COUNTERSIGN_AGENTS and \
         https://{host}:{}#{pin} as COUNTERSIGN_PEOPLE",
        config.agents.port(),
        config.people.port()
    );
    output::line(&pin.to_string())
}

/// The key of the daemon with this state folder.
fn show_of(state: &str, create: bool) -> Result<ExitCode, Failure> {
    let folder = state_folder(Some(state))?;
    if !create && !folder.join(RESPONSE_KEY_FILE).exists() {
        return Err(Failure::at(state, "no daemon has a key here; start it once"));
    }
    let key = response_key_text(&folder).map_err(|error| Failure::Input(error.to_string()))?;
    output::line(key.trim_end())
}

fn rotations(state: Option<&str>) -> Result<ExitCode, Failure> {
    output::line(read_statements(&state_folder(state)?).trim_end())
}

/// The state folder of a daemon.
fn state_folder(state: Option<&str>) -> Result<PathBuf, Failure> {
    let paths = reach::paths(None, state)?;
    let config = DaemonConfig::load(&paths).map_err(|error| Failure::Input(error.to_string()))?;
    Ok(config.state)
}

/// The text of a file, or of standard input.
fn text_of(name: &str) -> Result<String, Failure> {
    let failed = |error| Failure::at(name, error);
    let mut text = String::new();
    if name == "-" {
        io::stdin().take(MAX_KEY_TEXT).read_to_string(&mut text).map_err(failed)?;
    } else {
        text = fs::read_to_string(name).map_err(failed)?;
    }
    Ok(text)
}

fn trust(name: &str, replaces: bool) -> Result<ExitCode, Failure> {
    let key = DaemonKey::parse(&text_of(name)?)?;
    let file = reach::pinned_key_file(&HomeOnly);
    if fs::read_to_string(&file).is_ok_and(|pinned| pinned != key.text()) && !replaces {
        let why = "another key is pinned; after a rotation use --rotated, which checks that the \
                   pinned key signed the new one; --replace checks nothing";
        return Err(Failure::at(&file.display().to_string(), why));
    }
    pin(&file, &key)
}

/// Pins the key to which signed statements lead from the pinned one.
fn trust_rotated(name: Option<&str>) -> Result<ExitCode, Failure> {
    let file = reach::pinned_key_file(&HomeOnly);
    let pinned = DaemonKey::read(&file)?;
    let agent = reach::agent(&Asker::default())?;
    let statements = match name {
        Some(name) => text_of(name)?,
        None => agent.installation()?.key_rotations,
    };
    let Some(key) = pinned.rotated(&statements) else {
        let why = "the pinned key signed no newer key. If its rotation was marked as compromised, \
                   compare the new key with the person who runs the daemon, then: countersign \
                   keys trust FILE --replace";
        return Err(Failure::at(&file.display().to_string(), why));
    };
    if name.is_none() {
        agent.trusting(Ok(key)).check_key()?;
    }
    pin(&file, &key)
}

fn pin(file: &Path, key: &DaemonKey) -> Result<ExitCode, Failure> {
    write(file, &key.text()).map_err(|error| Failure::at(&file.display().to_string(), error))?;
    output::line(&format!("Pinned in {}. Agents believe this daemon only.", file.display()))
}

/// Writes the pin in one step, so that a hook never reads half of it.
fn write(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let new = file.with_extension("new");
    let _ = fs::remove_file(&new);
    let mut out = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&new)?;
    out.write_all(text.as_bytes()).and_then(|()| out.sync_all())?;
    fs::rename(&new, file)
}

fn rotate(state: Option<&str>, compromised: bool) -> Result<ExitCode, Failure> {
    let folder = state_folder(state)?;
    let me = rustix::process::geteuid().as_raw();
    if fs::metadata(&folder).is_ok_and(|found| found.uid() != me) {
        let why = "belongs to another user, whose daemon could not read the new key; for a system \
                   service: countersign service rotate-key";
        return Err(Failure::at(&folder.display().to_string(), why));
    }
    let old_key = if compromised { OldKey::Compromised } else { OldKey::Vouches };
    rotate_response_key(&folder, Timestamp(now().millis()), old_key)
        .map_err(|error| Failure::Input(error.to_string()))?;
    output::line(
        "The daemon's key is replaced. Restart the daemon: it publishes the new key, and nothing \
         believes the old one any more.\n\
         Agents of this user follow by themselves. Where the key was copied, pin the new one:",
    )?;
    output::line(if compromised {
        "  countersign keys show | countersign keys trust - --replace"
    } else {
        "  countersign keys trust --rotated"
    })
}
