//! Reads lines, whole up to a size; longer lines are read in parts.

use std::io::{self, BufRead};

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub enum LineRead {
    /// A whole line, with its line end if it has one.
    Line,
    /// A part of a line that is too long; more of it follows.
    Part,
    /// The last part of such a line.
    LastPart,
    /// The input has ended.
    End,
}

/// Reads lines.
#[derive(Debug)]
pub struct LineReader<R> {
    source: R,
    limit: usize,
    in_parts: bool,
}

impl<R: BufRead> LineReader<R> {
    /// Lines of up to `limit` bytes are read whole.
    pub fn new(source: R, limit: usize) -> LineReader<R> {
        LineReader { source, limit, in_parts: false }
    }

    /// The next line, into `line`, which is emptied first.
    pub fn next(&mut self, line: &mut Vec<u8>) -> io::Result<LineRead> {
        line.clear();
        loop {
            let seen = match self.source.fill_buf() {
                Ok(seen) => seen,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if seen.is_empty() {
                let was_in_parts = std::mem::take(&mut self.in_parts);
                return Ok(match (line.is_empty(), was_in_parts) {
                    (true, _) => LineRead::End,
                    (false, false) => LineRead::Line,
                    (false, true) => LineRead::LastPart,
                });
            }
            let end = seen.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(seen.len(), |at| at + 1);
            line.extend_from_slice(seen.get(..taken).unwrap_or_default());
            self.source.consume(taken);
            match (end.is_some(), self.in_parts) {
                (true, false) if line.len() <= self.limit => return Ok(LineRead::Line),
                (true, _) => {
                    self.in_parts = false;
                    return Ok(LineRead::LastPart);
                }
                (false, _) if line.len() > self.limit => {
                    self.in_parts = true;
                    return Ok(LineRead::Part);
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
    fn every_byte_is_read_once_and_long_lines_are_marked() {
        let text = b"ab\n\n0123456789\nlast";
        for room in 1..20 {
            let source = io::BufReader::with_capacity(room, &text[..]);
            let mut lines = LineReader::new(source, 5);
            let (mut line, mut all, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
            loop {
                let read = lines.next(&mut line).unwrap();
                all.extend_from_slice(&line);
                if read == LineRead::End {
                    break;
                }
                kinds.push(read);
            }
            assert_eq!(all, text);
            assert_eq!(kinds.first(), Some(&LineRead::Line));
            assert_eq!(kinds.last(), Some(&LineRead::Line));
            assert_eq!(kinds.iter().filter(|kind| **kind == LineRead::LastPart).count(), 1);
        }
    }
}
