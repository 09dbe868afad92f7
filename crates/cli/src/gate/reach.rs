//! Finds the daemon: by flag, environment or configuration.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use countersign_client::{AgentClient, Endpoint, SOCKET_NAME, find_socket};
use countersign_daemon::config::paths::EnvironmentVariables as _;
pub use countersign_daemon::config::paths::ProcessEnvironment;
use countersign_daemon::config::{DaemonConfig, Paths};
use countersign_gateways::machine_look::MachineLook;

use super::args::Asker;
use crate::failure::Failure;

/// The paths, with command-line options first.
pub fn paths(config: Option<&str>, state: Option<&str>) -> Result<Paths, Failure> {
    let mut paths = Paths::from_environment(&ProcessEnvironment);
    let whole = |given: &str| std::path::absolute(given).map_err(|error| Failure::at(given, error));
    if let Some(state) = state {
        paths.state = whole(state)?;
        // A given directory applies to everything: the socket is in it too.
        paths.runtime.clone_from(&paths.state);
    }
    if let Some(config) = config {
        paths.config = whole(config)?;
        // The defaults apply only if nothing is given.
        if let Err(error) = fs::metadata(&paths.config) {
            return Err(Failure::at(&paths.config.display().to_string(), error));
        }
    }
    Ok(paths)
}

/// The state directory of the gateways.
pub fn gateways_folder() -> PathBuf {
    Paths::from_environment(&ProcessEnvironment).gateways()
}

/// The look at this machine, with the key in the daemon's state folder.
pub fn machine_look() -> MachineLook {
    MachineLook::with_key_of(&Paths::from_environment(&ProcessEnvironment).state)
}

/// The configuration as it stands.
pub fn config() -> Result<DaemonConfig, Failure> {
    config_in(&paths(None, None)?)
}

fn config_in(paths: &Paths) -> Result<DaemonConfig, Failure> {
    DaemonConfig::load(paths).map_err(|error| Failure::Input(error.to_string()))
}

/// The address of the people API.
pub fn people_endpoint(given: Option<&str>) -> Result<Endpoint, Failure> {
    let named = given.map(str::to_owned).or_else(|| ProcessEnvironment.get("COUNTERSIGN_PEOPLE"));
    match named {
        Some(text) => Ok(Endpoint::parse(&text)?),
        None => connectable(config()?.people),
    }
}

/// The address of the agent API, and the agent's token.
pub fn agent(asker: &Asker) -> Result<AgentClient, Failure> {
    let token = match &asker.token_file {
        Some(file) => Some(secret_file(file)?),
        None => ProcessEnvironment.get("COUNTERSIGN_AGENT_TOKEN"),
    };
    Ok(AgentClient::new(agent_endpoint(asker.agents.as_deref(), token.is_some())?, token))
}

/// The address of the agent API: over the socket the daemon identifies its callers itself.
pub fn agent_endpoint(given: Option<&str>, has_token: bool) -> Result<Endpoint, Failure> {
    let named = given.map(str::to_owned).or_else(|| ProcessEnvironment.get("COUNTERSIGN_AGENTS"));
    if let Some(text) = named {
        return Ok(Endpoint::parse(&text)?);
    }
    let paths = paths(None, None)?;
    let config = config_in(&paths)?;
    let Some(socket) = config.socket.filter(|_| !has_token) else {
        return connectable(config.agents);
    };
    // A configured socket, or one in a named folder, is nowhere else.
    let is_default = socket.path == paths.runtime.join(SOCKET_NAME);
    let is_found = is_default && ProcessEnvironment.get("COUNTERSIGN_STATE").is_none();
    Ok(Endpoint::Unix(if is_found { find_socket(socket.path, &paths.state) } else { socket.path }))
}

/// Turns an address to listen on into one to connect to.
pub fn connectable(address: SocketAddr) -> Result<Endpoint, Failure> {
    if address.port() == 0 {
        return Err(Failure::Input(
            "the configuration uses a random port; give the address with --people or --agents"
                .to_owned(),
        ));
    }
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    Ok(Endpoint::Tcp(SocketAddr::new(ip, address.port()).to_string()))
}

/// A secret from a file that only its owner can read.
pub fn secret_file(name: &str) -> Result<String, Failure> {
    let path = PathBuf::from(name);
    let failed = |error| Failure::at(name, error);
    let mode = fs::metadata(&path).map_err(failed)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(Failure::at(name, "other users can read this file; run chmod 600"));
    }
    let text = fs::read_to_string(&path).map_err(failed)?;
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::at(name, "invalid token"));
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_address_is_reached_locally() {
        let endpoint = |text: &str| super::connectable(text.parse().unwrap()).ok();
        assert_eq!(endpoint("0.0.0.0:6001"), Some(Endpoint::Tcp("127.0.0.1:6001".to_owned())));
        assert_eq!(endpoint("[::]:6001"), Some(Endpoint::Tcp("[::1]:6001".to_owned())));
        assert_eq!(endpoint("127.0.0.1:0"), None);
    }
}
