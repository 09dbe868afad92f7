//! TCP connections: names are resolved, addresses checked, and exactly those addresses dialled.
//!
//! Several addresses are tried in parallel, each a little later than the one before (RFC 8305),
//! so that an address that never answers costs a quarter of a second and not the whole deadline.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::NetError;
use crate::address::is_public;

/// How long a connection attempt runs alone before the next address is tried in parallel.
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// How long resolving and connecting may take together, where the caller has no shorter deadline.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long this machine's own lookup may take before a proxy gets the name anyway.
const CHECK_TIMEOUT: Duration = Duration::from_secs(1);
/// Addresses of one name that are tried.
const MAX_ADDRESSES: usize = 16;

/// Connects to a host by name or address. Unless `allow_private` is set, only public addresses are
/// used; the addresses that were checked are the ones that are dialled.
pub async fn connect_tcp(
    host: &str,
    port: u16,
    allow_private: bool,
) -> Result<TcpStream, NetError> {
    let connecting = async {
        let addresses = allowed(resolve(host, port).await?, allow_private)?;
        let stream = first_connection(&addresses, TcpStream::connect)
            .await
            .map_err(|error| NetError::from_io(&error))?;
        // A lost option costs speed, not correctness.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    };
    let timed_out = |_| Err(NetError::TimedOut(CONNECT_TIMEOUT));
    tokio::time::timeout(CONNECT_TIMEOUT, connecting).await.unwrap_or_else(timed_out)
}

/// For a request that a proxy will resolve and send: refuses what this machine can already see to
/// be private. A name that only the proxy can resolve is left to the proxy.
pub(crate) async fn check_before_proxy(host: &str, port: u16) -> Result<(), NetError> {
    let looked_up = tokio::time::timeout(CHECK_TIMEOUT, resolve(host, port)).await;
    match looked_up {
        Ok(Ok(addresses)) if addresses.iter().any(|address| !is_public(address.ip())) => {
            Err(NetError::PrivateAddress)
        }
        _ => Ok(()),
    }
}

async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, NetError> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let found = tokio::net::lookup_host((host, port)).await;
    let addresses: Vec<SocketAddr> = found.map_err(|_| NetError::UnknownHost)?.collect();
    if addresses.is_empty() { Err(NetError::UnknownHost) } else { Ok(addresses) }
}

/// The addresses that may be dialled, in the order in which they are tried.
fn allowed(addresses: Vec<SocketAddr>, allow_private: bool) -> Result<Vec<SocketAddr>, NetError> {
    let mut addresses = addresses;
    if !allow_private {
        addresses.retain(|address| is_public(address.ip()));
        if addresses.is_empty() {
            return Err(NetError::PrivateAddress);
        }
    }
    let mut ordered = interleaved(&addresses);
    ordered.truncate(MAX_ADDRESSES);
    Ok(ordered)
}

/// Alternates between the address families, beginning with the resolver's favourite.
fn interleaved(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let of = |v6: bool| addresses.iter().filter(move |address| address.is_ipv6() == v6);
    let (mut one, mut other) = (of(first_is_v6), of(!first_is_v6));
    let mut ordered = Vec::with_capacity(addresses.len());
    while ordered.len() < addresses.len() {
        ordered.extend(one.next());
        ordered.extend(other.next());
    }
    ordered
}

/// The first connection that succeeds; the other attempts are cancelled.
async fn first_connection<S, D, F>(addresses: &[SocketAddr], dial: D) -> io::Result<S>
where
    S: Send + 'static,
    D: Fn(SocketAddr) -> F,
    F: Future<Output = io::Result<S>> + Send + 'static,
{
    let mut attempts = JoinSet::new();
    let mut untried = addresses.iter();
    let mut last_error = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        if let Some(address) = untried.next() {
            attempts.spawn(dial(*address));
        } else if attempts.is_empty() {
            return Err(last_error);
        }
        tokio::select! {
            Some(ended) = attempts.join_next() => match ended {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => last_error = error,
                Err(_) => last_error = io::Error::from(io::ErrorKind::Interrupted),
            },
            () = tokio::time::sleep(ATTEMPT_DELAY), if untried.len() > 0 => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    /// Dials without a network: port 1 never answers, port 2 refuses, others accept after 10 ms.
    async fn dial(address: SocketAddr) -> io::Result<SocketAddr> {
        match address.port() {
            1 => std::future::pending().await,
            2 => Err(io::Error::from(io::ErrorKind::ConnectionRefused)),
            _ => {
                tokio::time::sleep(Duration::from_millis(10)).await;
                Ok(address)
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn addresses_that_never_answer_do_not_use_up_the_deadline() {
        for silent in 1..=3_usize {
            let mut addresses = vec![address("[2001:db8::1]:1"); silent];
            addresses.push(address("192.0.2.1:80"));
            let begin = Instant::now();
            let connected = first_connection(&addresses, dial).await.unwrap();
            assert_eq!(connected, address("192.0.2.1:80"));
            let delay = u32::try_from(silent).unwrap() * ATTEMPT_DELAY;
            assert_eq!(begin.elapsed(), delay + Duration::from_millis(10));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_address_is_followed_at_once_and_the_last_error_is_told() {
        let begin = Instant::now();
        let addresses = [address("192.0.2.1:2"), address("192.0.2.2:2"), address("192.0.2.3:80")];
        assert_eq!(first_connection(&addresses, dial).await.unwrap(), addresses[2]);
        assert_eq!(begin.elapsed(), Duration::from_millis(10));
        let refused = first_connection(&addresses[..2], dial).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        assert!(first_connection(&[], dial).await.is_err());
        // A silent address and a refusing one: nothing is left but to wait for the silent one.
        let addresses = [address("192.0.2.1:1"), address("192.0.2.2:2")];
        let waiting = tokio::time::timeout(CONNECT_TIMEOUT, first_connection(&addresses, dial));
        assert!(waiting.await.is_err());
    }

    #[test]
    fn families_alternate_so_that_one_broken_family_costs_one_delay() {
        let given = ["[2a00::1]:1", "[2a00::2]:1", "[2a00::3]:1", "1.1.1.1:1", "1.1.1.2:1"];
        let wanted = ["[2a00::1]:1", "1.1.1.1:1", "[2a00::2]:1", "1.1.1.2:1", "[2a00::3]:1"];
        let given: Vec<SocketAddr> = given.map(address).to_vec();
        assert_eq!(interleaved(&given), wanted.map(address));
        assert!(interleaved(&[]).is_empty());
    }

    #[test]
    fn only_checked_addresses_are_dialled() {
        let mixed = vec![address("127.0.0.1:1"), address("1.1.1.1:1"), address("10.0.0.1:1")];
        assert_eq!(allowed(mixed.clone(), false), Ok(vec![address("1.1.1.1:1")]));
        assert_eq!(allowed(mixed.clone(), true).unwrap().len(), 3);
        let private = vec![address("127.0.0.1:1"), address("[::1]:1")];
        assert_eq!(allowed(private, false), Err(NetError::PrivateAddress));
        assert_eq!(allowed(vec![address("1.1.1.1:1"); 100], false).unwrap().len(), MAX_ADDRESSES);
    }

    #[tokio::test]
    async fn names_and_odd_numbers_for_this_machine_are_refused_after_resolution() {
        let hosts = ["localhost", "127.0.0.1", "::1", "2130706433", "0x7f.1", "0177.0.0.1", "0"];
        for host in hosts {
            let refused = connect_tcp(host, 9, false).await.unwrap_err();
            assert_eq!(refused, NetError::PrivateAddress, "{host}");
            assert!(check_before_proxy(host, 9).await.is_err(), "{host}");
        }
    }
}
