//! The body of a response: exactly as long as announced, or an error.

use std::io::{self, Read};

use crate::wire::{Length, Wire};

/// The longest line between two chunks.
const LONGEST_LINE: usize = 1024;

/// A body that is still to be read.
pub struct Body {
    wire: Wire,
    /// Bytes that arrived with the head.
    before: io::Cursor<Vec<u8>>,
    state: BodyState,
}

#[derive(Debug, Clone, Copy)]
enum BodyState {
    /// This many bytes are left.
    Known(u64),
    /// This many bytes of the current chunk are left.
    Piece(u64),
    /// The length of the next chunk follows.
    Between,
    Over,
}

impl Body {
    pub fn new(wire: Wire, before: Vec<u8>, length: Length) -> Body {
        let state = match length {
            Length::Known(length) => BodyState::Known(length),
            Length::Chunked => BodyState::Between,
        };
        Body { wire, before: io::Cursor::new(before), state }
    }

    /// The connection.
    pub fn wire(&mut self) -> &mut Wire {
        &mut self.wire
    }

    /// The connection, if this body was read to its end and nothing came after it.
    pub fn finish(self) -> Option<Wire> {
        let is_over = matches!(self.state, BodyState::Known(0) | BodyState::Over);
        let rest = self.before.get_ref().len() as u64 > self.before.position();
        (is_over && !rest).then_some(self.wire)
    }

    /// The whole body as text, with a maximum length.
    pub fn text(&mut self, limit: u64) -> io::Result<String> {
        let mut bytes = Vec::new();
        self.take(limit + 1).read_to_end(&mut bytes)?;
        if u64::try_from(bytes.len()).map_or(true, |length| length > limit) {
            return Err(bad("the body is too long"));
        }
        String::from_utf8(bytes).map_err(|_| bad("the body is not UTF-8"))
    }

    fn raw(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = match self.before.read(room)? {
            0 => self.wire.read(room)?,
            count => count,
        };
        if count == 0 && !room.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed"));
        }
        Ok(count)
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        let mut byte = [0];
        loop {
            self.raw(&mut byte)?;
            match byte {
                [b'\n'] => break,
                [other] => line.push(other),
            }
            if line.len() > LONGEST_LINE {
                return Err(bad("a chunk header is too long"));
            }
        }
        match line.pop() {
            Some(b'\r') => String::from_utf8(line).map_err(|_| bad("a chunk header is not UTF-8")),
            _ => Err(bad("a chunk header has a wrong line end")),
        }
    }

    fn next_piece(&mut self) -> io::Result<()> {
        let line = self.line()?;
        let digits = line.split(';').next().unwrap_or_default().trim_end();
        let fits =
            (1..=15).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let size = u64::from_str_radix(digits, 16).ok().filter(|_| fits);
        match size.ok_or_else(|| bad("a chunk has no length"))? {
            0 => {
                while !self.line()?.is_empty() {}
                self.state = BodyState::Over;
            }
            size => self.state = BodyState::Piece(size),
        }
        Ok(())
    }
}

impl Read for Body {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if let BodyState::Between = self.state {
            self.next_piece()?;
        }
        let (left, chunked) = match self.state {
            BodyState::Known(0) | BodyState::Over | BodyState::Between => return Ok(0),
            BodyState::Known(left) => (left, false),
            BodyState::Piece(left) => (left, true),
        };
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(room.len());
        let count = self.raw(room.get_mut(..wanted).unwrap_or_default())?;
        let left = left.saturating_sub(count as u64);
        self.state = match (chunked, left) {
            (false, left) => BodyState::Known(left),
            (true, 0) => {
                if !self.line()?.is_empty() {
                    return Err(bad("a chunk is longer than announced"));
                }
                BodyState::Between
            }
            (true, left) => BodyState::Piece(left),
        };
        Ok(count)
    }
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
