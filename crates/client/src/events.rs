//! Server-sent events of the daemon.

use std::io::{BufRead as _, BufReader, Read as _};
use std::time::Duration;

use crate::body::Body;
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::http::{self, Exchange};

/// The daemon sends something at least every 15 seconds; three times that is a lost connection.
const SILENCE: Duration = Duration::from_secs(45);
/// The longest line and the longest event.
const LONGEST: u64 = 1 << 20;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEvent {
    /// The name: `asked`, `voted`, `escalated`, `ended`, `settings`, `again`.
    pub name: String,
    /// Its id, if it has one.
    pub id: Option<String>,
    /// The request document, as JSON.
    pub data: String,
}

/// A stream of events. It ends with an error when the connection breaks. Open a new one then, and
/// load the list again, because events may have been missed.
pub struct EventStream {
    endpoint: String,
    input: BufReader<Body>,
}

impl EventStream {
    pub(crate) fn open(endpoint: &Endpoint, token: Option<&str>) -> Result<EventStream, Error> {
        let exchange = Exchange {
            method: "GET",
            path: "/v1/events",
            token,
            key: None,
            step_up: None,
            nonce: None,
            body: None,
            accept: "text/event-stream",
            timeout: Duration::from_secs(10),
        };
        let mut answer = http::begin(endpoint, &exchange)?;
        if answer.status != 200 {
            let text = answer.body.text(http::LONGEST_ANSWER).unwrap_or_default();
            return Err(http::problem(&answer, &text));
        }
        if answer.content_type != "text/event-stream" {
            return Err(Error::Unexpected("the response is not an event stream".to_owned()));
        }
        answer.body.wire().live(SILENCE);
        Ok(EventStream { endpoint: endpoint.to_string(), input: BufReader::new(answer.body) })
    }

    /// The next event; `None` after the daemon closed the stream.
    pub fn next_event(&mut self) -> Result<Option<ServerEvent>, Error> {
        let mut event = ServerEvent { name: "message".to_owned(), id: None, data: String::new() };
        let mut any = false;
        loop {
            let Some(line) = self.line()? else { return Ok(None) };
            if line.is_empty() {
                if any {
                    return Ok(Some(event));
                }
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => value.clone_into(&mut event.name),
                "id" => event.id = Some(value.to_owned()),
                "data" => {
                    if any && !event.data.is_empty() {
                        event.data.push('\n');
                    }
                    any = true;
                    event.data.push_str(value);
                    if event.data.len() as u64 > LONGEST {
                        return Err(Error::Unexpected("an event is too long".to_owned()));
                    }
                }
                // Comments keep the connection alive.
                _ => {}
            }
        }
    }

    fn line(&mut self) -> Result<Option<String>, Error> {
        let mut bytes = Vec::new();
        let read = self.input.by_ref().take(LONGEST).read_until(b'\n', &mut bytes);
        let lost =
            |why: String| Error::Unreachable { endpoint: self.endpoint.clone(), why, sent: true };
        let count = read.map_err(|error| lost(error.to_string()))?;
        if count == 0 {
            return Ok(None);
        }
        if bytes.pop() != Some(b'\n') {
            return Err(lost("an event is incomplete or too long".to_owned()));
        }
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        let line = String::from_utf8(bytes);
        line.map(Some).map_err(|_| Error::Unexpected("an event is not UTF-8".to_owned()))
    }
}
