//! Does the steps of an installation.

use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use countersign_client::DaemonKey;

use super::spec::ServiceSpec;
use super::steps::{FileAccess, ServiceStep};
use crate::failure::Failure;

/// Does one step.
pub fn apply(step: &ServiceStep, spec: &ServiceSpec) -> Result<(), Failure> {
    match step {
        ServiceStep::Group(name) => {
            if !exists("group", name) {
                run(&["groupadd", "--system", name])?;
            }
        }
        ServiceStep::Account { name, home } => {
            if id_of("-u", name).is_err() {
                let home = home.display().to_string();
                let shell = "/usr/sbin/nologin";
                let words = ["--system", "--user-group", "--no-create-home", "--home-dir", &home];
                run(&[&["useradd"], &words[..], &["--shell", shell, name]].concat())?;
            }
        }
        ServiceStep::Member { user, group } => run(&["usermod", "-a", "-G", group, user])?,
        ServiceStep::Folder(path, access) => folder(path, access)?,
        ServiceStep::Program { from, to } => {
            let bytes = fs::read(from).map_err(|error| at(from, error))?;
            let root = FileAccess { owner: None, mode: 0o755 };
            if fs::canonicalize(from).ok() != fs::canonicalize(to).ok() {
                write(to, &bytes, &root)?;
            }
        }
        ServiceStep::File { path, access, text, keep } => {
            if !(*keep && path.exists()) {
                write(path, text.as_bytes(), access)?;
            }
        }
        ServiceStep::FirstPassphrase => first_passphrase(spec)?,
        ServiceStep::PublicKey(path) => public_key(path, spec)?,
        ServiceStep::Remove(path) => remove(path)?,
        ServiceStep::Run(words) => {
            run(&words.iter().map(String::as_str).collect::<Vec<_>>())?;
        }
    }
    Ok(())
}

fn at(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::at(&path.display().to_string(), error)
}

fn folder(path: &Path, access: &FileAccess) -> Result<(), Failure> {
    let failed = |error| at(path, error);
    fs::DirBuilder::new().recursive(true).mode(access.mode).create(path).map_err(failed)?;
    // A folder of this user keeps the permissions that it had.
    if access.owner.is_some() {
        set_owner(path, access)?;
        fs::set_permissions(path, fs::Permissions::from_mode(access.mode)).map_err(failed)?;
    }
    Ok(())
}

/// Writes a file beside its place and moves it there, so that it is whole or not there.
fn write(path: &Path, bytes: &[u8], access: &FileAccess) -> Result<(), Failure> {
    let failed = |error| at(path, error);
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let draft = path.with_file_name(format!(".{name}.new"));
    let _ = fs::remove_file(&draft);
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(&draft).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)?;
    set_owner(&draft, access)?;
    fs::set_permissions(&draft, fs::Permissions::from_mode(access.mode)).map_err(failed)?;
    fs::rename(&draft, path).map_err(failed)
}

fn remove(path: &Path) -> Result<(), Failure> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(|error| at(path, error)),
    }
}

fn set_owner(path: &Path, access: &FileAccess) -> Result<(), Failure> {
    let Some((user, group)) = &access.owner else { return Ok(()) };
    let (user, group) = (id_of("-u", user)?, group_id(group)?);
    chown(path, Some(user), Some(group)).map_err(|error| at(path, error))
}

/// The user id (`-u`) or primary group id (`-g`) of an account.
fn id_of(which: &str, name: &str) -> Result<u32, Failure> {
    let output = Command::new("id").args([which, "--", name]).stderr(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| {
        Failure::at(name, "this account does not exist; --own-user creates it, or name another one")
    })
}

/// The id of a group: an account has one of its own name, and others are in `/etc/group`.
fn group_id(name: &str) -> Result<u32, Failure> {
    let groups = fs::read_to_string("/etc/group")?;
    let found = groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then(|| fields.nth(1)?.parse().ok())?
    });
    found.map_or_else(|| id_of("-g", name), Ok)
}

fn exists(table: &str, name: &str) -> bool {
    let found = Command::new("getent").args([table, name]).stdout(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}

/// Runs a program; what it says goes to this terminal.
fn run(words: &[&str]) -> Result<(), Failure> {
    let Some((program, rest)) = words.split_first() else { return Ok(()) };
    let status = Command::new(program).args(rest).stdin(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::Input(format!("`{}` failed: {status}", words.join(" ")))),
        Err(error) => Err(Failure::at(program, error)),
    }
}

/// Creates `owner`, as the account of the service, so that the store belongs to it.
pub fn first_passphrase(spec: &ServiceSpec) -> Result<(), Failure> {
    if !io::stdout().is_terminal() {
        // Nothing is created: a passphrase that nobody saw could not be replaced.
        return Ok(());
    }
    let mut command = own_command(spec)?;
    command.args(["service", "first-passphrase", "--if-missing"]);
    for (flag, path) in [("--config", &spec.config), ("--state", &spec.state)] {
        if let Some(path) = path {
            command.arg(flag).arg(path);
        }
    }
    let status = command.status().map_err(|error| at(&spec.program, error))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::Input("`owner` was not created; see the message above".to_owned()))
}

/// The program of the service, as its account: the files it writes belong to that account, and root
/// follows none of them.
fn own_command(spec: &ServiceSpec) -> Result<Command, Failure> {
    let mut command = Command::new(&spec.program);
    if let Some(account) = &spec.account {
        // With a user id, the other groups of root are dropped too.
        command.uid(id_of("-u", &account.name)?).gid(id_of("-g", &account.name)?);
        command.current_dir("/").env_clear();
        command.envs(std::env::var_os("TERM").map(|term| ("TERM", term)));
    }
    Ok(command)
}

/// Writes the public key of the service's daemon, which is created if there is none yet.
pub fn public_key(path: &Path, spec: &ServiceSpec) -> Result<(), Failure> {
    let Some(state) = &spec.state else { return Ok(()) };
    let mut command = own_command(spec)?;
    command.args(["keys", "show", "--create", "--state"]).arg(state);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| at(&spec.program, error))?;
    if !output.status.success() {
        return Err(at(state, "the daemon's key could not be read; see the message above"));
    }
    let key = DaemonKey::parse(&String::from_utf8_lossy(&output.stdout))?;
    write(path, key.text().as_bytes(), &FileAccess { owner: None, mode: 0o644 })
}

/// Replaces the key of the service's daemon, as its account.
pub fn rotate_key(spec: &ServiceSpec, compromised: bool) -> Result<(), Failure> {
    let Some(state) = &spec.state else { return Ok(()) };
    let mut command = own_command(spec)?;
    command.args(["keys", "rotate", "--state"]).arg(state);
    if compromised {
        command.arg("--compromised");
    }
    let status = command.stdout(Stdio::null()).status();
    if status.map_err(|error| at(&spec.program, error))?.success() {
        return Ok(());
    }
    Err(at(state, "the daemon's key was not replaced; see the message above"))
}
