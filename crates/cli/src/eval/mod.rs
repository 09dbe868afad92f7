//! `countersign eval`: the judgement measured on labelled calls and texts.

mod corpus;
mod judge;
mod owed;
mod plot;
mod print;
mod report;
mod tables;
mod tally;

use std::fs::File;
use std::io::{self, BufReader, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::args;
use crate::core_api;
use crate::core_api::thousands;
use crate::failure::Failure;
use crate::lines::{self, LONGEST, Next};
use crate::terminal::Paint;
use corpus::Row;
use owed::Bar;
use tally::{Kind, Shares, Tally, Times};

/// How many misses of each sort a report lists at least.
const MISSES_IN_REPORT: usize = 10;

/// Everything measured in one run.
pub struct Measured {
    /// By source, in the order read.
    pub sources: Vec<Tally>,
    /// How the rows were judged, in words.
    pub context: String,
}

impl Measured {
    /// The sources of one kind.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &Tally> {
        self.sources.iter().filter(move |s| s.kind == kind)
    }

    /// All shares of one kind together.
    pub fn shares(&self, kind: Kind) -> Shares {
        let mut all = Shares::default();
        self.of(kind).for_each(|source| all.add(&source.shares));
        all
    }

    /// All times of one kind together.
    pub fn times(&self, kind: Kind) -> Option<Times> {
        let mut sources = self.of(kind);
        let mut all = sources.next()?.times.clone();
        sources.for_each(|source| all.merge(&source.times));
        Some(all)
    }

    /// Whether every bar is met, overall and in every source.
    pub fn all_met(&self) -> bool {
        let overall = [Kind::Commands, Kind::ToolCalls, Kind::Texts].into_iter().all(|kind| {
            let shares = self.shares(kind);
            Bar::ALL.into_iter().all(|bar| {
                let wanted = bar.wanted_overall(kind == Kind::ToolCalls);
                wanted.is_none_or(|wanted| shares.of(bar).reaches(wanted))
            })
        });
        let each = self.sources.iter().all(|source| {
            Bar::ALL
                .into_iter()
                .all(|bar| bar.wanted().is_none_or(|wanted| source.shares.of(bar).reaches(wanted)))
        });
        overall && each
    }
}

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
            format!("Every row judged as in {}.", format!("{environment:?}").to_lowercase())
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
    /// Reads a file row by row; one kind of rows is one source.
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
                Next::End => return Ok(()),
                Next::TooLong => {
                    return Err(Failure::at(&place(), format!("longer than {LONGEST} bytes")));
                }
                Next::Line if line.iter().all(u8::is_ascii_whitespace) => continue,
                Next::Line => {}
            }
            let bad = |what: String| Failure::at(&place(), what);
            let text = lines::as_text(&line).map_err(bad)?;
            let value = core_api::read_json(text).map_err(bad)?;
            let row = Row::read(&value).map_err(bad)?;
            let judged = judge::judge(&row, number, self.args).map_err(bad)?;
            if let Some(out) = rows_out {
                serde_json::to_writer(&mut *out, &judged.record(&stem, &row))?;
                out.write_all(b"\n")?;
            }
            let kind = judge::kind(&row);
            let known = sources.iter().skip(from).position(|s| s.kind == kind);
            let at = known.map_or(sources.len(), |at| from + at);
            if known.is_none() {
                sources.push(Tally::new(stem.clone(), kind, self.room));
            }
            if let Some(tally) = sources.get_mut(at) {
                judged.count(&row, tally);
            }
            self.progress.tick(&stem, number);
        }
    }
}

/// One line on standard error that says how far we are.
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
        let name = core_api::show(name, 60);
        // Progress that cannot be shown is no reason to stop.
        let _ = write!(io::stderr(), "\r\x1b[K{name}: {} rows", thousands(line));
    }

    fn clear(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
