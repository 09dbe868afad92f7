//! Scheduled gate tests while the daemon runs: `countersign doctor`, with a time limit.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use countersign_daemon::proof::{Alarm, GateReport, GateState, ProofResult};
use countersign_gateways::live::probe::{run_with_input, shorten};
use serde::Deserialize;
use tokio::sync::oneshot;

/// The first test runs when everything that starts with the daemon has started.
const FIRST: Duration = Duration::from_mins(1);
/// Long enough for many slow gates.
const PATIENCE: Duration = Duration::from_mins(3);

/// Tests the gates until the daemon stops.
pub async fn run(alarm: Alarm, every: Duration) {
    if env::var_os("HOME").is_none() {
        // A user without a home folder has no agents, which is no reason for an alarm.
        tracing::info!("HOME is not set: gates are not tested");
        return;
    }
    tokio::time::sleep(FIRST.min(every)).await;
    loop {
        if alarm.is_enforced() {
            // In a thread that the daemon does not wait for when it stops.
            let (tell, told) = oneshot::channel();
            thread::spawn(move || drop(tell.send(round(doctor(), PATIENCE))));
            let lost = |_| Err("the test crashed".to_owned());
            alarm.take(told.await.unwrap_or_else(lost)).await;
        }
        tokio::time::sleep(every).await;
    }
}

/// This program, which may have been replaced by a newer version since it was started.
fn doctor() -> Result<Command, String> {
    let this = env::current_exe().map_err(|error| error.to_string())?;
    let whole = this.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map(PathBuf::from);
    let mut command = Command::new(whole.unwrap_or(this));
    command.args(["doctor", "--gates", "--json"]);
    // A folder in which no agent can leave code that would be loaded.
    command.current_dir("/").env_remove("COUNTERSIGN_TOKEN");
    Ok(command)
}

/// The output of `doctor --gates --json`.
#[derive(Deserialize)]
struct DoctorReport {
    checks: Vec<Check>,
}

#[derive(Deserialize)]
struct Check {
    mark: String,
    say: String,
    gate: Option<String>,
    state: Option<GateState>,
}

/// One test run. Output that cannot be read counts as a failed test.
fn round(command: Result<Command, String>, patience: Duration) -> ProofResult {
    let output = match run_with_input(&mut command?, String::new(), patience) {
        Ok(Some(output)) => output,
        Ok(None) => return Err(format!("there was no answer within {} s", patience.as_secs())),
        Err(error) => return Err(error.to_string()),
    };
    // An exit code of 1 means that a check failed, which is a valid report.
    if !matches!(output.code, Some(0 | 1)) {
        let ended =
            output.code.map_or("was killed".to_owned(), |code| format!("exited with {code}"));
        return Err(format!("the test {ended}: {}", shorten(&output.err)));
    }
    let report: DoctorReport = serde_json::from_str(&output.out)
        .map_err(|error| format!("the test's output cannot be read: {error}"))?;
    let mut gates = Vec::new();
    for check in report.checks {
        match (check.gate, check.state) {
            (Some(name), Some(state)) => {
                let why = reason(&name, &check.say);
                gates.push(GateReport { name, state, why });
            }
            // A failed check without a gate: a gate may be missing in the report.
            _ if check.mark == "bad" => return Err(check.say.trim_end_matches('.').to_owned()),
            _ => {}
        }
    }
    Ok(gates)
}

/// The reason, without the name and the state in front of it.
fn reason(name: &str, say: &str) -> String {
    let rest = say.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(say);
    let states = ["NOT PROTECTED: ", "not protected: ", "not tested: "];
    states.iter().find_map(|state| rest.strip_prefix(state)).unwrap_or(rest).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_script(script: &str) -> ProofResult {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        round(Ok(command), Duration::from_secs(1))
    }

    #[test]
    fn gates_are_read_and_other_output_is_a_failed_test() {
        let says = |checks: &str, code: u8| {
            run_script(&format!(
                "printf %s '{{\"level\":null,\"checks\":[{checks}]}}'; exit {code}"
            ))
        };
        let bad = r#"{"mark":"bad","say":"Some agent: NOT PROTECTED: it ran.","gate":"Some agent",
            "state":"unprotected"}"#;
        let note = r#"{"mark":"note","say":"x","do":"y"}"#;
        let (name, why) = ("Some agent".to_owned(), "it ran.".to_owned());
        let gates = vec![GateReport { name, state: GateState::Unprotected, why }];
        assert_eq!(says(&format!("{bad},{note}"), 1), Ok(gates));
        assert_eq!(says("", 0), Ok(Vec::new()));
        let broken = r#"{"mark":"bad","say":"No gate was tested."}"#;
        assert_eq!(says(broken, 1), Err("No gate was tested".to_owned()));
        for odd in
            [says(note, 2), run_script("exit 0"), run_script("echo '{}'"), run_script("kill -9 $$")]
        {
            assert!(odd.is_err(), "{odd:?}");
        }
        let strange = r#"{"mark":"ok","say":"x","gate":"a","state":"ajar"}"#;
        assert!(says(strange, 0).is_err());
    }

    #[test]
    fn a_test_that_hangs_fails() {
        assert_eq!(run_script("sleep 30"), Err("there was no answer within 1 s".to_owned()));
        assert!(round(Err("gone".to_owned()), PATIENCE).is_err());
        assert!(round(Ok(Command::new("/no/such/program")), PATIENCE).is_err());
    }
}
