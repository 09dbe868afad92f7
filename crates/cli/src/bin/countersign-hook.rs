//! The binary `countersign-hook`: `countersign hook` for calls that only read, in a small program.
//!
//! Agents start it before each call, so its start is what each call costs. Whatever it cannot
//! answer alone it hands, as it came, to the `countersign` beside it, whose answer it becomes.

use std::env;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::panic::catch_unwind;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use countersign_daemon::config::Paths;
use countersign_daemon::config::paths::ProcessEnvironment;
use countersign_gateways::hook::alone::{Alone, First, Words, asking_program};
use countersign_gateways::hook::{BLOCKS, Spool, forward, say, tell};

/// There is no way out of here that a host takes for "go on" but an answer.
fn main() -> ExitCode {
    // A panic must not print to where the host reads, nor end with 101.
    std::panic::set_hook(Box::new(|_| {}));
    let code = catch_unwind(answer).unwrap_or_else(|_| {
        tell("Countersign: the hook broke, so this call was not run.");
        BLOCKS
    });
    ExitCode::from(code)
}

fn answer() -> u8 {
    let texts: Option<Vec<String>> = env::args_os().skip(1).map(|w| w.into_string().ok()).collect();
    let Some(texts) = texts else {
        tell("countersign-hook: an argument is not UTF-8");
        return BLOCKS;
    };
    let words: Vec<&str> = texts.iter().map(String::as_str).collect();
    if words.first() != Some(&"hook") {
        tell("countersign-hook is started by agents; see countersign hook --help");
        return BLOCKS;
    }
    let plain = Words::read(&words).and_then(|plain| Some((plain.whose().ok()?, plain)));
    // Help, mistakes and everything unusual are for the program that has words for them.
    let Some(((agent, name), plain)) = plain else {
        tell(&format!("Countersign: {}, so nothing was run.", become_asker(&words, None)));
        return BLOCKS;
    };
    let folder = Paths::from_environment(&ProcessEnvironment).gateways();
    let alone = Alone { agent, name, spool: Spool::at(folder.clone()) };
    let (begun, patience) = (Instant::now(), plain.patience());
    match alone.first(io::stdin(), patience) {
        First::Said(reply) => say(agent, &reply),
        First::NotAlone(heard) => {
            let spent = Duration::from_secs(begun.elapsed().as_secs());
            let words = plain.written(patience.saturating_sub(spent));
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let why = become_asker(&words, Some((&heard, &folder)));
            say(agent, &alone.last_word(&heard, &why))
        }
    }
}

/// Becomes the program that can ask, with the host's input and a private folder. Comes back only
/// where that is impossible, and says why.
fn become_asker(words: &[&str], heard: Option<(&[u8], &Path)>) -> String {
    let error = match ready(words, heard) {
        Ok(mut command) => command.exec(),
        Err(error) => error,
    };
    format!("`countersign` could not be started: {error}")
}

fn ready(words: &[&str], heard: Option<(&[u8], &Path)>) -> io::Result<Command> {
    let mut command = Command::new(asking_program()?);
    command.args(words);
    if let Some((bytes, private)) = heard {
        command.stdin(forward::as_stdin(bytes, private)?);
    }
    Ok(command)
}
