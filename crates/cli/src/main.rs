//! The binary `countersign`: parse, call, print, exit.

mod args;
mod assess;
mod call_context;
mod call_view;
mod card;
mod diff_view;
mod engine;
mod eval;
mod facts;
mod failure;
mod gate;
mod gateway;
mod helplines;
mod hook_program;
mod import;
mod inbox;
mod input;
mod judge;
mod lines;
mod plan;
mod policy;
mod recorded;
mod replay;
mod rollout;
mod rules;
mod screen;
mod segments;
mod serve;
mod service;
mod stream;
mod terminal;
mod undo;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use failure::Failure;

fn main() -> ExitCode {
    match run(std::env::args_os().skip(1)) {
        Ok(code) => code,
        Err(failure) => {
            if let Failure::Input(_) = failure {
                // If standard error is closed, there is no way to report the error.
                let _ = writeln!(io::stderr(), "countersign: {failure}");
            }
            failure.exit_code()
        }
    }
}

fn run(words: impl Iterator<Item = OsString>) -> Result<ExitCode, Failure> {
    let mut texts = Vec::new();
    for (at, word) in words.enumerate() {
        let text = word
            .into_string()
            .map_err(|_| Failure::Input(format!("argument {} is not UTF-8", at + 1)))?;
        texts.push(text);
    }
    // Only the parser of the named command is built: the gate starts before every call.
    match texts.first().map(String::as_str) {
        Some("assess") if is_plain(&texts) => {
            let command = texts.pop();
            assess::run(&args::Assess { command, ..args::Assess::default() })
        }
        Some("hook") => Ok(gateway::hook::run(&texts)),
        Some("assess") => with(&texts, |args| assess::run(&args)),
        Some("screen") => with(&texts, |args| screen::run(&args)),
        Some("helplines") => with(&texts, |args| helplines::run(&args)),
        Some("plan") => with(&texts, |args| plan::run(&args)),
        Some("rules") => with(&texts, |args| rules::run(&args)),
        Some("eval") => with(&texts, |args| eval::run(&args)),
        Some("import") => with(&texts, |args| import::run(&args)),
        Some("replay") => with(&texts, |args| replay::run(&args)),
        Some("rollout") => with(&texts, |args| rollout::run(&args)),
        None => gate::status::run(),
        Some(name) => with_the_gate(name, &texts),
    }
}

/// The commands that talk to the daemon, or are the daemon.
fn with_the_gate(name: &str, texts: &[String]) -> Result<ExitCode, Failure> {
    match name {
        "serve" => with(texts, |args| serve::run(&args)),
        "service" => with(texts, |args| service::run(&args)),
        "install" => with(texts, |args| gateway::install::install(&args)),
        "uninstall" => with(texts, |args| gateway::install::uninstall(&args)),
        "status" => with(texts, |args| gateway::status::status(&args)),
        "ask" => with(texts, |args| gate::ask::run(&args)),
        "cancel" => with(texts, |args| gate::ask::cancel(&args)),
        "inbox" => with(texts, |args| inbox::run(&args)),
        "pending" => with(texts, |args| gate::show::pending(&args)),
        "show" => with(texts, |args| gate::show::show(&args)),
        "approve" => with(texts, |args| gate::decide::approve(&args)),
        "deny" => with(texts, |args| gate::decide::deny(&args)),
        "watch" => with(texts, |args| gate::watch::run(&args)),
        "history" => with(texts, |args| gate::show::history(&args)),
        "stats" => with(texts, |args| gate::stats::stats(&args)),
        "login" => with(texts, |args| gate::login::run(&args)),
        "logout" => with(texts, |args| gate::login::logout(&args)),
        "people" => with(texts, |args| gate::people::people(&args)),
        "agents" => with(texts, |args| gate::people::agents(&args)),
        "grants" => with(texts, |args| gate::grants::run(&args)),
        "reviews" => with(texts, |args| gate::reviews::run(&args)),
        "feedback" => with(texts, |args| gate::reviews::feedback(&args)),
        "servers" => with(texts, |args| gate::servers::run(&args)),
        "crises" => with(texts, |args| gate::crises::run(&args)),
        "freeze" => with(texts, |args| gate::freeze::freeze(&args)),
        "thaw" => with(texts, |args| gate::freeze::thaw(&args)),
        "channel" => with(texts, |args| gate::channel::run(&args)),
        "ledger" => with(texts, |args| gate::ledger::run(&args)),
        "keys" => with(texts, |args| gate::keys::run(&args)),
        "permit" => with(texts, |args| gate::permit::run(&args)),
        "config" => with(texts, |args| gate::config::run(&args)),
        "doctor" => with(texts, |args| gate::doctor::run(&args)),
        "undo" => with(texts, |args| undo::run(&args)),
        "judge" => with(texts, |args| judge::run(&args)),
        "policy" => with(texts, |args| policy::run(&args)),
        "mcp" => with(texts, |args| gateway::mcp::run(&args)),
        "a2a" => with(texts, |args| gateway::a2a::run(&args)),
        "pki" => with(texts, |args| gateway::pki::run(&args)),
        _ => anything_else(texts),
    }
}

/// Only `assess 'command'`: no flags, so no parser is built.
fn is_plain(texts: &[String]) -> bool {
    matches!(texts, [_, command] if !command.starts_with('-'))
}

fn with<A: Parser>(
    texts: &[String],
    command: impl FnOnce(A) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    match A::try_parse_from(texts) {
        Ok(args) => command(args),
        Err(error) => explain(&error),
    }
}

/// Help, version, and unknown commands.
fn anything_else(texts: &[String]) -> Result<ExitCode, Failure> {
    let words = std::iter::once("countersign").chain(texts.iter().map(String::as_str));
    match args::Top::try_parse_from(words) {
        Ok(_) => gate::status::run(),
        Err(error) => explain(&error),
    }
}

/// Help goes to standard output in full; an error becomes one line.
fn explain(error: &clap::Error) -> Result<ExitCode, Failure> {
    let text = error.render().to_string();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        io::stdout().lock().write_all(text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let what = text.split("\n\nUsage:").next().unwrap_or_default();
    let what = what.strip_prefix("error: ").unwrap_or(what).trim();
    let parts =
        what.split("\n\n").map(|part| part.lines().map(str::trim).collect::<Vec<_>>().join(" "));
    let what = parts.collect::<Vec<_>>().join("; ");
    Err(Failure::Input(format!("{what} (see --help)")))
}
