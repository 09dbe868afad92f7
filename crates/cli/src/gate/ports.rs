//! Whose port it is: the Unix user behind a listening address, by the kernel's word.

use std::fs;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::os::unix::fs::MetadataExt as _;

use countersign_client::Endpoint;

/// Whether an address is this machine's own.
pub fn is_here(authority: &str) -> bool {
    let mut addresses = authority.to_socket_addrs().into_iter().flatten();
    // Only an address of ours can be bound to.
    addresses.any(|found| {
        found.ip().is_loopback()
            || std::net::UdpSocket::bind(SocketAddr::new(found.ip(), 0)).is_ok()
    })
}

/// The user who listens at an endpoint, if the system says so. Only Linux has these tables for TCP;
/// elsewhere the caller looks at who owns the daemon's files.
pub fn owner(endpoint: &Endpoint) -> Option<u32> {
    match endpoint {
        Endpoint::Unix(path) => fs::metadata(path).ok().map(|found| found.uid()),
        Endpoint::Tcp(authority) | Endpoint::Tls { authority, .. } => {
            if !cfg!(target_os = "linux") {
                return None;
            }
            let port = authority.rsplit_once(':')?.1.parse().ok()?;
            let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
            tables.iter().find_map(|table| listener(&fs::read_to_string(table).ok()?, port))
        }
    }
}

/// The user of the listening line for a port in the kernel's table.
fn listener(table: &str, port: u16) -> Option<u32> {
    const LISTENS: &str = "0A";
    table.lines().skip(1).find_map(|line| {
        let mut words = line.split_whitespace();
        let local = words.nth(1)?;
        let state = words.nth(1)?;
        let uid = words.nth(3)?;
        let found = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
        (found == port && state == LISTENS).then(|| uid.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_table_is_read() {
        let line = |port: &str, state: &str, uid: u32| {
            let rest = "00000000:00000000 00:00000000 00000000";
            format!("0: 0100007F:{port} 00000000:0000 {state} {rest} {uid} 0 1 1\n")
        };
        let head = "sl local_address rem_address st tx_queue rx_queue tr tm->when retrnsmt uid\n";
        let table = format!("{head}{}{}", line("1770", "0A", 1000), line("1771", "01", 1001));
        assert_eq!(listener(&table, 6000), Some(1000));
        assert_eq!(listener(&table, 6001), None);
        assert_eq!(listener("", 6000), None);
    }

    #[test]
    fn this_machine_is_here() {
        assert!(is_here("127.0.0.1:6000") && is_here("[::1]:6000"));
        assert!(!is_here("192.0.2.1:6000"));
    }
}
