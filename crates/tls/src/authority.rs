//! Host and port of an authority, as in an address or a `Host` header.

use std::net::Ipv6Addr;

/// The host, without brackets, and the port of `host`, `host:port` or `[address]:port`.
pub fn split_authority(authority: &str) -> (&str, Option<u16>) {
    if authority.parse::<Ipv6Addr>().is_ok() {
        return (authority, None);
    }
    let split = authority.rsplit_once(':');
    let (host, port) = match split.and_then(|(host, port)| Some((host, port.parse().ok()?))) {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    (host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host), port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_names_are_split() {
        for (text, host, port) in [
            ("gate.example.org", "gate.example.org", None),
            ("gate.example.org:6001", "gate.example.org", Some(6001)),
            ("10.0.0.1:6001", "10.0.0.1", Some(6001)),
            ("::1", "::1", None),
            ("[::1]", "::1", None),
            ("[::1]:6001", "::1", Some(6001)),
        ] {
            assert_eq!(split_authority(text), (host, port), "{text}");
        }
    }
}
