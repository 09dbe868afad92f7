//! `countersign service first-passphrase`: creates `owner` and shows the passphrase, once.

use std::fs;
use std::io::{self, IsTerminal as _};
use std::os::unix::fs::MetadataExt as _;
use std::process::ExitCode;

use countersign_daemon::config::DaemonConfig;
use countersign_daemon::{StartError, create_owner};

use countersign_store::OpenError;

use crate::failure::Failure;
use crate::gate::{self, output};

/// Runs the command in this process, which must be a process of the daemon's user.
pub fn run(
    config: Option<&str>,
    state: Option<&str>,
    if_missing: bool,
) -> Result<ExitCode, Failure> {
    if !io::stdout().is_terminal() {
        return Err(Failure::Input(
            "the passphrase is shown on a terminal only; run this command in one".to_owned(),
        ));
    }
    let paths = gate::paths(config, state)?;
    let me = rustix::process::geteuid().as_raw();
    if fs::metadata(&paths.state).is_ok_and(|folder| folder.uid() != me) {
        let place = paths.state.display().to_string();
        return Err(Failure::at(&place, "belongs to another user; run this as that user"));
    }
    let config = DaemonConfig::load(&paths).map_err(|error| Failure::Input(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let created = runtime.block_on(create_owner(&config));
    let passphrase = match created {
        Ok(Some(passphrase)) => passphrase,
        // A service that is installed again has a person, and may be running.
        Ok(None) | Err(StartError::Open(OpenError::InUse(_))) if if_missing => {
            return Ok(ExitCode::SUCCESS);
        }
        Ok(None) => {
            let lost = "a lost passphrase is replaced with `countersign people recover`";
            return Err(Failure::Input(format!("there is a person already; {lost}")));
        }
        Err(error @ StartError::Open(OpenError::InUse(_))) => {
            return Err(Failure::Input(format!("{error}; stop the daemon first")));
        }
        Err(error) => return Err(Failure::Input(error.to_string())),
    };
    output::say(|out, paint| {
        writeln!(out, "The passphrase of `owner`, shown only once and not stored:")?;
        writeln!(out, "\n    {}\n", paint.strong(passphrase.as_str()))?;
        writeln!(out, "Keep it where no agent can read it. It can decide every request.")?;
        Ok(())
    })
}
