//! `countersign serve`: starts the daemon, prints its addresses, and stops it cleanly.

mod notice;
mod proof;

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::time::Duration;

use countersign_daemon::Daemon;
use countersign_daemon::config::DaemonConfig;
use countersign_types::time::Millis;
use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;
use crate::gate;
use crate::gate::args_serve::Serve;

/// Runs the daemon until it is told to stop.
pub fn run(args: &Serve) -> Result<ExitCode, Failure> {
    let paths = gate::paths(args.config.as_deref(), args.state.as_deref())?;
    let mut config =
        DaemonConfig::load(&paths).map_err(|error| Failure::Input(error.to_string()))?;
    apply(args, &mut config)?;
    config.create_owner = may_print_passphrase(args);
    let every = config.test_gates_every.map(|every| Duration::from_millis(every.0));
    if !countersign_daemon::log::start(&config.log) {
        return Err(Failure::at("log", "logging is already set up"));
    }
    keep_memory_private();
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let facts = notice::Facts::of(&config);
        // Before the listeners open: an early signal must not be lost.
        let mut stop = Stop::listen()?;
        let mut daemon =
            Daemon::open(config, paths).await.map_err(|error| Failure::Input(error.to_string()))?;
        let nobody = !daemon.has_people();
        if nobody {
            tracing::warn!("no person can approve calls: {}", notice::FIRST_PERSON);
        }
        notice::tell(&daemon.notice(), &facts, nobody, args.json)?;
        let reloader = daemon.reloader();
        let mut again = signal(SignalKind::hangup())?;
        let reloads = tokio::spawn(async move {
            while again.recv().await.is_some() {
                reloader.reload().await;
            }
        });
        let proofs = every.map(|every| tokio::spawn(proof::run(daemon.alarm(), every)));
        let stopped = daemon
            .serve(async move {
                stop.first().await;
                tracing::info!("stopping; a second signal stops immediately");
                tokio::spawn(async move {
                    stop.first().await;
                    std::process::exit(1);
                });
            })
            .await;
        reloads.abort();
        if let Some(proofs) = proofs {
            proofs.abort();
        }
        stopped.map_err(|error| Failure::Input(format!("stopped, but {error}")))
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Applies the options of the command line to the configuration.
fn apply(args: &Serve, config: &mut DaemonConfig) -> Result<(), Failure> {
    let address = |name: &str, given: &str| {
        given.parse().map_err(|_| Failure::at(name, "use an address such as 127.0.0.1:6000"))
    };
    if let Some(given) = &args.agents {
        config.agents = address("--agents", given)?;
    }
    if let Some(given) = &args.people {
        config.people = address("--people", given)?;
    }
    if let Some(level) = &args.log {
        config.log = config.log.at(level).map_err(|error| Failure::at("--log", error))?;
    }
    config.test_gates_every =
        args.prove_every.map(Millis::from_seconds).or(config.test_gates_every);
    Ok(())
}

/// Whether the first passphrase may be printed: on a terminal, or where a program asked for it.
/// Never into the journal, which other users and services read.
fn may_print_passphrase(args: &Serve) -> bool {
    io::stdout().is_terminal() || args.print_passphrase && !is_journal(&io::stdout())
}

/// Whether systemd connected this output to its journal. The variable alone is also set for
/// programs that were started from a desktop session.
fn is_journal(output: &impl std::os::fd::AsFd) -> bool {
    let Some(journal) = std::env::var_os("JOURNAL_STREAM") else { return false };
    rustix::fs::fstat(output)
        .is_ok_and(|found| *journal == *format!("{}:{}", found.st_dev, found.st_ino))
}

/// SIGTERM and Ctrl-C.
struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    fn listen() -> Result<Stop, Failure> {
        Ok(Stop {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn first(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Keys and passphrases must not end up in a core file, nor be readable by a debugger of the same
/// user.
fn keep_memory_private() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    if setrlimit(Resource::Core, none).is_err() {
        tracing::warn!("cannot disable core dumps");
    }
    close_to_debuggers();
}

#[cfg(target_os = "linux")]
fn close_to_debuggers() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    if set_dumpable_behavior(DumpableBehavior::NotDumpable).is_err() {
        tracing::warn!("cannot protect the memory from debuggers");
    }
}

/// macOS requires an entitlement before one process may read another's memory.
#[cfg(not(target_os = "linux"))]
fn close_to_debuggers() {}
