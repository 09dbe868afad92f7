//! Who runs the daemon and where its files are: what `countersign doctor` asks it.

use std::path::PathBuf;

use serde::Serialize;

use crate::config::{DaemonConfig, Paths};
use crate::key_rotation::read_statements;

/// The daemon's process and files. Agents may know it: these are names and numbers that any user of
/// the machine can find out, and public keys.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DaemonIdentity {
    /// Its version.
    pub version: &'static str,
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Its process.
    pub pid: u32,
    /// The program that it runs.
    pub program: Option<PathBuf>,
    /// The configuration file, which need not exist.
    pub config: PathBuf,
    /// The folder of the keys.
    pub state: PathBuf,
    /// The file of the store.
    pub store: PathBuf,
    /// The socket of the agent API.
    pub socket: Option<PathBuf>,
    /// The statements about replaced keys, one on each line.
    pub key_rotations: String,
}

impl DaemonIdentity {
    /// Of this process.
    pub fn of_this_process(config: &DaemonConfig, paths: &Paths) -> DaemonIdentity {
        DaemonIdentity {
            version: env!("CARGO_PKG_VERSION"),
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            pid: std::process::id(),
            program: std::env::current_exe().ok(),
            config: paths.config.clone(),
            state: config.state.clone(),
            store: config.store.clone(),
            socket: config.socket.as_ref().map(|socket| socket.path.clone()),
            key_rotations: read_statements(&config.state),
        }
    }
}
