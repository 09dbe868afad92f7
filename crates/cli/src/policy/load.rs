//! Reads the policy rules of a configuration.

use countersign_daemon::config::ConfigError;
use countersign_daemon::config::policy::WrittenPolicy;

use crate::failure::Failure;
use crate::gate::reach;

/// The rules as they are written.
pub fn load(file: Option<&str>) -> Result<Result<WrittenPolicy, ConfigError>, Failure> {
    Ok(WrittenPolicy::load(&reach::paths(file, None)?))
}

/// The same; invalid rules end the command.
pub fn valid(file: Option<&str>) -> Result<WrittenPolicy, Failure> {
    let invalid = |error: ConfigError| {
        let text = error.to_string();
        Failure::Input(text.lines().next().unwrap_or_default().to_owned())
    };
    load(file)?.map_err(invalid)
}
