//! The binary `countersign-hook`: `countersign hook` for calls that only read, in a small program.
//!
//! Agents start it before each call, so its start time is the cost of each call. It replaces itself
//! with the `countersign` next to it for every call that needs the daemon.

use std::env;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, exit};
use std::time::{Duration, Instant};

use countersign_daemon::config::Paths;
use countersign_daemon::config::paths::ProcessEnvironment;
use countersign_gateways::hook::args::HookArgs;
use countersign_gateways::hook::local_decision::{LocalEngine, LocalGate, LocalOutcome};
use countersign_gateways::hook::{
    EXIT_DENIED, SessionPlace, Spool, forward, print_error, print_reply,
};
use countersign_gateways::programs::asking_program;

/// Only an answer can allow a call; every other exit denies it.
fn main() -> ExitCode {
    // A panic must not print to where the agent reads, and agents run a call whose hook exits with
    // 101 or by a signal. Exiting here also works where a panic aborts.
    std::panic::set_hook(Box::new(|_| {
        print_error("Countersign: the hook crashed, so this call was not run.");
        exit(i32::from(EXIT_DENIED));
    }));
    ExitCode::from(answer())
}

fn answer() -> u8 {
    let texts: Option<Vec<String>> = env::args_os().skip(1).map(|w| w.into_string().ok()).collect();
    let Some(texts) = texts else {
        print_error("countersign-hook: an argument is not UTF-8");
        return EXIT_DENIED;
    };
    let words: Vec<&str> = texts.iter().map(String::as_str).collect();
    if words.first() != Some(&"hook") {
        print_error("countersign-hook is started by agents; see countersign hook --help");
        return EXIT_DENIED;
    }
    let args = HookArgs::parse(&words).and_then(|args| Some((args.agent().ok()?, args)));
    // The large program answers requests for help and invalid arguments.
    let Some(((agent, name), args)) = args else {
        print_error(&format!(
            "Countersign: {}, so nothing was run.",
            replace_process(&words, None)
        ));
        return EXIT_DENIED;
    };
    let folder = Paths::from_environment(&ProcessEnvironment).gateways();
    let place = SessionPlace::of_process(agent);
    let (spool, engine) = (Spool::at(folder.clone()), LocalEngine::BASIC);
    let local = LocalGate { agent, name, spool, place, engine };
    let (started, patience) = (Instant::now(), args.patience());
    match local.decide(io::stdin(), patience) {
        LocalOutcome::Answered(reply) => print_reply(agent, &reply),
        LocalOutcome::NeedsDaemon(input) => {
            let spent = Duration::from_secs(started.elapsed().as_secs());
            let words = args.with_patience(patience.saturating_sub(spent));
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let why = replace_process(&words, Some((&input, &folder)));
            print_reply(agent, &local.without_daemon(&input, &why))
        }
    }
}

/// Replaces this process with the program that can ask, with the agent's input and a private
/// folder. Returns only if that fails, with the reason.
fn replace_process(words: &[&str], input: Option<(&[u8], &Path)>) -> String {
    let error = match command(words, input) {
        Ok(mut command) => command.exec(),
        Err(error) => error,
    };
    format!("`countersign` could not be started: {error}")
}

fn command(words: &[&str], input: Option<(&[u8], &Path)>) -> io::Result<Command> {
    let mut command = Command::new(asking_program()?);
    command.args(words);
    if let Some((bytes, private)) = input {
        command.stdin(forward::as_stdin(bytes, private)?);
    }
    Ok(command)
}
