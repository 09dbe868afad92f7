//! The cheap test: the forbidden call, through the command that is in an agent's files.

use std::process::Command;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::agents::{AgentDescriptor, HookAnswer};
use crate::install::HookCommand;

pub use super::process::{ProgramOutput, find_program, run_with_input, shorten};

/// The tool that every gate refuses without asking anyone. It does not exist.
pub const FORBIDDEN_TOOL: &str = "countersign_proof_of_gate";

/// The session of the forbidden call.
const SESSION: &str = "countersign-doctor";

/// The result of a test of one gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "why", rename_all = "snake_case")]
pub enum ProbeResult {
    /// The forbidden call was refused, with this message.
    Protected(String),
    /// The forbidden call would have run.
    Unprotected(String),
    /// The test itself failed.
    Untested(String),
}

/// The command that an agent starts before each call, as it was written into its files.
pub fn command(agent: &AgentDescriptor, written: &HookCommand) -> Command {
    if agent.plugin.is_some() {
        let mut command = Command::new(&written.program);
        command.args(["hook", "plugin", "--agent", agent.name]);
        return command;
    }
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &written.gate(agent.name)]);
    command
}

/// Proposes the forbidden call and interprets the answer as the agent would.
pub fn probe(agent: &AgentDescriptor, command: &mut Command, patience: Duration) -> ProbeResult {
    let text = (agent.hook.announce)(FORBIDDEN_TOOL, SESSION).to_string();
    match run_with_input(command, text, patience) {
        Err(error) => ProbeResult::Untested(format!("its hook could not be started: {error}")),
        Ok(None) => {
            let seconds = patience.as_secs();
            ProbeResult::Untested(format!("its hook did not answer within {seconds} s"))
        }
        Ok(Some(output)) => interpret(agent, &output),
    }
}

fn interpret(agent: &AgentDescriptor, output: &ProgramOutput) -> ProbeResult {
    match output.code {
        Some(0) => refusal(agent, &output.out).map_or_else(
            || {
                let out = shorten(&output.out);
                ProbeResult::Unprotected(format!("its hook answered `{out}` and did not refuse"))
            },
            |why| ProbeResult::Protected(shorten(&why)),
        ),
        Some(2) if !output.err.trim().is_empty() => ProbeResult::Protected(shorten(&output.err)),
        Some(code) => ProbeResult::Unprotected(format!(
            "its hook exited with {code}, which does not refuse the call"
        )),
        None => ProbeResult::Unprotected(
            "its hook was killed, which does not refuse the call".to_owned(),
        ),
    }
}

/// The reason of a refusal in the agent's own format; `None` if it is not a refusal.
fn refusal(agent: &AgentDescriptor, out: &str) -> Option<String> {
    const ANY: &str = "<why>";
    let model = (agent.hook.reply)(&HookAnswer::Denied(ANY.into())).out;
    let model: Value = serde_json::from_str(&model).ok()?;
    let got: Value = serde_json::from_str(out).ok()?;
    let mut why = None;
    matches_model(&model, &got, ANY, &mut why).then_some(why).flatten()
}

/// Whether two values are equal, where the text `any` in the model matches any text but a blank.
fn matches_model(model: &Value, got: &Value, any: &str, text: &mut Option<String>) -> bool {
    match (model, got) {
        (Value::String(model), Value::String(got)) if model == any => {
            *text = Some(got.clone());
            !got.trim().is_empty()
        }
        (Value::Object(model), Value::Object(got)) => {
            model.len() == got.len()
                && model.iter().all(|(name, value)| {
                    got.get(name).is_some_and(|got| matches_model(value, got, any, text))
                })
        }
        _ => model == got,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::{AGENTS, HookEvent};

    #[test]
    fn every_agent_s_hook_parses_the_forbidden_call() {
        for agent in AGENTS {
            let text = (agent.hook.announce)(FORBIDDEN_TOOL, SESSION).to_string();
            let value = countersign_json::parse(&text).unwrap();
            let event = (agent.hook.parse)(&value);
            let Ok(HookEvent::Before(call)) = event else { panic!("{}", agent.name) };
            assert_eq!(call.tool, FORBIDDEN_TOOL, "{}", agent.name);
        }
    }

    fn probed(agent: &AgentDescriptor, script: &str) -> ProbeResult {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        probe(agent, &mut command, Duration::from_secs(2))
    }

    #[test]
    fn only_a_refusal_in_the_agent_s_own_format_means_protected() {
        for agent in AGENTS {
            let answers = |answer: &HookAnswer| {
                let reply = (agent.hook.reply)(answer);
                probed(agent, &format!("cat >/dev/null; printf %s '{}'", reply.out))
            };
            let denial = answers(&HookAnswer::Denied("because".into()));
            assert_eq!(denial, ProbeResult::Protected("because".into()), "{}", agent.name);
            for allowed in [
                HookAnswer::Pass,
                HookAnswer::Approved { edited: None },
                HookAnswer::Denied(" ".into()),
            ] {
                let result = answers(&allowed);
                assert!(
                    matches!(result, ProbeResult::Unprotected(_)),
                    "{}: {allowed:?}",
                    agent.name
                );
            }
            let exit = probed(agent, "echo no >&2; exit 2");
            assert_eq!(exit, ProbeResult::Protected("no".into()));
            for script in ["exit 0", "exit 1", "exit 2", "kill -9 $$", "echo denied", "echo '{}'"] {
                let result = probed(agent, script);
                assert!(matches!(result, ProbeResult::Unprotected(_)), "{}: {script}", agent.name);
            }
            let silent = probed(agent, "sleep 20");
            assert!(matches!(silent, ProbeResult::Untested(_)), "{silent:?}");
        }
    }
}
