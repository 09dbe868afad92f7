//! Lines as they come, whole up to a size; what is longer comes in pieces.

use std::io::{self, BufRead};

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub enum Read {
    /// A whole line, with its end if it has one.
    Line,
    /// A piece of a line that is too long; more of it follows.
    Piece,
    /// The last piece of such a line.
    LastPiece,
    /// There is no more.
    End,
}

/// Reads lines.
#[derive(Debug)]
pub struct Lines<R> {
    source: R,
    limit: usize,
    in_pieces: bool,
}

impl<R: BufRead> Lines<R> {
    /// Up to this many bytes a line.
    pub fn new(source: R, limit: usize) -> Lines<R> {
        Lines { source, limit, in_pieces: false }
    }

    /// The next line, into `line`, which is emptied first.
    pub fn next(&mut self, line: &mut Vec<u8>) -> io::Result<Read> {
        line.clear();
        loop {
            let seen = match self.source.fill_buf() {
                Ok(seen) => seen,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if seen.is_empty() {
                let was_in_pieces = std::mem::take(&mut self.in_pieces);
                return Ok(match (line.is_empty(), was_in_pieces) {
                    (true, _) => Read::End,
                    (false, false) => Read::Line,
                    (false, true) => Read::LastPiece,
                });
            }
            let end = seen.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(seen.len(), |at| at + 1);
            line.extend_from_slice(seen.get(..taken).unwrap_or_default());
            self.source.consume(taken);
            match (end.is_some(), self.in_pieces) {
                (true, false) if line.len() <= self.limit => return Ok(Read::Line),
                (true, _) => {
                    self.in_pieces = false;
                    return Ok(Read::LastPiece);
                }
                (false, _) if line.len() > self.limit => {
                    self.in_pieces = true;
                    return Ok(Read::Piece);
                }
                (false, _) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_out_again_and_long_lines_are_marked() {
        let text = b"ab\n\n0123456789\nlast";
        for room in 1..20 {
            let source = io::BufReader::with_capacity(room, &text[..]);
            let mut lines = Lines::new(source, 5);
            let (mut line, mut all, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
            loop {
                let read = lines.next(&mut line).unwrap();
                all.extend_from_slice(&line);
                if read == Read::End {
                    break;
                }
                kinds.push(read);
            }
            assert_eq!(all, text);
            assert_eq!(kinds.first(), Some(&Read::Line));
            assert_eq!(kinds.last(), Some(&Read::Line));
            assert_eq!(kinds.iter().filter(|kind| **kind == Read::LastPiece).count(), 1);
        }
    }
}
