//! The body of an answer: exactly as long as it said, or an error.

use std::io::{self, Read};

use crate::http::{Length, Wire};

/// The longest line between two pieces.
const LONGEST_LINE: usize = 1024;

/// A body that is still to be read.
pub struct Body {
    wire: Wire,
    /// What came with the head.
    before: io::Cursor<Vec<u8>>,
    state: State,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// So many bytes to come.
    Known(u64),
    /// So many bytes to come in this piece.
    Piece(u64),
    /// The length of the next piece comes next.
    Between,
    Over,
}

impl Body {
    pub fn new(wire: Wire, before: Vec<u8>, length: Length) -> Body {
        let state = match length {
            Length::Known(length) => State::Known(length),
            Length::Chunked => State::Between,
        };
        Body { wire, before: io::Cursor::new(before), state }
    }

    /// The connection below.
    pub fn wire(&mut self) -> &mut Wire {
        &mut self.wire
    }

    /// All of it as text, at most so much.
    pub fn text(&mut self, most: u64) -> io::Result<String> {
        let mut bytes = Vec::new();
        self.take(most + 1).read_to_end(&mut bytes)?;
        if u64::try_from(bytes.len()).map_or(true, |length| length > most) {
            return Err(bad("it is too long"));
        }
        String::from_utf8(bytes).map_err(|_| bad("it is no text"))
    }

    fn raw(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = match self.before.read(room)? {
            0 => self.wire.read(room)?,
            count => count,
        };
        if count == 0 && !room.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it broke off"));
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
                return Err(bad("a line in it is too long"));
            }
        }
        match line.pop() {
            Some(b'\r') => String::from_utf8(line).map_err(|_| bad("a line in it is no text")),
            _ => Err(bad("a line in it ends wrongly")),
        }
    }

    fn next_piece(&mut self) -> io::Result<()> {
        let line = self.line()?;
        let digits = line.split(';').next().unwrap_or_default().trim_end();
        let fits =
            (1..=15).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let size = u64::from_str_radix(digits, 16).ok().filter(|_| fits);
        match size.ok_or_else(|| bad("a piece of it has no length"))? {
            0 => {
                while !self.line()?.is_empty() {}
                self.state = State::Over;
            }
            size => self.state = State::Piece(size),
        }
        Ok(())
    }
}

impl Read for Body {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if let State::Between = self.state {
            self.next_piece()?;
        }
        let (left, chunked) = match self.state {
            State::Known(0) | State::Over | State::Between => return Ok(0),
            State::Known(left) => (left, false),
            State::Piece(left) => (left, true),
        };
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(room.len());
        let count = self.raw(room.get_mut(..most).unwrap_or_default())?;
        let left = left.saturating_sub(count as u64);
        self.state = match (chunked, left) {
            (false, left) => State::Known(left),
            (true, 0) => {
                if !self.line()?.is_empty() {
                    return Err(bad("a piece of it is longer than it said"));
                }
                State::Between
            }
            (true, left) => State::Piece(left),
        };
        Ok(count)
    }
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
