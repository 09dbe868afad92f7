//! `countersign eval`: evaluates the rules on labelled calls and texts.

pub mod corpus;
mod evaluate;
pub mod expectation;
mod plot;
mod print;
mod report;
mod results;
mod tables;
mod tally;

use std::fs::File;
use std::io::{self, BufReader, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::args;
use crate::engine;
use crate::engine::thousands;
use crate::failure::Failure;
use crate::lines::{self, InputLine, LONGEST};
use crate::terminal::Paint;
use corpus::LabelledRow;
use results::Measured;
use tally::Tally;

/// How many misses of each sort a report lists at least.
const MISSES_IN_REPORT: usize = 10;

/// Runs the command.
pub fn run(args: &args::Eval) -> Result<ExitCode, Failure> {
    let files = corpus::files(&args.files)?;
    let mut rows_out = match &args.json {
        Some(path) => Some(create(path)?),
        None => None,
    };
    let room = if args.html.is_some() { args.misses.max(MISSES_IN_REPORT) } else { args.misses };
    let mut progress = Ticker::new();
    let mut measured = Measured { sources: Vec::new(), context: context(args) };
    for file in &files {
        let from = measured.sources.len();
        let mut reader = FileReader { args, file, room, progress: &mut progress };
        reader.read(&mut measured.sources, from, &mut rows_out)?;
    }
    progress.clear();
    if let Some(mut out) = rows_out {
        out.flush()?;
    }
    if let Some(path) = &args.html {
        let mut out = create(path)?;
        report::write(&mut out, &measured)?;
        out.flush()?;
    }
    let stdout = io::stdout();
    let paint = Paint::of(&stdout);
    let mut out = BufWriter::new(stdout.lock());
    print::print(&mut out, &measured, args.misses, paint)?;
    if let Some(path) = &args.html {
        writeln!(out, "\nreport: {}", path.display())?;
    }
    out.flush()?;
    let failed = args.check && !measured.all_met();
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn context(args: &args::Eval) -> String {
    match args.env {
        Some(environment) => {
            format!("Every row assessed as in {}.", format!("{environment:?}").to_lowercase())
        }
        None if args.neutral => "Neutral context: a workstation, no directory known.".to_owned(),
        None => "On a workstation; class container-build in a container, ci-step in CI.".to_owned(),
    }
}

fn create(path: &Path) -> Result<BufWriter<File>, Failure> {
    let place = path.display().to_string();
    File::create(path).map(BufWriter::new).map_err(|e| Failure::at(&place, e))
}

struct FileReader<'a> {
    args: &'a args::Eval,
    file: &'a Path,
    room: usize,
    progress: &'a mut Ticker,
}

impl FileReader<'_> {
    /// Reads a file row by row; the rows of one kind are one source.
    fn read(
        &mut self,
        sources: &mut Vec<Tally>,
        from: usize,
        rows_out: &mut Option<BufWriter<File>>,
    ) -> Result<(), Failure> {
        let name = self.file.display().to_string();
        let stem = self.file.file_stem().map_or(name.clone(), |s| s.to_string_lossy().into());
        let file = File::open(self.file).map_err(|e| Failure::at(&name, e))?;
        let mut input = BufReader::with_capacity(64 * 1024, file);
        let mut line = Vec::new();
        let mut number = 0;
        loop {
            number += 1;
            let place = || format!("{name}, line {number}");
            let next = lines::next(&mut input, &mut line, LONGEST);
            match next.map_err(|e| Failure::at(&place(), e))? {
                InputLine::End => return Ok(()),
                InputLine::TooLong => {
                    return Err(Failure::at(&place(), format!("longer than {LONGEST} bytes")));
                }
                InputLine::Line if line.iter().all(u8::is_ascii_whitespace) => continue,
                InputLine::Line => {}
            }
            let bad = |what: String| Failure::at(&place(), what);
            let text = lines::as_text(&line).map_err(bad)?;
            let value = engine::read_json(text).map_err(bad)?;
            let row = LabelledRow::read(&value).map_err(bad)?;
            let assessed = evaluate::evaluate(&row, number, self.args).map_err(bad)?;
            if let Some(out) = rows_out {
                serde_json::to_writer(&mut *out, &assessed.record(&stem, &row))?;
                out.write_all(b"\n")?;
            }
            let kind = evaluate::kind(&row);
            let known = sources.iter().skip(from).position(|s| s.kind == kind);
            let at = known.map_or(sources.len(), |at| from + at);
            if known.is_none() {
                sources.push(Tally::new(stem.clone(), kind, self.room));
            }
            if let Some(tally) = sources.get_mut(at) {
                assessed.count(&row, tally);
            }
            self.progress.tick(&stem, number);
        }
    }
}

/// One line of progress on standard error.
struct Ticker {
    shown: bool,
    on: bool,
    last: Instant,
}

impl Ticker {
    fn new() -> Ticker {
        Ticker { shown: false, on: io::stderr().is_terminal(), last: Instant::now() }
    }

    fn tick(&mut self, name: &str, line: u64) {
        if !self.on || !line.is_multiple_of(64) || self.last.elapsed() < Duration::from_millis(100)
        {
            return;
        }
        self.last = Instant::now();
        self.shown = true;
        let name = engine::sanitize(name, 60);
        // Progress that cannot be shown is not an error.
        let _ = write!(io::stderr(), "\r\x1b[K{name}: {} rows", thousands(line));
    }

    fn clear(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
