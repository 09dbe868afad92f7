//! Agents and scopes by name, and errors and paths as they are shown.

use std::path::Path;

use countersign_daemon::config::paths::EnvironmentVariables as _;
use countersign_gateways::agents::{AgentDescriptor, named, names};
use countersign_gateways::install::{InstallError, InstallScope};

use crate::failure::Failure;
use crate::gate::page;
use crate::gate::reach::ProcessEnvironment;

pub(super) fn known(name: &str) -> Result<&'static AgentDescriptor, Failure> {
    let unknown = || format!("unknown agent; use {}", names(" or "));
    named(name).ok_or_else(|| Failure::at(name, unknown()))
}

pub(super) fn scope(project: Option<&Path>) -> Result<InstallScope, Failure> {
    InstallScope::new(project, |name| ProcessEnvironment.get(name)).map_err(install_failure)
}

#[expect(clippy::needless_pass_by_value, reason = "used with map_err")]
pub(super) fn install_failure(error: InstallError) -> Failure {
    Failure::Input(page::safe(&error.to_string(), 4000))
}

pub(super) fn shown(path: &Path) -> String {
    page::safe(&path.display().to_string(), 4096)
}
