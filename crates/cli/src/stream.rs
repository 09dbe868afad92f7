//! Batches: one JSON value per input line, one JSON record per output line, in order, immediately.

use std::io::{self, BufReader, BufWriter, Read, Write};

use serde::Serialize;

use crate::engine::{self, Value};
use crate::failure::Failure;
use crate::lines::{self, InputLine, LONGEST};

#[derive(Serialize)]
struct BadLine<'a> {
    error: &'a str,
    line: u64,
}

/// One line of a batch.
pub struct BatchLine<'a> {
    /// The line as received.
    pub raw: &'a str,
    /// Its value.
    pub value: Value<'a>,
}

/// Writes one line of `output` for every line of `input`; an invalid line does not end the run.
///
/// The output is flushed whenever no further complete line is available, so that a caller who
/// writes line by line gets each answer immediately.
pub fn answer_each(
    input: impl Read,
    output: impl Write,
    mut answer: impl FnMut(BatchLine<'_>, &mut dyn Write) -> Result<(), LineError>,
) -> Result<(), Failure> {
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let mut output = BufWriter::with_capacity(64 * 1024, output);
    let mut line = Vec::new();
    let mut number = 0_u64;
    loop {
        number += 1;
        let next = match lines::next(&mut input, &mut line, LONGEST) {
            Ok(next) => next,
            Err(error) => {
                output.flush()?;
                return Err(Failure::at(&format!("standard input, line {number}"), error));
            }
        };
        let answered = match next {
            InputLine::End => break,
            InputLine::TooLong => Err(LineError::Bad(format!("longer than {LONGEST} bytes"))),
            InputLine::Line => answer_line(&line, &mut output, &mut answer),
        };
        match answered {
            Ok(()) => output.write_all(b"\n")?,
            Err(LineError::Bad(error)) => {
                serde_json::to_writer(&mut output, &BadLine { error: &error, line: number })?;
                output.write_all(b"\n")?;
            }
            Err(LineError::Gone(failure)) => return Err(failure),
        }
        if !input.buffer().contains(&b'\n') {
            output.flush()?;
        }
    }
    Ok(output.flush()?)
}

/// Why a line has no record.
pub enum LineError {
    /// The line is invalid; the run continues.
    Bad(String),
    /// The output cannot be written.
    Gone(Failure),
}

impl From<String> for LineError {
    fn from(error: String) -> LineError {
        LineError::Bad(error)
    }
}

impl From<serde_json::Error> for LineError {
    fn from(error: serde_json::Error) -> LineError {
        LineError::Gone(Failure::from(error))
    }
}

fn answer_line(
    line: &[u8],
    output: &mut impl Write,
    answer: &mut impl FnMut(BatchLine<'_>, &mut dyn Write) -> Result<(), LineError>,
) -> Result<(), LineError> {
    let raw = lines::as_text(line)?;
    if raw.trim().is_empty() {
        return Err(LineError::Bad("empty line".to_owned()));
    }
    let value = engine::read_json(raw)?;
    answer(BatchLine { raw, value }, output)
}

/// Standard input for a batch; prints a hint if it is a terminal.
pub fn standard_input(hint: &str) -> io::StdinLock<'static> {
    use std::io::IsTerminal as _;
    let stdin = io::stdin();
    if stdin.is_terminal() {
        // A hint that cannot be written is not an error.
        let _ = writeln!(
            io::stderr(),
            "reading {hint} from the terminal, one JSON value per line; end with Ctrl-D"
        );
    }
    stdin.lock()
}
