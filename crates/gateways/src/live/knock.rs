//! The cheap proof: the forbidden call, through the very command that stands in an agent's files.

use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::run::end_group;
use crate::agents::{Agent, Answer};
use crate::install::Ours;

/// The tool that every gate refuses without asking anybody. It does not exist.
pub const TOOL: &str = "countersign_proof_of_gate";

/// The longest answer that is read.
const LONGEST: u64 = 1 << 20;

/// What was found at a door.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "why", rename_all = "snake_case")]
pub enum Found {
    /// The forbidden call was refused, in these words.
    Shut(String),
    /// It would have run.
    Open(String),
    /// Nothing is known.
    NeverTested(String),
}

/// What an agent's hook is told of the forbidden call.
pub fn question(agent: &str) -> Value {
    let session = "countersign-doctor";
    match agent {
        "claude" | "codex" => json!({
            "hook_event_name": "PreToolUse", "session_id": session, "tool_name": TOOL,
            "tool_input": {},
        }),
        "gemini" => json!({
            "hook_event_name": "BeforeTool", "session_id": session, "tool_name": TOOL,
            "tool_input": {},
        }),
        "cursor" => json!({
            "hook_event_name": "preToolUse", "conversation_id": session, "tool_name": TOOL,
            "tool_input": {},
        }),
        "copilot" => json!({ "sessionId": session, "toolName": TOOL, "toolArgs": {} }),
        _ => json!({ "event": "before", "session": session, "tool": TOOL, "arguments": {} }),
    }
}

/// What an agent starts before each call, as it was written into its files.
pub fn command(agent: &str, written: &Ours) -> Command {
    if matches!(agent, "opencode" | "openclaw" | "hermes") {
        let mut command = Command::new(&written.program);
        command.args(["hook", "plugin", "--agent", agent]);
        return command;
    }
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &written.before(agent)]);
    command
}

/// Proposes the forbidden call and judges the answer as the host would.
pub fn knock(agent: &Agent, command: &mut Command, patience: Duration) -> Found {
    let text = question(agent.name).to_string();
    match run(command, text, patience) {
        Err(error) => Found::NeverTested(format!("its hook could not be started: {error}")),
        Ok(None) => {
            let seconds = patience.as_secs();
            Found::NeverTested(format!("its hook gave no answer within {seconds} s"))
        }
        Ok(Some(said)) => judged(agent, &said),
    }
}

/// What a program said, and how it ended.
#[derive(Debug)]
pub struct Said {
    /// Its exit code; none if it was killed.
    pub code: Option<i32>,
    /// On standard output.
    pub out: String,
    /// On standard error.
    pub err: String,
}

fn judged(agent: &Agent, said: &Said) -> Found {
    match said.code {
        Some(0) => match refusal(agent, &said.out) {
            Some(why) => Found::Shut(short(&why)),
            None => {
                Found::Open(format!("its hook did not refuse, but said `{}`", short(&said.out)))
            }
        },
        Some(2) if !said.err.trim().is_empty() => Found::Shut(short(&said.err)),
        Some(code) => Found::Open(format!("its hook ended with {code}, which is no refusal")),
        None => Found::Open("its hook was killed, which is no refusal".to_owned()),
    }
}

/// As much of a text as fits on a line or two.
pub fn short(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut letters = text.trim().chars();
    let begun: String = letters.by_ref().take(LONGEST).collect();
    if letters.next().is_some() { format!("{begun}…") } else { begun }
}

/// The reason of a refusal in the agent's own words; nothing if it is none.
fn refusal(agent: &Agent, out: &str) -> Option<String> {
    const WHY: &str = "<why>";
    let model: Value =
        serde_json::from_str(&(agent.reply)(&Answer::Denied(WHY.into())).out).ok()?;
    let got: Value = serde_json::from_str(out).ok()?;
    let mut why = None;
    is_like(&model, &got, WHY, &mut why).then_some(why).flatten()
}

/// Whether both say the same, where `any` stands for any words but none.
fn is_like(model: &Value, got: &Value, any: &str, words: &mut Option<String>) -> bool {
    match (model, got) {
        (Value::String(model), Value::String(got)) if model == any => {
            *words = Some(got.clone());
            !got.trim().is_empty()
        }
        (Value::Object(model), Value::Object(got)) => {
            model.len() == got.len()
                && model.iter().all(|(name, value)| {
                    got.get(name).is_some_and(|got| is_like(value, got, any, words))
                })
        }
        _ => model == got,
    }
}

/// Runs a program with something to read; nothing if it takes too long.
pub fn run(command: &mut Command, text: String, patience: Duration) -> io::Result<Option<Said>> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let id = child.id();
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (tell, told) = channel();
    thread::spawn(move || {
        // A hook that does not read its question says so by its answer.
        let _ = stdin.map(|mut pipe| pipe.write_all(text.as_bytes()));
        let errors = thread::spawn(move || read(stderr));
        let out = read(stdout);
        let err = errors.join().unwrap_or_default();
        let code = child.wait().ok().and_then(|status| status.code());
        let _ = tell.send(Said { code, out, err });
    });
    match told.recv_timeout(patience) {
        Ok(said) => Ok(Some(said)),
        Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("it was lost")),
        Err(RecvTimeoutError::Timeout) => {
            end_group(id);
            Ok(None)
        }
    }
}

fn read(pipe: Option<impl io::Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        let _ = pipe.take(LONGEST).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::{AGENTS, Heard};
    use countersign_json as core_json;

    #[test]
    fn every_agent_s_hook_understands_the_forbidden_call() {
        for agent in AGENTS {
            let text = question(agent.name).to_string();
            let value = core_json::parse(&text).unwrap();
            let Ok(Heard::Before(call)) = (agent.read)(&value) else { panic!("{}", agent.name) };
            assert_eq!(call.tool, TOOL, "{}", agent.name);
        }
    }

    fn found(agent: &Agent, script: &str) -> Found {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        knock(agent, &mut command, Duration::from_secs(2))
    }

    #[test]
    fn only_a_refusal_in_the_agent_s_own_words_is_a_shut_door() {
        for agent in AGENTS {
            let says = |answer: &Answer| {
                let reply = (agent.reply)(answer);
                found(agent, &format!("cat >/dev/null; printf %s '{}'", reply.out))
            };
            let no = says(&Answer::Denied("because".into()));
            assert_eq!(no, Found::Shut("because".into()), "{}", agent.name);
            for yes in [Answer::Pass, Answer::Approved { edited: None }, Answer::Denied(" ".into())]
            {
                assert!(matches!(says(&yes), Found::Open(_)), "{}: {yes:?}", agent.name);
            }
            assert_eq!(found(agent, "echo no >&2; exit 2"), Found::Shut("no".into()));
            for open in ["exit 0", "exit 1", "exit 2", "kill -9 $$", "echo denied", "echo '{}'"] {
                assert!(matches!(found(agent, open), Found::Open(_)), "{}: {open}", agent.name);
            }
            let silent = found(agent, "sleep 20");
            assert!(matches!(silent, Found::NeverTested(_)), "{silent:?}");
        }
    }
}
