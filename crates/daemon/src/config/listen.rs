//! The section `[listen]`: addresses and the socket.

use std::net::SocketAddr;

use super::check::invalid;
use super::error::ConfigError;
use super::file;
use super::model::SocketConfig;
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
