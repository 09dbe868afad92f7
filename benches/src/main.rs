//! Speed of the assessment compared with yardsticks, in one run. Prints figures, asserts nothing.

mod call;
mod cold;
mod commands;
mod corpus;
mod crisis;
mod gate;
mod hostile;
mod ledger;
mod measure;
mod redact;
mod store;
mod yardstick;

use std::process::ExitCode;

const USAGE: &str = "\
benches [WHAT…] [--corpus FILE.jsonl] [--rounds N] [--repeat N] [--family TEXT]

WHAT       commands, calls, redact, crisis, hostile, ledger, store, gate, cold; all by default.
           For callgrind: `count` assesses every command --repeat times and prints nothing,
           `size` prints how many commands there are.
--corpus   JSONL with a field `command` instead of the rules' own examples
--rounds   how often each command is measured (9), rounds of ledger records are written (99), or
           processes are started (300)
--repeat   passes over the corpus of `count` (1)
--family   only the hostile families whose names hold this text";

/// What was asked for.
struct Options {
    what: Vec<String>,
    corpus: Option<String>,
    rounds: Option<usize>,
    repeat: usize,
    family: String,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let options = options()?;
    let corpus = corpus::commands(options.corpus.as_deref())?;
    if options.what.iter().any(|w| w == "count") {
        commands::count(&corpus, options.repeat);
        return Ok(());
    }
    if options.what.iter().any(|w| w == "size") {
        println!("{}", corpus.len());
        return Ok(());
    }
    let wanted = |name: &str| options.what.is_empty() || options.what.iter().any(|w| w == name);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load average {}", load.trim());
    if wanted("commands") {
        commands::agent_run(&corpus, options.rounds.unwrap_or(9));
    }
    if wanted("calls") {
        call::agent_run(&corpus, options.rounds.unwrap_or(9));
    }
    if wanted("redact") {
        redact::agent_run(&corpus, options.rounds.unwrap_or(9));
    }
    if wanted("crisis") {
        crisis::agent_run(options.rounds.unwrap_or(9));
    }
    if wanted("hostile") {
        hostile::agent_run(&options.family);
    }
    if wanted("ledger") {
        ledger::agent_run(options.rounds.unwrap_or(99));
    }
    if wanted("store") {
        store::agent_run(options.rounds.unwrap_or(3))?;
    }
    if wanted("gate") {
        gate::agent_run(options.rounds.unwrap_or(5))?;
    }
    if wanted("cold") {
        cold::agent_run(options.rounds.unwrap_or(300))?;
    }
    Ok(())
}

fn options() -> Result<Options, String> {
    let mut options =
        Options { what: Vec::new(), corpus: None, rounds: None, repeat: 1, family: String::new() };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value\n\n{USAGE}"));
        match arg.as_str() {
            "--corpus" => options.corpus = Some(value()?),
            "--rounds" => options.rounds = Some(number(&value()?)?),
            "--family" => options.family = value()?,
            "--repeat" => options.repeat = number(&value()?)?,
            "commands" | "calls" | "redact" | "hostile" | "ledger" | "store" | "gate" | "cold"
            | "count" | "size" => options.what.push(arg),
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok(options)
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number\n\n{USAGE}"))
}
