//! A connection to the daemon over TCP, TLS or a Unix socket, with time limits.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use countersign_tls::rustls::{ClientConnection, StreamOwned};
use countersign_tls::{ClientTls, TlsError, TlsTrust};

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
pub enum Wire {
    Plain(TimedStream),
    Tls(Box<StreamOwned<ClientConnection, TimedStream>>),
}

impl Wire {
    /// Connects. With TLS, the other end has proved its certificate when this returns.
    pub fn open(endpoint: &Endpoint, timeout: Duration) -> io::Result<Wire> {
        let until = Instant::now().checked_add(timeout);
        let timed = |stream| TimedStream { stream, until, pause: timeout };
        match endpoint {
            Endpoint::Tcp(authority) => Ok(Wire::Plain(timed(connect(authority, timeout)?))),
            Endpoint::Tls { authority, trust } => {
                let connection = tls(authority, trust).map_err(io::Error::other)?;
                let mut stream = StreamOwned::new(connection, timed(connect(authority, timeout)?));
                while stream.conn.is_handshaking() {
                    stream.conn.complete_io(&mut stream.sock)?;
                }
                Ok(Wire::Tls(Box::new(stream)))
            }
            Endpoint::Unix(path) => {
                Ok(Wire::Plain(timed(Stream::Unix(UnixStream::connect(path)?))))
            }
        }
    }

    /// Removes the limit for the whole; each read must still complete within `pause`.
    pub fn live(&mut self, pause: Duration) {
        let stream = self.stream();
        (stream.until, stream.pause) = (None, pause);
    }

    /// Begins another exchange with a time limit of its own.
    pub fn restart(&mut self, timeout: Duration) {
        let stream = self.stream();
        (stream.until, stream.pause) = (Instant::now().checked_add(timeout), timeout);
    }

    /// Whether the other end has neither closed the connection nor sent anything. A connection of
    /// which this is not true cannot be used any more.
    pub fn is_quiet(&mut self) -> bool {
        let mut room = [0];
        let read = match &mut self.stream().stream {
            Stream::Tcp(stream) => stream.set_nonblocking(true).and_then(|()| {
                let read = stream.read(&mut room);
                stream.set_nonblocking(false).and(read)
            }),
            Stream::Unix(stream) => stream.set_nonblocking(true).and_then(|()| {
                let read = stream.read(&mut room);
                stream.set_nonblocking(false).and(read)
            }),
        };
        read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    fn stream(&mut self) -> &mut TimedStream {
        match self {
            Wire::Plain(stream) => stream,
            Wire::Tls(stream) => &mut stream.sock,
        }
    }
}

fn tls(authority: &str, trust: &TlsTrust) -> Result<ClientConnection, TlsError> {
    ClientTls::new(trust)?.connection(authority)
}

fn connect(authority: &str, timeout: Duration) -> io::Result<Stream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no such host");
    for address in authority.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT.min(timeout)) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(Stream::Tcp(stream));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl Read for Wire {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Wire::Plain(stream) => stream.read(room),
            Wire::Tls(stream) => stream.read(room),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Wire::Plain(stream) => stream.write(bytes),
            Wire::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Wire::Plain(stream) => stream.flush(),
            Wire::Tls(stream) => stream.flush(),
        }
    }
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A stream whose reads and writes end in time, also those of a handshake.
pub struct TimedStream {
    stream: Stream,
    until: Option<Instant>,
    /// The time limit of a single read, if there is no limit for the whole.
    pause: Duration,
}

impl TimedStream {
    fn left(&self) -> io::Result<Duration> {
        let Some(until) = self.until else { return Ok(self.pause) };
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "timed out"));
        }
        Ok(left)
    }
}

impl Read for TimedStream {
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

impl Write for TimedStream {
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
