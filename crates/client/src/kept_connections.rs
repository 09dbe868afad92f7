//! Connections that a client uses for several exchanges, one after another.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::wire::Wire;

/// How many unused connections are kept, and how long: less than the daemon waits for a request.
const MOST: usize = 8;
const IDLE: Duration = Duration::from_secs(3);

/// Connections to one daemon that are not in use.
#[derive(Default)]
pub struct KeptConnections(Mutex<Vec<(Wire, Instant)>>);

impl KeptConnections {
    /// A connection that is still open, with the time limit of the next exchange.
    pub fn take(&self, timeout: Duration) -> Option<Wire> {
        loop {
            let (mut wire, since) = self.lock().pop()?;
            if since.elapsed() < IDLE && wire.is_quiet() {
                wire.restart(timeout);
                return Some(wire);
            }
        }
    }

    /// Keeps a connection whose last response was read to its end.
    pub fn put(&self, wire: Wire) {
        let mut kept = self.lock();
        kept.retain(|(_, since)| since.elapsed() < IDLE);
        if kept.len() < MOST {
            kept.push((wire, Instant::now()));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Wire, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for KeptConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptConnections").field("count", &self.lock().len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use super::*;
    use crate::endpoint::Endpoint;
    use crate::http::{Exchange, whole_with};

    #[test]
    fn a_connection_is_used_again_until_the_other_end_closes_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::Tcp(listener.local_addr().unwrap().to_string());
        // What each connection answers before the server closes it.
        let connections = [["", ""].as_slice(), &["Connection: close\r\n"], &[""]];
        let server = thread::spawn(move || {
            for replies in connections {
                let (mut stream, _) = listener.accept().unwrap();
                for header in replies {
                    let (mut text, mut room) = (Vec::new(), [0; 1024]);
                    while !text.ends_with(b"\r\n\r\n") {
                        let count = stream.read(&mut room).unwrap();
                        assert!(count > 0);
                        text.extend_from_slice(&room[..count]);
                    }
                    let reply = format!("HTTP/1.1 200 OK\r\n{header}Content-Length: 2\r\n\r\nok");
                    stream.write_all(reply.as_bytes()).unwrap();
                }
            }
        });
        let kept = KeptConnections::default();
        let exchange = Exchange {
            method: "GET",
            path: "/",
            token: None,
            key: None,
            step_up: None,
            nonce: None,
            body: None,
            accept: "*/*",
            timeout: Duration::from_mins(1),
        };
        let ask = || whole_with(&endpoint, &exchange, Some(&kept)).unwrap().text;
        assert_eq!((ask(), kept.lock().len()), ("ok".to_owned(), 1));
        assert_eq!(ask(), "ok", "on the same connection");
        // The server closes it now, and the next one says that it will.
        while kept.lock().first_mut().is_some_and(|(wire, _)| wire.is_quiet()) {
            thread::yield_now();
        }
        assert_eq!((ask(), kept.lock().len()), ("ok".to_owned(), 0));
        assert_eq!(ask(), "ok");
        server.join().unwrap();
    }
}
