//! Lines from a stream, each bounded in length, not assumed to be text.

use std::io::{self, BufRead};

/// The longest line that is read.
pub const LONGEST: usize = 1024 * 1024;

/// The result of a read.
#[derive(Debug, PartialEq, Eq)]
pub enum InputLine {
    /// A line, without its end.
    Line,
    /// A line longer than the limit; it was skipped.
    TooLong,
    /// The end of the stream.
    End,
}

/// Reads the next line into `line`, keeping at most `limit` bytes in memory.
pub fn next(input: &mut impl BufRead, line: &mut Vec<u8>, limit: usize) -> io::Result<InputLine> {
    line.clear();
    let mut too_long = false;
    let mut any = false;
    loop {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if chunk.is_empty() {
            let end = if any { InputLine::Line } else { InputLine::End };
            return Ok(if too_long { InputLine::TooLong } else { end });
        }
        any = true;
        let end = chunk.iter().position(|&b| b == b'\n');
        let piece = end.and_then(|n| chunk.get(..n)).unwrap_or(chunk);
        too_long |= line.len().saturating_add(piece.len()) > limit;
        if too_long {
            line.clear();
        } else {
            line.extend_from_slice(piece);
        }
        let used = end.map_or(chunk.len(), |n| n + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(if too_long { InputLine::TooLong } else { InputLine::Line });
        }
    }
}

/// The line as text, or where it stops being text.
pub fn as_text(line: &[u8]) -> Result<&str, String> {
    if let Some(at) = line.iter().position(|&b| b == 0) {
        return Err(format!("NUL byte at byte {at}"));
    }
    std::str::from_utf8(line).map_err(|e| format!("not UTF-8 at byte {}", e.valid_up_to()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_the_rest_is_still_read() {
        let long = "x".repeat(50);
        let text = format!("one\n{long}\n\nlast");
        let mut input = io::BufReader::with_capacity(7, text.as_bytes());
        let mut line = Vec::new();
        let mut seen = Vec::new();
        loop {
            match next(&mut input, &mut line, 10).unwrap() {
                InputLine::End => break,
                InputLine::TooLong => seen.push("(too long)".to_owned()),
                InputLine::Line => seen.push(String::from_utf8(line.clone()).unwrap()),
            }
        }
        assert_eq!(seen, ["one", "(too long)", "", "last"]);
    }

    #[test]
    fn what_is_not_text_is_refused_with_its_place() {
        assert_eq!(as_text(b"ab\xff"), Err("not UTF-8 at byte 2".to_owned()));
        assert_eq!(as_text(b"a\0b"), Err("NUL byte at byte 1".to_owned()));
        assert_eq!(as_text("é".as_bytes()), Ok("é"));
    }
}
