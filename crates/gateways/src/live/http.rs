//! A small HTTP server side for the stand-in model: one request per connection.

use std::io::{self, BufRead, BufReader, Read};

use serde_json::Value;

/// More than any agent's instructions and tools.
const MAX_BODY: u64 = 32 << 20;
const MAX_LINE: u64 = 64 << 10;

/// A request to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRequest {
    /// The method, such as GET or POST.
    pub method: String,
    /// The path, without its query.
    pub path: String,
    /// The body.
    pub body: Vec<u8>,
}

/// A response of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelResponse {
    content_type: &'static str,
    body: String,
}

/// One server-sent event.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelEvent {
    /// The line `event:`, if there is one.
    pub name: Option<&'static str>,
    /// The line `data:`.
    pub data: Value,
}

impl ModelResponse {
    /// A JSON body.
    pub fn json(value: &Value) -> ModelResponse {
        ModelResponse { content_type: "application/json", body: value.to_string() }
    }

    /// A stream of events, sent at once.
    pub fn events(events: &[ModelEvent]) -> ModelResponse {
        let line = |event: &ModelEvent| match event.name {
            Some(name) => format!("event: {name}\ndata: {}\n\n", event.data),
            None => format!("data: {}\n\n", event.data),
        };
        let body = events.iter().map(line).collect();
        ModelResponse { content_type: "text/event-stream", body }
    }

    /// The bytes of the response.
    pub fn to_bytes(&self) -> Vec<u8> {
        let ModelResponse { content_type, body } = self;
        let length = body.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n"
        );
        [head.as_bytes(), body.as_bytes()].concat()
    }
}

/// Reads one request.
pub fn read_request(from: &mut impl Read) -> io::Result<ModelRequest> {
    let mut from = BufReader::new(from);
    let first = line(&mut from)?;
    let mut words = first.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(io::Error::other("the request line is not valid"));
    };
    let path = target.split('?').next().unwrap_or_default().to_owned();
    let method = method.to_owned();
    let (mut length, mut chunked) = (0, false);
    loop {
        let header = line(&mut from)?.to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        let Some((name, value)) = header.split_once(':') else { continue };
        match name {
            "content-length" => length = value.trim().parse().map_err(io::Error::other)?,
            "transfer-encoding" => chunked = value.contains("chunked"),
            _ => {}
        }
    }
    let body = if chunked { chunks(&mut from)? } else { exactly(&mut from, length)? };
    Ok(ModelRequest { method, path, body })
}

fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut text = String::new();
    from.take(MAX_LINE).read_line(&mut text)?;
    Ok(text.trim_end().to_owned())
}

fn exactly(from: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    if length > MAX_BODY {
        return Err(io::Error::other("the body is too long"));
    }
    let mut body = Vec::new();
    from.take(length).read_to_end(&mut body)?;
    Ok(body)
}

fn chunks(from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(from)?;
        let size = u64::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16);
        let size = size.map_err(io::Error::other)?;
        let room = MAX_BODY.saturating_sub(body.len() as u64);
        if size > room {
            return Err(io::Error::other("the body is too long"));
        }
        body.extend(exactly(from, size)?);
        line(from)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_read_by_its_length_or_in_chunks() {
        let whole = "POST /v1/messages?beta=true HTTP/1.1\r\nContent-Length: 4\r\n\r\n{} \n";
        let request = read_request(&mut whole.as_bytes()).unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/messages"));
        assert_eq!(request.body, b"{} \n");
        let parts = "POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
        assert_eq!(read_request(&mut parts.as_bytes()).unwrap().body, b"{}");
    }

    #[test]
    fn bodies_above_the_limit_are_rejected() {
        let huge = format!("POST /x HTTP/1.1\r\nContent-Length: {}\r\n\r\n", u64::MAX);
        assert!(read_request(&mut huge.as_bytes()).is_err());
        let huge = "POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n";
        assert!(read_request(&mut huge.as_bytes()).is_err());
    }
}
