//! Where the daemon is, by flag, environment or configuration.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use countersign_client::{Agent, Door};
use countersign_daemon::config::paths::EnvironmentVariables as _;
pub use countersign_daemon::config::paths::ProcessEnvironment;
use countersign_daemon::config::{DaemonConfig, Paths};

use super::args::Asker;
use crate::failure::Failure;

/// Where things lie, with what the command line says first.
pub fn paths(config: Option<&str>, state: Option<&str>) -> Result<Paths, Failure> {
    let mut paths = Paths::from_environment(&ProcessEnvironment);
    let whole = |given: &str| std::path::absolute(given).map_err(|error| Failure::at(given, error));
    if let Some(state) = state {
        paths.state = whole(state)?;
        // Whoever names a folder means all of it: the socket lies there too.
        paths.runtime.clone_from(&paths.state);
    }
    if let Some(config) = config {
        paths.config = whole(config)?;
        // The defaults are for who names nothing.
        if let Err(error) = fs::metadata(&paths.config) {
            return Err(Failure::at(&paths.config.display().to_string(), error));
        }
    }
    Ok(paths)
}

/// Where the gateways keep what is theirs.
pub fn gateways_folder() -> PathBuf {
    Paths::from_environment(&ProcessEnvironment).gateways()
}

/// The configuration as it stands.
pub fn config() -> Result<DaemonConfig, Failure> {
    let paths = paths(None, None)?;
    DaemonConfig::load(&paths).map_err(|error| Failure::Input(error.to_string()))
}

/// The people's door.
pub fn people_door(given: Option<&str>) -> Result<Door, Failure> {
    let named = given.map(str::to_owned).or_else(|| ProcessEnvironment.get("COUNTERSIGN_PEOPLE"));
    match named {
        Some(text) => Ok(Door::parse(&text)?),
        None => door(config()?.people),
    }
}

/// The agents' door, and what an agent shows there.
pub fn agent(asker: &Asker) -> Result<Agent, Failure> {
    let token = match &asker.token_file {
        Some(file) => Some(secret_file(file)?),
        None => ProcessEnvironment.get("COUNTERSIGN_AGENT_TOKEN"),
    };
    Ok(Agent::new(agents_door(asker.agents.as_deref(), token.is_some())?, token))
}

/// The agents' door: over the socket the daemon knows its callers by itself.
pub fn agents_door(given: Option<&str>, has_token: bool) -> Result<Door, Failure> {
    let named = given.map(str::to_owned).or_else(|| ProcessEnvironment.get("COUNTERSIGN_AGENTS"));
    if let Some(text) = named {
        return Ok(Door::parse(&text)?);
    }
    let config = config()?;
    match config.socket {
        Some(socket) if !has_token => Ok(Door::Unix(socket.path)),
        _ => door(config.agents),
    }
}

/// An address to listen on, as one to speak to.
pub fn door(address: SocketAddr) -> Result<Door, Failure> {
    if address.port() == 0 {
        return Err(Failure::Input(
            "the configuration takes any free port: say which one with --people or --agents"
                .to_owned(),
        ));
    }
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    Ok(Door::Tcp(SocketAddr::new(ip, address.port()).to_string()))
}

/// A secret from a file that nobody else can read.
pub fn secret_file(name: &str) -> Result<String, Failure> {
    let path = PathBuf::from(name);
    let failed = |error| Failure::at(name, error);
    let mode = fs::metadata(&path).map_err(failed)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(Failure::at(name, "others can read this secret: chmod 600 it"));
    }
    let text = fs::read_to_string(&path).map_err(failed)?;
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::at(name, "this is no token"));
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_door_that_listens_everywhere_is_spoken_to_here() {
        let door = |text: &str| super::door(text.parse().unwrap()).ok();
        assert_eq!(door("0.0.0.0:6001"), Some(Door::Tcp("127.0.0.1:6001".to_owned())));
        assert_eq!(door("[::]:6001"), Some(Door::Tcp("[::1]:6001".to_owned())));
        assert_eq!(door("127.0.0.1:0"), None);
    }
}
