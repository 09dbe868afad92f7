//! One HTTP POST in plain text, for collectors and witnesses near by. It knows no TLS: an address
//! that needs it is refused, never tried without.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// How long all of it may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// So much of an answer is read: its first line is enough.
const ANSWER: u64 = 512;

/// Why nothing arrived.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// Not a plain `http://host:port/path`.
    #[error("this address is not of the form http://host:port/path")]
    Address,
    /// It needs TLS.
    #[error("https is not spoken here yet: use an http address on this machine")]
    NeedsTls,
    /// The network.
    #[error("{0}")]
    Network(#[from] std::io::Error),
    /// It took too long.
    #[error("it took too long")]
    TooLong,
    /// The other side did not take it.
    #[error("the other side answered {0}")]
    Answered(u16),
    /// The other side speaks no HTTP.
    #[error("the other side speaks no HTTP")]
    NoHttp,
}

/// Posts a text; only an answer of 200 to 299 means that it arrived.
pub async fn post_text(url: &str, kind: &str, body: String) -> Result<(), PostError> {
    let (address, path) = parts(url)?;
    let (address, path, kind) = (address.to_owned(), path.to_owned(), kind.to_owned());
    let work = tokio::task::spawn_blocking(move || exchange(&address, &path, &kind, &body));
    let posted = tokio::time::timeout(PATIENCE, work).await;
    let status = posted.ok().and_then(Result::ok).ok_or(PostError::TooLong)??;
    if (200..300).contains(&status) { Ok(()) } else { Err(PostError::Answered(status)) }
}

/// Host with port, and path.
fn parts(url: &str) -> Result<(&str, &str), PostError> {
    if url.starts_with("https://") {
        return Err(PostError::NeedsTls);
    }
    let rest = url.strip_prefix("http://").ok_or(PostError::Address)?;
    let (address, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    let fits = !address.is_empty() && !address.contains('@') && plain(address) && plain(path);
    if fits { Ok((address, path)) } else { Err(PostError::Address) }
}

fn exchange(address: &str, path: &str, kind: &str, body: &str) -> Result<u16, PostError> {
    let has_port = address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let place = if has_port { address.to_owned() } else { format!("{address}:80") };
    let place = place.to_socket_addrs()?.next().ok_or(PostError::Address)?;
    let mut stream = TcpStream::connect_timeout(&place, PATIENCE)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: {kind}\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut answer = Vec::with_capacity(ANSWER as usize);
    // The first line is enough; whoever sends it byte by byte is cut off by `PATIENCE` above.
    BufReader::new(stream.take(ANSWER)).read_until(b'\n', &mut answer)?;
    let line = String::from_utf8_lossy(&answer);
    let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse().ok());
    status.ok_or(PostError::NoHttp)
}
