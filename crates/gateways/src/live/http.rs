//! As much HTTP as agents speak to a model: one question a connection, then it is closed.

use std::io::{self, BufRead, BufReader, Read};

use serde_json::Value;

/// More than any agent's instructions and tools.
const LONGEST_BODY: u64 = 32 << 20;
const LONGEST_LINE: u64 = 64 << 10;

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// GET, POST.
    pub method: String,
    /// What for, without what follows a question mark.
    pub path: String,
    /// What was sent.
    pub body: Vec<u8>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    kind: &'static str,
    body: String,
}

/// One event of a stream: its name, if it has one, and what it says.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The line `event:`.
    pub name: Option<&'static str>,
    /// The line `data:`.
    pub data: Value,
}

impl Answer {
    /// One JSON text.
    pub fn json(value: &Value) -> Answer {
        Answer { kind: "application/json", body: value.to_string() }
    }

    /// A stream of events, sent at once.
    pub fn events(events: &[Event]) -> Answer {
        let line = |event: &Event| match event.name {
            Some(name) => format!("event: {name}\ndata: {}\n\n", event.data),
            None => format!("data: {}\n\n", event.data),
        };
        Answer { kind: "text/event-stream", body: events.iter().map(line).collect() }
    }
}

/// An answer as it goes over the wire.
pub fn written(answer: &Answer) -> Vec<u8> {
    let Answer { kind, body } = answer;
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    [head.as_bytes(), body.as_bytes()].concat()
}

/// Reads one question.
pub fn read(from: &mut impl Read) -> io::Result<Asked> {
    let mut from = BufReader::new(from);
    let first = line(&mut from)?;
    let mut words = first.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(io::Error::other("no request"));
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
    Ok(Asked { method, path, body })
}

fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut text = String::new();
    from.take(LONGEST_LINE).read_line(&mut text)?;
    Ok(text.trim_end().to_owned())
}

fn exactly(from: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    if length > LONGEST_BODY {
        return Err(io::Error::other("too long"));
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
        let room = LONGEST_BODY.saturating_sub(body.len() as u64);
        if size > room {
            return Err(io::Error::other("too long"));
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
        let asked = read(&mut whole.as_bytes()).unwrap();
        assert_eq!((asked.method.as_str(), asked.path.as_str()), ("POST", "/v1/messages"));
        assert_eq!(asked.body, b"{} \n");
        let parts = "POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
        assert_eq!(read(&mut parts.as_bytes()).unwrap().body, b"{}");
    }

    #[test]
    fn nothing_is_read_without_end() {
        let huge = format!("POST /x HTTP/1.1\r\nContent-Length: {}\r\n\r\n", u64::MAX);
        assert!(read(&mut huge.as_bytes()).is_err());
        let huge = "POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n";
        assert!(read(&mut huge.as_bytes()).is_err());
    }
}
