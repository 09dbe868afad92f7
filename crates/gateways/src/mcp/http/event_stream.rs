//! Server-sent events: written, and read while their bytes pass.

/// A stream with a longer event is not read any further.
const MAX_EVENT: usize = 64 << 20;

/// Reads a stream of events.
#[derive(Debug, Default)]
pub struct EventReader {
    line: Vec<u8>,
    data: Vec<u8>,
    raw: Vec<u8>,
    after_return: bool,
    is_over_limit: bool,
}

impl EventReader {
    /// The data of every event that is complete now.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut whole = Vec::new();
        if self.is_over_limit {
            return whole;
        }
        for &byte in bytes {
            let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => whole.extend(self.end_of_line()),
                other => self.line.push(other),
            }
        }
        self.is_over_limit = self.line.len() + self.data.len() > MAX_EVENT;
        whole
    }

    /// Every event that is complete now: its bytes, and its data if it has any.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<(Vec<u8>, Option<String>)> {
        let mut whole = Vec::new();
        for &byte in bytes {
            let was_blank = self.line.is_empty();
            let after_return = self.after_return;
            let data = self.feed(&[byte]).pop();
            self.raw.push(byte);
            let ends = matches!(byte, b'\n' | b'\r') && was_blank;
            if ends && !(byte == b'\n' && after_return) {
                whole.push((std::mem::take(&mut self.raw), data));
            }
        }
        whole
    }

    /// The bytes of an incomplete event at the end.
    pub fn rest(self) -> Vec<u8> {
        self.raw
    }

    fn end_of_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let mut data = std::mem::take(&mut self.data);
            data.pop();
            return String::from_utf8(data).ok().filter(|text| !text.is_empty());
        }
        if let Some(value) = line.strip_prefix(b"data:") {
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            self.data.push(b'\n');
        }
        None
    }
}

/// A message as one event, without an id: a client cannot ask for it again.
pub fn event(message: &str) -> String {
    let mut out = String::with_capacity(message.len() + 32);
    out.push_str("event: message\n");
    for line in message.lines() {
        out.push_str("data: ");
        out.push_str(line);
        out.push('\n');
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_however_they_are_cut_and_written() {
        let stream = b": hi\r\n\r\nevent: message\r\ndata: {\"a\":\ndata:1}\n\nid: 1\ndata: x\r\r";
        for size in 1..stream.len() {
            let mut events = EventReader::default();
            let read: Vec<String> =
                stream.chunks(size).flat_map(|part| events.feed(part)).collect();
            assert_eq!(read, ["{\"a\":\n1}", "x"], "{size}");
        }
        let mut events = EventReader::default();
        let taken = events.take(stream);
        let bytes: Vec<u8> = taken.iter().flat_map(|(raw, _)| raw.clone()).collect();
        assert_eq!([bytes, events.rest()].concat(), stream);
        let data: Vec<&str> = taken.iter().filter_map(|(_, data)| data.as_deref()).collect();
        assert_eq!(data, ["{\"a\":\n1}", "x"]);
        let mut events = EventReader::default();
        assert_eq!(events.feed(event("{\n\"a\":1}").as_bytes()), ["{\n\"a\":1}"]);
    }
}
