//! A connection to the daemon over TCP or a Unix socket, with time limits.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::endpoint::Endpoint;

/// The time limit for connecting.
const CONNECT: Duration = Duration::from_secs(5);

/// The length of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// This many bytes.
    Known(u64),
    /// Chunked.
    Chunked,
}

/// A connection with a time limit.
pub struct Wire {
    stream: Stream,
    until: Option<Instant>,
    /// The time limit of a single read, if there is no limit for the whole.
    pub pause: Duration,
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Wire {
    pub fn open(endpoint: &Endpoint, timeout: Duration) -> io::Result<Wire> {
        let until = Instant::now().checked_add(timeout);
        let stream = match endpoint {
            Endpoint::Tcp(authority) => {
                let mut last = io::Error::new(io::ErrorKind::NotFound, "no such host");
                let mut found = None;
                for address in authority.to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, CONNECT.min(timeout)) {
                        Ok(stream) => {
                            found = Some(stream);
                            break;
                        }
                        Err(error) => last = error,
                    }
                }
                let stream = found.ok_or(last)?;
                stream.set_nodelay(true)?;
                Stream::Tcp(stream)
            }
            Endpoint::Unix(path) => Stream::Unix(UnixStream::connect(path)?),
        };
        Ok(Wire { stream, until, pause: timeout })
    }

    /// Removes the limit for the whole; each read must still complete within `pause`.
    pub fn live(&mut self, pause: Duration) {
        (self.until, self.pause) = (None, pause);
    }

    fn left(&self) -> io::Result<Duration> {
        let Some(until) = self.until else { return Ok(self.pause) };
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "timed out"));
        }
        Ok(left)
    }
}

impl Read for Wire {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        // An interrupted read is retried within the same time limit.
        let read = loop {
            let left = Some(self.left()?);
            let read = match &mut self.stream {
                Stream::Tcp(stream) => {
                    stream.set_read_timeout(left).and_then(|()| stream.read(room))
                }
                Stream::Unix(stream) => {
                    stream.set_read_timeout(left).and_then(|()| stream.read(room))
                }
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        read.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => io::Error::new(io::ErrorKind::TimedOut, "timed out"),
            _ => error,
        })
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = Some(self.left()?);
        match &mut self.stream {
            Stream::Tcp(stream) => {
                stream.set_write_timeout(left).and_then(|()| stream.write(bytes))
            }
            Stream::Unix(stream) => {
                stream.set_write_timeout(left).and_then(|()| stream.write(bytes))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
