//! A minimal HTTP/1.1 client: bounded in size and time; one exchange per connection, unless the
//! caller keeps connections.

use std::io::{self, Read as _, Write as _};
use std::time::Duration;

use countersign_ledger::response_signature::SIGNATURE_HEADER;

use crate::body::Body;
use crate::endpoint::Endpoint;
use crate::error::{Error, ProblemDetails};
use crate::kept_connections::KeptConnections;
use crate::wire::{Length, Wire};

/// The longest response head.
const LONGEST_HEAD: usize = 64 << 10;
/// The longest response that is read.
pub const LONGEST_ANSWER: u64 = 64 << 20;

/// One request.
pub struct Exchange<'a> {
    pub method: &'static str,
    pub path: &'a str,
    pub token: Option<&'a str>,
    pub key: Option<&'a str>,
    /// The passphrase that confirms a change.
    pub step_up: Option<&'a str>,
    /// The nonce for which the daemon signs its response.
    pub nonce: Option<&'a str>,
    pub body: Option<&'a str>,
    pub accept: &'static str,
    /// The time limit of the whole exchange.
    pub timeout: Duration,
}

/// The head of a response; the body is still to be read.
pub struct HttpResponse {
    pub status: u16,
    pub content_type: String,
    /// The daemon's signature.
    pub signature: Option<String>,
    /// Whether the daemon closes the connection after it.
    closes: bool,
    pub body: Body,
}

/// A whole response that is not a problem.
pub struct WholeResponse {
    pub status: u16,
    pub signature: Option<String>,
    pub text: String,
}

/// Sends a request and reads the head of the response.
pub fn begin(endpoint: &Endpoint, exchange: &Exchange<'_>) -> Result<HttpResponse, Error> {
    begin_with(endpoint, exchange, None)
}

fn begin_with(
    endpoint: &Endpoint,
    exchange: &Exchange<'_>,
    kept: Option<&KeptConnections>,
) -> Result<HttpResponse, Error> {
    let lost = |sent| {
        move |error: io::Error| Error::Unreachable {
            endpoint: endpoint.to_string(),
            why: error.to_string(),
            sent,
        }
    };
    let head = head(endpoint, exchange, kept.is_some())?;
    let open = || {
        Wire::open(endpoint, exchange.timeout).map_err(|error| {
            let refused = |why| Error::Certificate { endpoint: endpoint.to_string(), why };
            countersign_tls::refusal(&error).map_or_else(|| lost(false)(error), refused)
        })
    };
    let mut wire = kept.and_then(|kept| kept.take(exchange.timeout)).map_or_else(open, Ok)?;
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(exchange.body.unwrap_or_default().as_bytes());
    wire.write_all(&bytes).and_then(|()| wire.flush()).map_err(lost(true))?;
    let (head, rest) = read_head(&mut wire).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => Error::Unexpected(error.to_string()),
        _ => lost(true)(error),
    })?;
    let head = Head::read(&head)?;
    Ok(HttpResponse {
        status: head.status,
        content_type: head.content_type,
        signature: head.signature,
        closes: head.closes,
        body: Body::new(wire, rest, head.length),
    })
}

/// The whole exchange: the response, or the problem that was returned instead.
pub fn whole(endpoint: &Endpoint, exchange: &Exchange<'_>) -> Result<WholeResponse, Error> {
    whole_with(endpoint, exchange, None)
}

/// The same over a kept connection, which is kept again.
pub fn whole_with(
    endpoint: &Endpoint,
    exchange: &Exchange<'_>,
    kept: Option<&KeptConnections>,
) -> Result<WholeResponse, Error> {
    let mut answer = begin_with(endpoint, exchange, kept)?;
    let text = answer.body.text(LONGEST_ANSWER).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => Error::Unexpected(error.to_string()),
        _ => Error::Unreachable {
            endpoint: endpoint.to_string(),
            why: error.to_string(),
            sent: true,
        },
    })?;
    if !matches!(answer.status, 200..=204) {
        return Err(problem(&answer, &text));
    }
    let HttpResponse { status, signature, closes, body, .. } = answer;
    if let (Some(kept), false, Some(wire)) = (kept, closes, body.finish()) {
        kept.put(wire);
    }
    Ok(WholeResponse { status, signature, text })
}

/// The problem that a response describes; a response without one is invalid.
pub fn problem(answer: &HttpResponse, text: &str) -> Error {
    if answer.content_type == "application/problem+json" {
        match serde_json::from_str::<ProblemDetails>(text) {
            Ok(problem) if problem.status == answer.status => return problem.into(),
            _ => {}
        }
    }
    Error::Unexpected(format!("status {} without a reason", answer.status))
}

fn head(endpoint: &Endpoint, exchange: &Exchange<'_>, keeps: bool) -> Result<String, Error> {
    let Exchange { method, path, accept, .. } = exchange;
    let visible = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    let values = [Some(*path), exchange.token, exchange.key];
    if !path.starts_with('/') || !values.into_iter().flatten().all(visible) {
        return Err(Error::Input("a path, token or key contains an invalid character".to_owned()));
    }
    let connection = if keeps { "keep-alive" } else { "close" };
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {}\r\nAccept: {accept}\r\nConnection: {connection}\r\n",
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
    if let Some(nonce) = exchange.nonce {
        header("Countersign-Nonce", nonce);
    }
    if let Some(body) = exchange.body {
        header("Content-Type", "application/json");
        header("Content-Length", &body.len().to_string());
    }
    head.push_str("\r\n");
    Ok(head)
}

/// Reads up to the blank line; the bytes after it are the start of the body.
fn read_head(wire: &mut Wire) -> io::Result<(String, Vec<u8>)> {
    let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut bytes = Vec::with_capacity(2048);
    let mut room = [0; 4096];
    loop {
        let count = wire.read(&mut room)?;
        if count == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed"));
        }
        bytes.extend_from_slice(room.get(..count).unwrap_or_default());
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(at + 4);
            bytes.truncate(at);
            let head = String::from_utf8(bytes).map_err(|_| bad("the head is not UTF-8"))?;
            return Ok((head, rest));
        }
        if bytes.len() > LONGEST_HEAD {
            return Err(bad("the head is too long"));
        }
    }
}

struct Head {
    status: u16,
    content_type: String,
    signature: Option<String>,
    closes: bool,
    length: Length,
}

impl Head {
    fn read(text: &str) -> Result<Head, Error> {
        let bad = |what: &str| Error::Unexpected(what.to_owned());
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 "));
        let status = status.and_then(|line| line.get(..3)).and_then(|digits| digits.parse().ok());
        let status: u16 = status.ok_or_else(|| bad("the response is not HTTP/1.1"))?;
        let (mut length, mut content_type, mut chunked) = (None, String::new(), false);
        let (mut signature, mut closes) = (None, false);
        for line in lines {
            let (name, value) = line.split_once(':').ok_or_else(|| bad("a header has no name"))?;
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" if length.is_none() => {
                    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
                    let value = value.parse::<u64>().ok().filter(|_| digits);
                    length = Some(value.ok_or_else(|| bad("the length is not a number"))?);
                }
                "content-length" => return Err(bad("the response has two lengths")),
                "transfer-encoding" if value.eq_ignore_ascii_case("chunked") && !chunked => {
                    chunked = true;
                }
                "transfer-encoding" | "content-encoding" => {
                    return Err(bad("the response has an unexpected encoding"));
                }
                "connection" => closes |= value.eq_ignore_ascii_case("close"),
                "content-type" => {
                    let essence = value.split(';').next().unwrap_or_default();
                    content_type = essence.trim().to_ascii_lowercase();
                }
                SIGNATURE_HEADER if signature.is_none() => signature = Some(value.to_owned()),
                SIGNATURE_HEADER => return Err(bad("the response has two signatures")),
                _ => {}
            }
        }
        // A body that ends with the connection could be truncated unnoticed.
        let length = match (length, chunked) {
            (Some(length), false) => Length::Known(length),
            (None, true) => Length::Chunked,
            (None, false) if status == 204 => Length::Known(0),
            _ => return Err(bad("the response has no length")),
        };
        Ok(Head { status, content_type, signature, closes, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_plain_responses_are_accepted() {
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
    fn headers_cannot_be_injected() {
        let endpoint = Endpoint::Tcp("127.0.0.1:1".to_owned());
        let exchange = |path, token| Exchange {
            method: "GET",
            path,
            token,
            key: None,
            step_up: None,
            nonce: None,
            body: None,
            accept: "*/*",
            timeout: Duration::from_secs(5),
        };
        assert!(head(&endpoint, &exchange("/a", Some("csp_x")), false).is_ok());
        assert!(head(&endpoint, &exchange("/a b", None), true).is_err());
        assert!(head(&endpoint, &exchange("/a\r\nX: y", None), true).is_err());
        assert!(head(&endpoint, &exchange("/a", Some("x\r\nX: y")), true).is_err());
        assert!(head(&endpoint, &exchange("a", None), true).is_err());
    }
}
