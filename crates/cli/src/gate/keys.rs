//! `countersign keys`: the key by which agents recognize the daemon.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::process::ExitCode;

use countersign_client::{DaemonKey, split_authority};
use countersign_daemon::config::DaemonConfig;
use countersign_daemon::keys::rotate_response_key;
use countersign_daemon::tls::configured_pin;

use super::args_admin::{KeysAction, KeysArgs};
use super::output;
use super::reach::{self, HomeOnly};
use crate::failure::Failure;

/// The longest text that can be a key.
const MAX_KEY_TEXT: u64 = 4096;

/// Runs the command.
pub fn run(args: &KeysArgs) -> Result<ExitCode, Failure> {
    match &args.action {
        KeysAction::Show => show(),
        KeysAction::Tls { config, state } => show_tls(config.as_deref(), state.as_deref()),
        KeysAction::Trust { file, replace } => trust(file, *replace),
        KeysAction::Rotate { state } => rotate(state.as_deref()),
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

fn trust(name: &str, replaces: bool) -> Result<ExitCode, Failure> {
    let failed = |error| Failure::at(name, error);
    let mut text = String::new();
    if name == "-" {
        io::stdin().take(MAX_KEY_TEXT).read_to_string(&mut text).map_err(failed)?;
    } else {
        text = fs::read_to_string(name).map_err(failed)?;
    }
    let key = DaemonKey::parse(&text)?;
    let file = reach::pinned_key_file(&HomeOnly);
    if fs::read_to_string(&file).is_ok_and(|pinned| pinned != key.text()) && !replaces {
        let why = "another key is pinned; add --replace if the daemon's key was rotated";
        return Err(Failure::at(&file.display().to_string(), why));
    }
    write(&file, &key.text()).map_err(|error| Failure::at(&file.display().to_string(), error))?;
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

fn rotate(state: Option<&str>) -> Result<ExitCode, Failure> {
    let paths = reach::paths(None, state)?;
    let config = DaemonConfig::load(&paths).map_err(|error| Failure::Input(error.to_string()))?;
    rotate_response_key(&config.state).map_err(|error| Failure::Input(error.to_string()))?;
    output::line(
        "The daemon's key is replaced. Restart the daemon: it publishes the new key, and nothing \
         believes the old one any more.\n\
         Agents of this user follow by themselves. Where the key was copied, pin it again:\n  \
         countersign keys show | countersign keys trust - --replace",
    )
}
