//! `countersign hook`: the process that an agent runs before each call. It never ends with 1.

use std::io::{self, Write as _};
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use countersign_gateways::hook::alone::{Alone, Words};
use countersign_gateways::hook::{BLOCKS, Hook, Spool, drain, say, tell};

use super::args;
use crate::gate::args::Asker;
use crate::gate::reach;

/// Runs the command. There is no way out of here that a host takes for "go on" but an answer.
pub fn run(texts: &[String]) -> ExitCode {
    // A panic must not print to where the host reads, nor end with 101.
    std::panic::set_hook(Box::new(|_| {}));
    let code = catch_unwind(|| answer(texts)).unwrap_or_else(|_| {
        tell("Countersign: the hook broke, so this call was not run.");
        BLOCKS
    });
    ExitCode::from(code)
}

fn answer(texts: &[String]) -> u8 {
    let args = match read(texts) {
        Ok(args) => args,
        Err(Asked::Help(text)) => {
            let _ = io::stdout().write_all(text.as_bytes());
            return 0;
        }
        Err(Asked::Wrong(why)) => {
            tell(&format!("countersign hook: {why}"));
            return BLOCKS;
        }
    };
    if args.host == "drain" {
        return send(args.spool);
    }
    let words = Words { host: args.host, agent: args.agent, patience: args.patience };
    let (agent, name) = match words.whose() {
        Ok(whose) => whose,
        Err(host) => {
            tell(&format!("countersign hook: no agent is called `{host}` (see --help)"));
            return BLOCKS;
        }
    };
    let alone = Alone { agent, name, spool: Spool::at(spool_folder(args.spool)) };
    let daemon =
        Arc::new(|| reach::agent(&Asker::default()).map_err(|failure| failure.to_string()));
    let hook = Hook { alone, patience: words.patience(), daemon };
    say(agent, &hook.answer(io::stdin()))
}

enum Asked {
    Help(String),
    Wrong(String),
}

/// The flags; without a parser where they are as the installer writes them.
fn read(texts: &[String]) -> Result<args::Hook, Asked> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    if let Some(Words { host, agent, patience }) = Words::read(&texts) {
        return Ok(args::Hook { host, agent, patience, spool: None });
    }
    args::Hook::try_parse_from(&texts).map_err(|error| {
        let text = error.render().to_string();
        match error.kind() {
            clap::error::ErrorKind::DisplayHelp => Asked::Help(text),
            _ => Asked::Wrong(text.lines().next().unwrap_or_default().to_owned()),
        }
    })
}

/// Where calls wait that passed without the daemon.
pub fn spool_folder(given: Option<PathBuf>) -> PathBuf {
    given.unwrap_or_else(reach::gateways_folder)
}

fn send(folder: Option<PathBuf>) -> u8 {
    match reach::agent(&Asker::default()) {
        Ok(daemon) => drain(&spool_folder(folder), &daemon).map_or(BLOCKS, |()| 0),
        Err(_) => BLOCKS,
    }
}

#[cfg(test)]
mod tests {
    use countersign_gateways::agents::{self, Answer};

    use super::*;

    #[test]
    fn what_the_installer_writes_is_read_without_a_parser_and_the_rest_with_one() {
        let read = |line: &str| {
            let words: Vec<String> = line.split(' ').map(ToOwned::to_owned).collect();
            read(&words).ok().map(|found| (found.host, found.agent, found.patience))
        };
        let claude = Some(("claude".to_owned(), None, Some(570)));
        assert_eq!(read("hook claude --patience 570"), claude);
        assert_eq!(read("hook --patience 570 claude"), claude);
        let plugin = ("plugin".to_owned(), Some("hermes".to_owned()), None);
        assert_eq!(read("hook plugin --agent hermes"), Some(plugin));
        assert_eq!(read("hook"), None);
        assert_eq!(read("hook claude --patience soon"), None);
    }

    #[test]
    fn every_agent_gets_a_no_that_is_not_empty_and_never_a_one() {
        for agent in agents::AGENTS {
            let reply = (agent.reply)(&Answer::Denied("because".to_owned()));
            assert!(reply.out.contains("because"), "{}", agent.name);
            assert!(reply.code != 1, "{}", agent.name);
        }
    }
}
