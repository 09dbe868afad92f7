//! `countersign hook`: the process that an agent starts before each call. It never exits with 1.

use std::io::{self, Write as _};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use countersign_gateways::hook::args::HookArgs;
use countersign_gateways::hook::local_decision::{LocalEngine, LocalGate};
use countersign_gateways::hook::{
    EXIT_DENIED, HookProcess, SessionPlace, Spool, drain, print_error, print_reply,
};

use super::args;
use crate::gate::args::Asker;
use crate::gate::reach;
use crate::undo::snapshots;

/// Runs the command. Only an answer can allow a call; every other exit denies it.
pub fn run(texts: &[String]) -> ExitCode {
    // A panic must not print to where the agent reads, nor exit with 101.
    std::panic::set_hook(Box::new(|_| {}));
    let code = catch_unwind(|| answer(texts)).unwrap_or_else(|_| {
        print_error("Countersign: the hook crashed, so this call was not run.");
        EXIT_DENIED
    });
    ExitCode::from(code)
}

fn answer(texts: &[String]) -> u8 {
    let args = match read(texts) {
        Ok(args) => args,
        Err(NotRun::Help(text)) => {
            let _ = io::stdout().write_all(text.as_bytes());
            return 0;
        }
        Err(NotRun::Invalid(why)) => {
            print_error(&format!("countersign hook: {why}"));
            return EXIT_DENIED;
        }
    };
    if args.host == "drain" {
        return send(args.spool, args.daemon_key.as_deref());
    }
    let args::Hook { host, agent, patience, daemon_key, spool } = args;
    let words = HookArgs { host, agent, patience, daemon_key };
    let (agent, name) = match words.agent() {
        Ok(agent) => agent,
        Err(host) => {
            print_error(&format!("countersign hook: unknown agent `{host}`; see --help"));
            return EXIT_DENIED;
        }
    };
    let spool = Spool::at(spool_folder(spool));
    let (place, engine) = (SessionPlace::of_process(agent), LocalEngine::FULL);
    let local = LocalGate { agent, name, spool, place, engine };
    let asker = Asker { daemon_key: words.daemon_key.clone(), ..Asker::default() };
    let daemon = Arc::new(move || reach::agent(&asker).map_err(|failure| failure.to_string()));
    let (patience, look, snapshots) = (words.patience(), reach::machine_look(), snapshots());
    let hook = HookProcess { local, patience, daemon, look, snapshots };
    print_reply(agent, &hook.answer(io::stdin()))
}

/// Why the arguments do not start a hook.
enum NotRun {
    Help(String),
    Invalid(String),
}

/// The arguments; without the full parser if they have the form that the installer writes.
fn read(texts: &[String]) -> Result<args::Hook, NotRun> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    if let Some(HookArgs { host, agent, patience, daemon_key }) = HookArgs::parse(&texts) {
        return Ok(args::Hook { host, agent, patience, daemon_key, spool: None });
    }
    args::Hook::try_parse_from(&texts).map_err(|error| {
        let text = error.render().to_string();
        match error.kind() {
            clap::error::ErrorKind::DisplayHelp => NotRun::Help(text),
            _ => NotRun::Invalid(text.lines().next().unwrap_or_default().to_owned()),
        }
    })
}

/// The folder of the queue of calls that passed without the daemon.
pub fn spool_folder(given: Option<PathBuf>) -> PathBuf {
    given.unwrap_or_else(reach::gateways_folder)
}

fn send(folder: Option<PathBuf>, daemon_key: Option<&Path>) -> u8 {
    let find = || {
        let daemon_key = daemon_key.map(Path::to_owned);
        reach::agent(&Asker { daemon_key, ..Asker::default() }).ok()
    };
    drain(&spool_folder(folder), find).map_or(EXIT_DENIED, |()| 0)
}

#[cfg(test)]
mod tests {
    use countersign_gateways::agents::{self, HookAnswer};

    use super::*;

    #[test]
    fn arguments_are_read_in_the_installed_form_and_in_any_other() {
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
    fn every_agent_gets_a_denial_with_a_reason_and_never_exit_code_one() {
        for agent in agents::AGENTS {
            let reply = (agent.hook.reply)(&HookAnswer::Denied("because".to_owned()));
            assert!(reply.out.contains("because"), "{}", agent.name);
            assert!(reply.code != 1, "{}", agent.name);
        }
    }
}
