//! Which daemon is asked, and the files that it really uses.

use std::path::Path;

use countersign_client::Endpoint;
use countersign_daemon::config::{DaemonConfig, Paths};

use super::access::can_read;
use super::check::Check;
use super::level::DaemonView;
use crate::gate::args_admin::DoctorArgs;
use crate::gate::reach;

/// Where the daemon is asked about itself: over the socket it knows its callers.
pub fn asked_endpoint(args: &DoctorArgs, config: &DaemonConfig, agents: &Endpoint) -> Endpoint {
    let is_named = args.config.is_some() || args.state.is_some();
    let socket = config.socket.as_ref().map(|socket| Endpoint::Unix(socket.path.clone()));
    let found = match (&args.agents, is_named) {
        (Some(_), _) => None,
        (None, true) => socket,
        (None, false) => reach::agent_endpoint(None, false).ok(),
    };
    found.unwrap_or_else(|| agents.clone())
}

/// The configuration and the paths that the daemon really uses. Nothing if this user cannot read
/// them: what it would say of its own files is not true of the daemon.
pub fn real_files(
    view: &DaemonView,
    config: DaemonConfig,
    paths: Paths,
    checks: &mut Vec<Check>,
) -> Option<(DaemonConfig, Paths)> {
    let Ok(found) = &view.installation else { return Some((config, paths)) };
    if found.config == paths.config && found.state == paths.state {
        return Some((config, paths));
    }
    let runtime = found.socket.as_deref().and_then(Path::parent).unwrap_or(&found.state).to_owned();
    let real = Paths { config: found.config.clone(), state: found.state.clone(), runtime };
    let place = real.config.display();
    if found.config == paths.config || can_read(&real.config) {
        checks.push(Check::ok(format!("The daemon uses the configuration {place}.")));
        return match DaemonConfig::load(&real) {
            Ok(config) => Some((config, real)),
            Err(error) => {
                let say = format!("The daemon's configuration is refused: {error}");
                checks.push(Check::bad(say, "countersign config check"));
                None
            }
        };
    }
    checks.push(Check::ok(format!(
        "The daemon uses {place}, which this user cannot read; its settings were not checked."
    )));
    None
}
