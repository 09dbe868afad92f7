//! The recorded fixture of each agent: its hook's input, the expected answers, sample settings.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::{AGENTS, AgentDescriptor, HookAnswer, HookEvent, ProposedCall};

/// The file `fixtures/agents/NAME.json`.
#[derive(Deserialize)]
pub struct Fixture {
    events: Events,
    answers: Answers,
    /// Settings of people, to which the gate can be added.
    pub settings: Vec<String>,
    /// Settings that the installer must not change.
    pub invalid_settings: Vec<String>,
}

/// What the agent sends, recorded with `cargo test -p proofs --test agents record`. `COMMAND`
/// stands for a shell command, `s` for the session and `/srv` for the folder.
#[derive(Deserialize)]
struct Events {
    before: Value,
    after: Value,
    after_failed: Value,
    /// Some plugins send no messages.
    message: Option<Value>,
    /// The version that `before` says, if this agent says one there.
    version: Option<String>,
}

/// What the agent is answered.
#[derive(Deserialize)]
struct Answers {
    pass: Value,
    approved: Value,
    edited: Value,
    denied: Value,
    noted: Value,
}

/// The fixture of an agent.
pub fn fixture(agent: &AgentDescriptor) -> Fixture {
    let name = format!("fixtures/agents/{}.json", agent.name);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn parse(agent: &AgentDescriptor, event: &Value) -> HookEvent {
    let text = event.to_string();
    let value = countersign_json::parse(&text).unwrap();
    (agent.hook.parse)(&value).unwrap_or_else(|error| panic!("{}: {error}", agent.name))
}

#[test]
fn every_recorded_event_is_parsed() {
    for agent in AGENTS {
        let events = fixture(agent).events;
        let check = |call: &ProposedCall| {
            let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
            assert_eq!(arguments["command"], "COMMAND", "{}", agent.name);
            assert_eq!(call.session.as_deref(), Some("s"), "{}", agent.name);
            assert_eq!(call.cwd.as_deref(), Some("/srv"), "{}", agent.name);
        };
        match parse(agent, &events.before) {
            HookEvent::Before(call) => {
                check(&call);
                assert_eq!(call.host_version, events.version, "{}", agent.name);
            }
            other => panic!("{}: {other:?}", agent.name),
        }
        for (event, failed) in [(&events.after, false), (&events.after_failed, true)] {
            match parse(agent, event) {
                HookEvent::After(done) => {
                    check(&done.call);
                    assert_eq!(done.failed, failed, "{}", agent.name);
                }
                other => panic!("{}: {other:?}", agent.name),
            }
        }
        match events.message.map(|message| parse(agent, &message)) {
            Some(HookEvent::Message { text, session }) => {
                assert_eq!(text, "Do what has to be done.", "{}", agent.name);
                assert_eq!(session.as_deref(), Some("s"), "{}", agent.name);
            }
            None => assert!(agent.plugin.is_some(), "{}", agent.name),
            other => panic!("{}: {other:?}", agent.name),
        }
    }
}

#[test]
fn every_answer_has_the_recorded_format() {
    for agent in AGENTS {
        let answers = fixture(agent).answers;
        let edited = Some(r#"{"command":"ls"}"#.to_owned());
        for (answer, expected) in [
            (HookAnswer::Pass, answers.pass),
            (HookAnswer::Approved { edited: None }, answers.approved),
            (HookAnswer::Approved { edited }, answers.edited),
            (HookAnswer::Denied("No.".to_owned()), answers.denied),
            (HookAnswer::Noted, answers.noted),
        ] {
            let reply = (agent.hook.reply)(&answer);
            let got: Value = serde_json::from_str(&reply.out).unwrap();
            assert_eq!(got, expected, "{}: {answer:?}", agent.name);
            assert_eq!((reply.err.as_str(), reply.code), ("", 0), "{}", agent.name);
        }
    }
}

/// An edit that is not an object, and an answer for several calls, must be denied everywhere.
#[test]
fn an_answer_that_does_not_fit_is_a_denial() {
    for agent in AGENTS {
        let denied = (agent.hook.reply)(&HookAnswer::Denied("x".to_owned())).out;
        let denied: Value = serde_json::from_str(&denied).unwrap();
        let keys =
            |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
        let edited = Some("rm".to_owned());
        let reply = (agent.hook.reply)(&HookAnswer::Approved { edited }).out;
        assert_eq!(keys(&serde_json::from_str(&reply).unwrap()), keys(&denied), "{}", agent.name);
        assert!(reply.contains("deny") && !reply.contains("allow"), "{}: {reply}", agent.name);
    }
}

#[test]
fn the_hook_knows_whether_a_plugin_starts_it() {
    for agent in AGENTS {
        assert_eq!(agent.runs_in_plugin, agent.plugin.is_some(), "{}", agent.name);
    }
}

#[test]
fn names_are_unique() {
    let all = AGENTS
        .iter()
        .flat_map(|agent| [agent.name].into_iter().chain(agent.aliases.iter().copied()));
    let mut names: Vec<&str> = all.collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "{names:?}");
    let mut clients: Vec<&str> = super::mcp_clients().map(|client| client.name).collect();
    let count = clients.len();
    clients.sort_unstable();
    clients.dedup();
    assert_eq!(clients.len(), count, "{clients:?}");
}
