//! The proof of gate, again and again while the daemon runs: `countersign doctor`, bounded.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use countersign_daemon::proof::{AgentGate, Alarm, GateState, ProofResult};
use countersign_gateways::live::knock::{self, short};
use serde::Deserialize;
use tokio::sync::oneshot;

/// The first proof comes when everything that starts with the daemon has started.
const FIRST: Duration = Duration::from_mins(1);
/// Many doors that are all slow.
const PATIENCE: Duration = Duration::from_mins(3);

/// Tries the doors until the daemon stops.
pub async fn run(alarm: Alarm, every: Duration) {
    if env::var_os("HOME").is_none() {
        // A user without a home has no agents: that is no reason for an alarm.
        tracing::info!("there is no home folder here: no agent's gate is tried");
        return;
    }
    tokio::time::sleep(FIRST.min(every)).await;
    loop {
        if alarm.is_enforced() {
            // A thread of its own, which nobody waits for when the daemon stops.
            let (tell, told) = oneshot::channel();
            thread::spawn(move || drop(tell.send(round(doctor(), PATIENCE))));
            let lost = |_| Err("the test was lost".to_owned());
            alarm.take(told.await.unwrap_or_else(lost)).await;
        }
        tokio::time::sleep(every).await;
    }
}

/// This very program, which may have been replaced by a newer one since it was started.
fn doctor() -> Result<Command, String> {
    let this = env::current_exe().map_err(|error| error.to_string())?;
    let whole = this.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map(PathBuf::from);
    let mut command = Command::new(whole.unwrap_or(this));
    command.args(["doctor", "--doors", "--json"]);
    // A folder in which no agent can leave code for us to find.
    command.current_dir("/").env_remove("COUNTERSIGN_TOKEN");
    Ok(command)
}

/// What `doctor --doors --json` says.
#[derive(Deserialize)]
struct Told {
    checks: Vec<Check>,
}

#[derive(Deserialize)]
struct Check {
    mark: String,
    say: String,
    door: Option<String>,
    state: Option<GateState>,
}

/// One proof. Whatever is not understood is said to be none.
fn round(command: Result<Command, String>, patience: Duration) -> ProofResult {
    let said = match knock::run(&mut command?, String::new(), patience) {
        Ok(Some(said)) => said,
        Ok(None) => return Err(format!("no answer came within {} s", patience.as_secs())),
        Err(error) => return Err(error.to_string()),
    };
    // 1 is "something is wrong", which is what we want to hear of.
    if !matches!(said.code, Some(0 | 1)) {
        let ended = said.code.map_or("was killed".to_owned(), |code| format!("ended with {code}"));
        return Err(format!("the test {ended}: {}", short(&said.err)));
    }
    let told: Told = serde_json::from_str(&said.out)
        .map_err(|error| format!("the test's answer cannot be read: {error}"))?;
    let mut doors = Vec::new();
    for check in told.checks {
        match (check.door, check.state) {
            (Some(name), Some(state)) => {
                let why = seen(&name, &check.say);
                doors.push(AgentGate { name, state, why });
            }
            // Something that belongs to no door went wrong: what is missing may be a door.
            _ if check.mark == "bad" => return Err(check.say.trim_end_matches('.').to_owned()),
            _ => {}
        }
    }
    Ok(doors)
}

/// What was seen, without the name and the state in front of it.
fn seen(name: &str, say: &str) -> String {
    let rest = say.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(say);
    let states = ["OPEN: ", "open: ", "never tested: "];
    states.iter().find_map(|state| rest.strip_prefix(state)).unwrap_or(rest).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(script: &str) -> ProofResult {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        round(Ok(command), Duration::from_secs(1))
    }

    #[test]
    fn doors_are_read_and_everything_else_is_no_proof() {
        let says = |checks: &str, code: u8| {
            told(&format!("printf %s '{{\"level\":null,\"checks\":[{checks}]}}'; exit {code}"))
        };
        let open = r#"{"mark":"bad","say":"Codex: OPEN: it ran.","door":"Codex","state":"open"}"#;
        let note = r#"{"mark":"note","say":"x","do":"y"}"#;
        let (name, why) = ("Codex".to_owned(), "it ran.".to_owned());
        let doors = vec![AgentGate { name, state: GateState::NotProtected, why }];
        assert_eq!(says(&format!("{open},{note}"), 1), Ok(doors));
        assert_eq!(says("", 0), Ok(Vec::new()));
        let broken = r#"{"mark":"bad","say":"No door was tried."}"#;
        assert_eq!(says(broken, 1), Err("No door was tried".to_owned()));
        for odd in [says(note, 2), told("exit 0"), told("echo '{}'"), told("kill -9 $$")] {
            assert!(odd.is_err(), "{odd:?}");
        }
        let strange = r#"{"mark":"ok","say":"x","door":"a","state":"ajar"}"#;
        assert!(says(strange, 0).is_err());
    }

    #[test]
    fn a_test_that_hangs_is_said_to_hang() {
        assert_eq!(told("sleep 30"), Err("no answer came within 1 s".to_owned()));
        assert!(round(Err("gone".to_owned()), PATIENCE).is_err());
        assert!(round(Ok(Command::new("/no/such/program")), PATIENCE).is_err());
    }
}
