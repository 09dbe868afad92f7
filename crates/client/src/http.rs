//! HTTP/1.1 as far as it is needed: one exchange a connection, bounded in size and time.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::body::Body;
use crate::endpoint::Endpoint;
use crate::error::{Error, Problem};

/// How long a daemon may take to take a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// The longest head of an answer.
const LONGEST_HEAD: usize = 64 << 10;
/// The longest answer that is read whole.
pub const LONGEST_ANSWER: u64 = 64 << 20;

/// What is asked.
pub struct Exchange<'a> {
    pub method: &'static str,
    pub path: &'a str,
    pub token: Option<&'a str>,
    pub key: Option<&'a str>,
    /// The passphrase that confirms a change.
    pub step_up: Option<&'a str>,
    pub body: Option<&'a str>,
    pub accept: &'static str,
    /// How long the whole exchange may take.
    pub patience: Duration,
}

/// The head of an answer, and what of its body is still to come.
pub struct Answer {
    pub status: u16,
    pub content_type: String,
    pub body: Body,
}

/// A connection that gives up at a fixed time.
pub struct Wire {
    stream: Stream,
    until: Option<Instant>,
    /// How long a single read may take, where there is no fixed time.
    pub pause: Duration,
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Wire {
    fn open(endpoint: &Endpoint, patience: Duration) -> io::Result<Wire> {
        let until = Instant::now().checked_add(patience);
        let stream = match endpoint {
            Endpoint::Tcp(authority) => {
                let mut last = io::Error::new(io::ErrorKind::NotFound, "no such host");
                let mut found = None;
                for address in authority.to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, CONNECT.min(patience)) {
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
        Ok(Wire { stream, until, pause: patience })
    }

    /// From now on the connection may live for ever, as long as something comes now and then.
    pub fn live(&mut self, pause: Duration) {
        (self.until, self.pause) = (None, pause);
    }

    fn left(&self) -> io::Result<Duration> {
        let Some(until) = self.until else { return Ok(self.pause) };
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it took too long"));
        }
        Ok(left)
    }
}

impl Read for Wire {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        // A signal is no answer: what it broke off is begun again, within the same time.
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
            io::ErrorKind::WouldBlock => io::Error::new(io::ErrorKind::TimedOut, "no answer came"),
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

/// Sends a question and reads the head of the answer.
pub fn begin(endpoint: &Endpoint, exchange: &Exchange<'_>) -> Result<Answer, Error> {
    let lost = |sent| {
        move |error: io::Error| Error::Unreachable {
            endpoint: endpoint.to_string(),
            why: error.to_string(),
            sent,
        }
    };
    let head = head(endpoint, exchange)?;
    let mut wire = Wire::open(endpoint, exchange.patience).map_err(lost(false))?;
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(exchange.body.unwrap_or_default().as_bytes());
    wire.write_all(&bytes).map_err(lost(true))?;
    let (head, rest) = read_head(&mut wire).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => Error::Unexpected(error.to_string()),
        _ => lost(true)(error),
    })?;
    let head = Head::read(&head)?;
    Ok(Answer {
        status: head.status,
        content_type: head.content_type,
        body: Body::new(wire, rest, head.length),
    })
}

/// The whole exchange: the status and the body, or the problem that was sent instead.
pub fn whole(endpoint: &Endpoint, exchange: &Exchange<'_>) -> Result<(u16, String), Error> {
    let mut answer = begin(endpoint, exchange)?;
    let text = answer.body.text(LONGEST_ANSWER).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => Error::Unexpected(error.to_string()),
        _ => Error::Unreachable {
            endpoint: endpoint.to_string(),
            why: error.to_string(),
            sent: true,
        },
    })?;
    match answer.status {
        200..=204 => Ok((answer.status, text)),
        _ => Err(problem(&answer, &text)),
    }
}

/// The problem that an answer describes; one that describes none is not understood.
pub fn problem(answer: &Answer, text: &str) -> Error {
    if answer.content_type == "application/problem+json" {
        match serde_json::from_str::<Problem>(text) {
            Ok(problem) if problem.status == answer.status => return problem.into(),
            _ => {}
        }
    }
    Error::Unexpected(format!("status {} without a reason", answer.status))
}

fn head(endpoint: &Endpoint, exchange: &Exchange<'_>) -> Result<String, Error> {
    let Exchange { method, path, accept, .. } = exchange;
    let visible = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    let values = [Some(*path), exchange.token, exchange.key];
    if !path.starts_with('/') || !values.into_iter().flatten().all(visible) {
        return Err(Error::Input(
            "an address, token or key holds a character it cannot".to_owned(),
        ));
    }
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {}\r\nAccept: {accept}\r\nConnection: close\r\n",
        endpoint.host()
    );
    let mut header = |name: &str, value: &str| {
        head.push_str(name);
        head.push_str(": ");
        head.push_str(value);
        head.push_str("\r\n");
    };
    if let Some(token) = exchange.token {
        header("Authorization", &format!("Bearer {token}"));
    }
    if let Some(key) = exchange.key {
        header("Idempotency-Key", key);
    }
    if let Some(passphrase) = exchange.step_up {
        let proof = countersign_json::base64::encode_url(passphrase.as_bytes());
        header("X-Countersign-Step-Up", &format!("passphrase {proof}"));
    }
    if let Some(body) = exchange.body {
        header("Content-Type", "application/json");
        header("Content-Length", &body.len().to_string());
    }
    head.push_str("\r\n");
    Ok(head)
}

/// Reads up to the blank line; what came behind it already is the start of the body.
fn read_head(wire: &mut Wire) -> io::Result<(String, Vec<u8>)> {
    let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut bytes = Vec::with_capacity(2048);
    let mut room = [0; 4096];
    loop {
        let count = wire.read(&mut room)?;
        if count == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it hung up"));
        }
        bytes.extend_from_slice(room.get(..count).unwrap_or_default());
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(at + 4);
            bytes.truncate(at);
            let head = String::from_utf8(bytes).map_err(|_| bad("its head is no text"))?;
            return Ok((head, rest));
        }
        if bytes.len() > LONGEST_HEAD {
            return Err(bad("its head is too long"));
        }
    }
}

/// How much of a body is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// So many bytes.
    Known(u64),
    /// In pieces, each with its length.
    Chunked,
}

struct Head {
    status: u16,
    content_type: String,
    length: Length,
}

impl Head {
    fn read(text: &str) -> Result<Head, Error> {
        let bad = |what: &str| Error::Unexpected(what.to_owned());
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 "));
        let status = status.and_then(|line| line.get(..3)).and_then(|digits| digits.parse().ok());
        let status: u16 = status.ok_or_else(|| bad("this is not HTTP/1.1"))?;
        let (mut length, mut content_type, mut chunked) = (None, String::new(), false);
        for line in lines {
            let (name, value) = line.split_once(':').ok_or_else(|| bad("a header has no name"))?;
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" if length.is_none() => {
                    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
                    let value = value.parse::<u64>().ok().filter(|_| digits);
                    length = Some(value.ok_or_else(|| bad("its length is no number"))?);
                }
                "content-length" => return Err(bad("it has two lengths")),
                "transfer-encoding" if value.eq_ignore_ascii_case("chunked") && !chunked => {
                    chunked = true;
                }
                "transfer-encoding" | "content-encoding" => {
                    return Err(bad("it is encoded in a way that was not asked for"));
                }
                "content-type" => {
                    let essence = value.split(';').next().unwrap_or_default();
                    content_type = essence.trim().to_ascii_lowercase();
                }
                _ => {}
            }
        }
        // A body that ends when the connection does could be cut short by anybody.
        let length = match (length, chunked) {
            (Some(length), false) => Length::Known(length),
            (None, true) => Length::Chunked,
            (None, false) if status == 204 => Length::Known(0),
            _ => return Err(bad("it does not say how long it is")),
        };
        Ok(Head { status, content_type, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_plain_answers_are_read() {
        let good = Head::read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: a/b; c=d");
        let good = good.unwrap();
        assert_eq!((good.status, good.content_type.as_str()), (200, "a/b"));
        for bad in [
            "HTTP/1.0 200 OK\r\nContent-Length: 5",
            "HTTP/2 200\r\nContent-Length: 5",
            "HTTP/1.1 2x0 OK\r\nContent-Length: 5",
            "HTTP/1.1 200 OK",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5",
            "HTTP/1.1 200 OK\r\nContent-Length: +5",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip",
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5",
            "HTTP/1.1 200 OK\r\nno header",
        ] {
            assert!(Head::read(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn nothing_can_be_smuggled_into_a_head() {
        let endpoint = Endpoint::Tcp("127.0.0.1:1".to_owned());
        let exchange = |path, token| Exchange {
            method: "GET",
            path,
            token,
            key: None,
            step_up: None,
            body: None,
            accept: "*/*",
            patience: CONNECT,
        };
        assert!(head(&endpoint, &exchange("/a", Some("csp_x"))).is_ok());
        assert!(head(&endpoint, &exchange("/a b", None)).is_err());
        assert!(head(&endpoint, &exchange("/a\r\nX: y", None)).is_err());
        assert!(head(&endpoint, &exchange("/a", Some("x\r\nX: y"))).is_err());
        assert!(head(&endpoint, &exchange("a", None)).is_err());
    }
}
