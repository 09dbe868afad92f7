//! The section `[listen]`: addresses, TLS and the socket.

use std::net::SocketAddr;

use super::check::invalid;
use super::error::ConfigError;
use super::file;
use super::model::{DaemonConfig, SocketConfig, TlsConfig};
use super::paths::Paths;
use super::sections::absolute;

pub fn listen_address(
    field: &'static str,
    section: Option<&str>,
    default: &str,
) -> Result<SocketAddr, ConfigError> {
    let text = section.unwrap_or(default);
    text.parse()
        .map_err(|_| invalid(field, format!("`{text}` is not an address such as {default}")))
}

/// TLS, if it is on.
pub fn tls(listen: &file::ListenSection) -> Result<Option<TlsConfig>, ConfigError> {
    let files = (listen.tls_certificate.as_deref(), listen.tls_key.as_deref());
    let tls = match (listen.tls.unwrap_or(false), files) {
        (true, (None, None)) => Some(TlsConfig::Generated),
        (true, (Some(certificate), Some(key))) => Some(TlsConfig::Files {
            certificate: absolute("listen.tls_certificate", certificate)?,
            key: absolute("listen.tls_key", key)?,
        }),
        (true, _) => {
            let problem = "tls_certificate and tls_key belong together: set both or neither";
            return Err(invalid("listen.tls_certificate", problem));
        }
        (false, (None, None)) => None,
        (false, _) => {
            let problem = "a certificate is named, but TLS is off: set tls = true";
            return Err(invalid("listen.tls", problem));
        }
    };
    if tls.is_some() && listen.tls_proxy.unwrap_or(false) {
        return Err(invalid("listen.tls_proxy", "either the daemon ends TLS or a proxy does"));
    }
    Ok(tls)
}

/// An address that other machines reach needs TLS, or a proxy that ends it.
pub fn check_exposure(config: &DaemonConfig) -> Result<(), ConfigError> {
    for (field, address) in [("listen.agents", config.agents), ("listen.people", config.people)] {
        let is_safe = config.tls.is_some() || config.tls_proxy;
        if !is_safe && !address.ip().to_canonical().is_loopback() {
            return Err(invalid(
                field,
                format!(
                    "other machines can reach {address}, and TLS is off: set tls = true, or \
                     tls_proxy = true if a proxy ends TLS and only the proxy reaches this address"
                ),
            ));
        }
    }
    Ok(())
}

/// The host names under which both APIs are reached.
pub fn hosts(names: Vec<String>) -> Result<Vec<String>, ConfigError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    match names.iter().find(|name| name.is_empty() || !name.bytes().all(plain)) {
        Some(name) => {
            Err(invalid("listen.hosts", format!("`{name}` is not a host such as gate.example.org")))
        }
        None => Ok(names),
    }
}

pub fn socket(
    listen: &file::ListenSection,
    paths: &Paths,
) -> Result<Option<SocketConfig>, ConfigError> {
    let mode = listen.socket_mode.as_deref().unwrap_or("0600");
    let mode =
        u32::from_str_radix(mode, 8).ok().filter(|mode| mode & !0o777 == 0).ok_or_else(|| {
            invalid("listen.socket_mode", format!("`{mode}` is not a mode such as 0660"))
        })?;
    let path = match listen.socket.as_deref() {
        Some("") => return Ok(None),
        Some(path) => absolute("listen.socket", path)?,
        None => paths.runtime.join("agents.sock"),
    };
    let group = listen.socket_group.clone();
    if group.as_ref().is_some_and(|name| name.is_empty() || name.contains([':', '\n'])) {
        return Err(invalid("listen.socket_group", "use the name or the number of a group"));
    }
    Ok(Some(SocketConfig { path, mode, group }))
}
