//! A small HTTP/1.1 client over mutual TLS: one exchange per connection, bounded in size and time.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use countersign_tls::rustls::pki_types::ServerName;
use countersign_tls::rustls::{ClientConfig, ClientConnection, StreamOwned};
use countersign_tls::{FleetCertificate, split_authority};

/// The longest response.
pub const MAX_RESPONSE: usize = 8 << 20;
const MAX_HEAD: usize = 64 << 10;

/// Where an agent listens: `https://host:port/path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentUrl {
    /// `host:port`.
    pub authority: String,
    /// The path, without a slash at its end.
    pub path: String,
}

impl AgentUrl {
    /// Parses an address. Only https is possible: without TLS no agent is identified.
    pub fn parse(text: &str) -> Result<AgentUrl, String> {
        let rest = text.strip_prefix("https://").ok_or_else(|| {
            format!("`{text}` is not an https address; agents talk over mutual TLS only")
        })?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
        let fits = |byte: u8| byte.is_ascii_graphic() && !b"?#".contains(&byte);
        if authority.is_empty() || !authority.bytes().all(plain) || !path.bytes().all(fits) {
            return Err(format!("`{text}` is not a valid address"));
        }
        let (host, port) = split_authority(authority);
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let authority = format!("{host}:{}", port.unwrap_or(443));
        let path = path.trim_end_matches('/');
        let path = if path.is_empty() { String::new() } else { format!("/{path}") };
        Ok(AgentUrl { authority, path })
    }
}

/// A response, and the agent that gave it.
#[derive(Debug)]
pub struct AgentReply {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
    /// The agent in the certificate of the other end.
    pub agent: Option<String>,
}

/// Sends one request and returns the response.
pub fn exchange(
    config: &Arc<ClientConfig>,
    url: &AgentUrl,
    (method, path, body): (&str, &str, Option<&str>),
    timeout: Duration,
) -> io::Result<AgentReply> {
    let end = Instant::now() + timeout;
    let mut stream = connect(config, url, end)?;
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {}\r\nAccept: application/json\r\n\
         A2A-Version: 1.0\r\nConnection: close\r\n",
        url.authority
    );
    if let Some(body) = body {
        let length = body.len();
        let _ = write!(head, "Content-Type: application/json\r\nContent-Length: {length}\r\n");
    }
    head.push_str("\r\n");
    head.push_str(body.unwrap_or_default());
    stream.write_all(head.as_bytes())?;
    stream.flush()?;
    let (status, body) = read_response(&mut stream, end)?;
    let certificate = stream.conn.peer_certificates().and_then(|chain| chain.first());
    let named = certificate.and_then(|one| FleetCertificate::parse(one));
    let agent = named.and_then(|found| found.agent.map(ToOwned::to_owned));
    Ok(AgentReply { status, body, agent })
}

fn read_response(stream: &mut TlsStream, end: Instant) -> io::Result<(u16, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut room = [0; 8192];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.sock.set_read_timeout(Some(left))?;
        match stream.read(&mut room) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(room.get(..count).unwrap_or_default()),
            // Some servers close without saying so in TLS; the length tells whether all is there.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error),
        }
        if bytes.len() > MAX_RESPONSE {
            return Err(bad("the response is too long"));
        }
        if let Some(whole) = response(&bytes)? {
            return Ok(whole);
        }
    }
    response(&bytes)?.ok_or_else(|| bad("the response is not complete"))
}

type TlsStream = StreamOwned<ClientConnection, TcpStream>;

fn connect(config: &Arc<ClientConfig>, url: &AgentUrl, end: Instant) -> io::Result<TlsStream> {
    let left = || end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    let (host, _) = split_authority(&url.authority);
    let name = ServerName::try_from(host.to_owned()).map_err(|_| bad("invalid host name"))?;
    let mut last = bad("the host has no address");
    for address in url.authority.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left()) {
            Ok(socket) => {
                socket.set_read_timeout(Some(left()))?;
                socket.set_write_timeout(Some(left()))?;
                let _ = socket.set_nodelay(true);
                let session =
                    ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
                return Ok(StreamOwned::new(session, socket));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The status and body of a response that is complete.
fn response(bytes: &[u8]) -> io::Result<Option<(u16, Vec<u8>)>> {
    let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return if bytes.len() > MAX_HEAD { Err(bad("the head is too long")) } else { Ok(None) };
    };
    let (head, body) = bytes.split_at(at);
    let body = body.get(4..).unwrap_or_default();
    let head = std::str::from_utf8(head).map_err(|_| bad("the head is not UTF-8"))?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 "));
    let status = status.and_then(|line| line.get(..3)?.parse::<u16>().ok());
    let status = status.ok_or_else(|| bad("the response is not HTTP/1.1"))?;
    let mut length = None;
    let mut is_chunked = false;
    for line in lines {
        let (name, value) = line.split_once(':').ok_or_else(|| bad("a header has no name"))?;
        match name.to_ascii_lowercase().as_str() {
            "content-length" => {
                length = Some(value.trim().parse::<usize>().map_err(|_| bad("invalid length"))?);
            }
            "transfer-encoding" => is_chunked = value.trim().eq_ignore_ascii_case("chunked"),
            _ => {}
        }
    }
    match (length, is_chunked) {
        (Some(length), false) => Ok(body.get(..length).map(|body| (status, body.to_vec()))),
        (None, true) => Ok(unchunked(body)?.map(|body| (status, body))),
        _ => Err(bad("the response has no length")),
    }
}

/// The content of a body in chunks, if its last chunk is there.
fn unchunked(mut rest: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let mut out = Vec::new();
    loop {
        let Some(at) = rest.windows(2).position(|two| two == b"\r\n") else { return Ok(None) };
        let line = rest.get(..at).and_then(|line| std::str::from_utf8(line).ok());
        let digits = line.and_then(|line| line.split(';').next()).unwrap_or_default();
        let size = usize::from_str_radix(digits.trim(), 16).map_err(|_| bad("invalid chunk"))?;
        rest = rest.get(at + 2..).unwrap_or_default();
        if size == 0 {
            return Ok(Some(out));
        }
        let (Some(chunk), Some(after)) = (rest.get(..size), rest.get(size.saturating_add(2)..))
        else {
            return Ok(None);
        };
        out.extend_from_slice(chunk);
        rest = after;
    }
}

fn bad(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed() {
        let url = AgentUrl::parse("https://host:9443/").unwrap();
        assert_eq!((url.authority.as_str(), url.path.as_str()), ("host:9443", ""));
        let url = AgentUrl::parse("https://[::1]:9443/a/b/").unwrap();
        assert_eq!((url.authority.as_str(), url.path.as_str()), ("[::1]:9443", "/a/b"));
        assert_eq!(AgentUrl::parse("https://host").unwrap().authority, "host:443");
        for bad in ["http://host:1", "https://", "https://a b", "https://a/x\r\ny", "host"] {
            assert!(AgentUrl::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_complete_responses_are_read() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
        assert_eq!(response(whole).unwrap(), Some((200, b"ab".to_vec())));
        for end in 0..whole.len() {
            assert_eq!(response(&whole[..end]).unwrap_or(None), None, "{end}");
        }
        let parts =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n";
        assert_eq!(response(parts).unwrap(), Some((200, b"ab".to_vec())));
        assert!(response(b"HTTP/1.1 200 OK\r\n\r\nab").is_err());
        assert!(response(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n").is_err());
    }
}
