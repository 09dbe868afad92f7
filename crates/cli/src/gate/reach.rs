//! Finds the daemon: by flag, environment or configuration.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;

use countersign_client::{
    AgentClient, DAEMON_KEY_FILE, DaemonKey, Endpoint, SOCKET_NAME, TlsTrust, find_socket,
    system_socket,
};
use countersign_daemon::config::paths::EnvironmentVariables;
pub use countersign_daemon::config::paths::ProcessEnvironment;
use countersign_daemon::config::{DaemonConfig, Paths};
use countersign_daemon::tls::configured_pin;
use countersign_gateways::machine_look::MachineLook;
use countersign_types::SYSTEM_RUNTIME_FOLDER;

use super::args::Asker;
use super::ports;
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

/// The address of the people API, to which a passphrase or a token may be sent.
pub fn people_endpoint(given: Option<&str>) -> Result<Endpoint, Failure> {
    if let Some(text) = given {
        return Ok(Endpoint::parse(text)?);
    }
    let endpoint = configured_people()?;
    if ProcessEnvironment.get("COUNTERSIGN_PEOPLE").is_none() && system_service().is_some() {
        let service = fs::metadata(SYSTEM_RUNTIME_FOLDER).ok().map(|folder| folder.uid());
        check_listener(&endpoint, ports::owner(&endpoint), service)?;
    }
    Ok(endpoint)
}

/// The address of the people API in the environment, if there is one.
pub fn named_people() -> Result<Option<Endpoint>, Failure> {
    let named = ProcessEnvironment.get("COUNTERSIGN_PEOPLE");
    Ok(named.map(|text| Endpoint::parse(&text)).transpose()?)
}

/// The address of the people API in the environment or the configuration, only to show it.
pub fn configured_people() -> Result<Endpoint, Failure> {
    if let Some(endpoint) = named_people()? {
        return Ok(endpoint);
    }
    let config = config()?;
    connectable(&config, config.people)
}

/// Fails if a program of another user listens in place of the system service: while the service is
/// stopped, an agent can listen at its port and ask for a passphrase.
fn check_listener(
    endpoint: &Endpoint,
    listener: Option<u32>,
    service: Option<u32>,
) -> Result<(), Failure> {
    match listener {
        Some(owner) if owner != 0 && Some(owner) != service => Err(Failure::Input(format!(
            "a program of user {owner} listens at {endpoint}, and it is not the system service; \
             nothing was sent to it. Look at it with `countersign doctor`, or name the address \
             with --people"
        ))),
        _ => Ok(()),
    }
}

/// The address of the agent API, and the agent's token.
pub fn agent(asker: &Asker) -> Result<AgentClient, Failure> {
    let token = match &asker.token_file {
        Some(file) => Some(secret_file(file)?),
        None => ProcessEnvironment.get("COUNTERSIGN_AGENT_TOKEN"),
    };
    let key = match &asker.daemon_key {
        Some(file) => DaemonKey::read(file),
        None => DaemonKey::read(&daemon_key_file(&HomeOnly)),
    };
    let endpoint = agent_endpoint(asker.agents.as_deref(), token.is_some())?;
    Ok(AgentClient::new(endpoint, token).trusting(key))
}

/// The key of the whole machine, which only an administrator can change.
pub const SYSTEM_KEY: &str = "/etc/countersign/daemon.pub";

/// Where the daemon's public key is: of the machine, pinned by this user, or written by this user's
/// own daemon.
pub fn daemon_key_file(variables: &impl EnvironmentVariables) -> PathBuf {
    let paths = Paths::from_environment(variables);
    let pinned = pinned_key_file(variables);
    let state = || config_in(&paths).map_or_else(|_| paths.state.clone(), |config| config.state);
    let named = [PathBuf::from(SYSTEM_KEY), pinned].into_iter().find(|file| file.exists());
    named.unwrap_or_else(|| state().join(DAEMON_KEY_FILE))
}

/// The file whose key `install` pins, as the person who installs has set the environment.
pub fn installed_key() -> String {
    daemon_key_file(&ProcessEnvironment).display().to_string()
}

/// Where this user pins the key of a daemon that another user or another machine runs.
pub fn pinned_key_file(variables: &impl EnvironmentVariables) -> PathBuf {
    Paths::from_environment(variables).config.with_file_name(DAEMON_KEY_FILE)
}

/// Only the home folder: no variable of Countersign may choose which daemon is believed.
pub struct HomeOnly;

impl EnvironmentVariables for HomeOnly {
    fn get(&self, name: &str) -> Option<String> {
        ProcessEnvironment.get(name).filter(|_| name == "HOME")
    }
}

/// The address of the agent API: over the socket the daemon identifies its callers itself.
pub fn agent_endpoint(given: Option<&str>, has_token: bool) -> Result<Endpoint, Failure> {
    let named = given.map(str::to_owned).or_else(|| ProcessEnvironment.get("COUNTERSIGN_AGENTS"));
    if let Some(text) = named {
        return Ok(Endpoint::parse(&text)?);
    }
    if let Some(socket) = system_service().filter(|_| !has_token) {
        return Ok(Endpoint::Unix(socket));
    }
    let paths = paths(None, None)?;
    let config = config_in(&paths)?;
    let Some(socket) = config.socket.clone().filter(|_| !has_token) else {
        return connectable(&config, config.agents);
    };
    // A configured socket, or one in a named folder, is nowhere else.
    let is_default = socket.path == paths.runtime.join(SOCKET_NAME);
    let is_found = is_default && ProcessEnvironment.get("COUNTERSIGN_STATE").is_none();
    Ok(Endpoint::Unix(if is_found { find_socket(socket.path, &paths.state) } else { socket.path }))
}

/// The socket of the system service, unless the environment names another installation. It comes
/// before the configuration of this user, which an agent of the same user could write.
pub fn system_service() -> Option<PathBuf> {
    let names = ["COUNTERSIGN_STATE", "COUNTERSIGN_CONFIG"];
    let is_named = names.iter().any(|name| ProcessEnvironment.get(name).is_some());
    system_socket().filter(|_| !is_named)
}

/// Turns an address to listen on into one to connect to. With TLS, the key in the certificate of
/// this configuration is the only one accepted.
pub fn connectable(config: &DaemonConfig, address: SocketAddr) -> Result<Endpoint, Failure> {
    let authority = local_authority(address)?;
    let Some(pin) = configured_pin(config) else { return Ok(Endpoint::Tcp(authority)) };
    let pin = pin.map_err(|error| {
        Failure::Input(format!(
            "{error}: the daemon's certificate cannot be read here. Give the address as \
             https://{authority}#sha256:… (`countersign keys tls`, as the daemon's user, prints it)"
        ))
    })?;
    Ok(Endpoint::Tls { authority, trust: TlsTrust::Pin(pin) })
}

fn local_authority(address: SocketAddr) -> Result<String, Failure> {
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
    Ok(SocketAddr::new(ip, address.port()).to_string())
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
    fn a_program_of_another_user_gets_no_passphrase() {
        let endpoint = Endpoint::Tcp("127.0.0.1:6001".to_owned());
        let check = |listener, service| check_listener(&endpoint, listener, service).is_ok();
        assert!(check(Some(995), Some(995)) && check(None, Some(995)));
        // A socket that systemd opened belongs to root.
        assert!(check(Some(0), Some(995)));
        assert!(!check(Some(1000), Some(995)));
        // The service never ran since the machine was started.
        assert!(!check(Some(1000), None));
    }

    #[test]
    fn a_wildcard_address_is_reached_locally() {
        let endpoint = |text: &str| super::local_authority(text.parse().unwrap()).ok();
        assert_eq!(endpoint("0.0.0.0:6001").as_deref(), Some("127.0.0.1:6001"));
        assert_eq!(endpoint("[::]:6001").as_deref(), Some("[::1]:6001"));
        assert_eq!(endpoint("127.0.0.1:0"), None);
    }
}
