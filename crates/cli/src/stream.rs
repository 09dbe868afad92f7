//! Batches: one JSON value a line in, one JSON record a line out, in order, at once.

use std::io::{self, BufReader, BufWriter, Read, Write};

use serde::Serialize;

use crate::core_api::{self, Value};
use crate::failure::Failure;
use crate::lines::{self, LONGEST, Next};

#[derive(Serialize)]
struct BadLine<'a> {
    error: &'a str,
    line: u64,
}

/// One batch line, read.
pub struct Item<'a> {
    /// The line as it came.
    pub raw: &'a str,
    /// What it says.
    pub value: Value<'a>,
}

/// Answers every line of `input` with one line of `output`; a bad line does not end the run.
///
/// Whoever writes line by line is answered line by line: the output is flushed whenever no
/// further whole line is waiting.
pub fn answer_each(
    input: impl Read,
    output: impl Write,
    mut answer: impl FnMut(Item<'_>, &mut dyn Write) -> Result<(), Answered>,
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
            Next::End => break,
            Next::TooLong => Err(Answered::Bad(format!("longer than {LONGEST} bytes"))),
            Next::Line => answer_line(&line, &mut output, &mut answer),
        };
        match answered {
            Ok(()) => output.write_all(b"\n")?,
            Err(Answered::Bad(error)) => {
                serde_json::to_writer(&mut output, &BadLine { error: &error, line: number })?;
                output.write_all(b"\n")?;
            }
            Err(Answered::Gone(failure)) => return Err(failure),
        }
        if !input.buffer().contains(&b'\n') {
            output.flush()?;
        }
    }
    Ok(output.flush()?)
}

/// Why a line got no record.
pub enum Answered {
    /// The line is bad; the run goes on.
    Bad(String),
    /// The output cannot be written.
    Gone(Failure),
}

impl From<String> for Answered {
    fn from(error: String) -> Answered {
        Answered::Bad(error)
    }
}

impl From<serde_json::Error> for Answered {
    fn from(error: serde_json::Error) -> Answered {
        Answered::Gone(Failure::from(error))
    }
}

fn answer_line(
    line: &[u8],
    output: &mut impl Write,
    answer: &mut impl FnMut(Item<'_>, &mut dyn Write) -> Result<(), Answered>,
) -> Result<(), Answered> {
    let raw = lines::as_text(line)?;
    if raw.trim().is_empty() {
        return Err(Answered::Bad("empty line".to_owned()));
    }
    let value = core_api::read_json(raw)?;
    answer(Item { raw, value }, output)
}

/// Standard input, for a batch; says so if a person sits at a terminal and may wait for us.
pub fn standard_input(hint: &str) -> io::StdinLock<'static> {
    use std::io::IsTerminal as _;
    let stdin = io::stdin();
    if stdin.is_terminal() {
        // A hint that cannot be written is no reason to stop.
        let _ = writeln!(io::stderr(), "reading {hint}, one JSON value a line; end with Ctrl-D");
    }
    stdin.lock()
}
