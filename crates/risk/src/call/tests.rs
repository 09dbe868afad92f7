//! Which objects are calls, and that no command gets lost on the way.

use super::*;
use crate::context::{Environment, Platform};
use countersign_json::parse;

fn said(text: &str) -> String {
    Call::from_json(&parse(text).unwrap()).unwrap_err().to_string()
}

fn arguments(text: &str) -> String {
    Call::from_json(&parse(text).unwrap()).unwrap().arguments.to_json()
}

#[test]
fn a_command_alone_is_a_shell_call() {
    let value = parse(r#"{"command":"ls \"a\"","id":7,"timeout":30}"#).unwrap();
    let call = Call::from_json(&value).unwrap();
    assert_eq!(call.tool, "shell");
    assert_eq!(call.arguments.get("command").and_then(Value::as_str), Some("ls \"a\""));
    assert!(call.agent.is_none() && call.claimed.is_none() && call.context.cwd.is_none());
    assert_eq!(arguments(r#"{"command":["ls","-l"]}"#), r#"{"command":["ls","-l"]}"#);
    assert_eq!(arguments(r#"{"command":""}"#), r#"{"command":""}"#);
}

#[test]
fn reads_every_field() {
    let value = parse(
        r#"{"tool":"fs__write","arguments":{"p":1},"agent":"a","session":"s","platform":"Discord",
        "cwd":"C:\\w\u00e9","environment":"production","risk_level":"LOW","claimed":"high",
        "annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":null,
        "openWorldHint":true,"title":"T"}}"#,
    )
    .unwrap();
    let call = Call::from_json(&value).unwrap();
    assert_eq!(call.tool, "fs__write");
    assert_eq!((call.agent.as_deref(), call.session.as_deref()), (Some("a"), Some("s")));
    assert_eq!(call.context.cwd, Some("C:\\wé"));
    assert_eq!(call.context.platform, Platform::Discord);
    assert_eq!(call.context.environment, Environment::Production);
    assert_eq!(call.claimed, Some(Tier::High));
    let hints = call.annotations;
    assert_eq!((hints.read_only, hints.destructive), (Some(false), Some(true)));
    assert_eq!((hints.idempotent, hints.open_world), (None, Some(true)));
}

#[test]
fn null_is_absent() {
    let text = r#"{"command":"ls","tool":null,"arguments":null,"agent":null,"cwd":null,"env":null,
        "annotations":null,"risk_level":null,"platform":null}"#;
    let value = parse(text).unwrap();
    let call = Call::from_json(&value).unwrap();
    assert_eq!((call.tool.as_ref(), call.context.platform), ("shell", Platform::Cli));
}

#[test]
fn a_command_is_never_lost() {
    assert_eq!(arguments(r#"{"tool":"bash","command":"x"}"#), r#"{"command":"x"}"#);
    assert_eq!(
        arguments(r#"{"tool":"bash","command":"x","arguments":{"a":1}}"#),
        r#"{"a":1,"command":"x"}"#
    );
    assert_eq!(arguments(r#"{"command":"x","arguments":{"command":"x"}}"#), r#"{"command":"x"}"#);
    assert_eq!(
        said(r#"{"tool":"bash","command":"rm -rf /","arguments":{"command":"ls"}}"#),
        "command and arguments.command do not say the same"
    );
}

#[test]
fn arguments_in_a_string_are_read_as_strictly() {
    assert_eq!(
        arguments(r#"{"tool":"t","arguments":"{\"path\": \"a\\nb\", \"n\":1.50}"}"#),
        r#"{"path":"a\nb","n":1.50}"#
    );
    assert_eq!(arguments(r#"{"tool":"t","arguments":""}"#), "{}");
    assert_eq!(
        said(r#"{"tool":"t","arguments":"{\"a\":1,\"\\u0061\":2}"}"#),
        "arguments: duplicate key \"a\" at byte 7 (line 1, column 8)"
    );
    assert!(said(r#"{"tool":"t","arguments":"rm -rf /"}"#).starts_with("arguments: found 'r'"));
    assert_eq!(
        said(r#"{"tool":"t","arguments":"[1]"}"#),
        "arguments is an array, wanted an object"
    );
}

#[test]
fn what_is_wrong_is_named() {
    for (text, words) in [
        ("[]", "call is an array, wanted an object"),
        ("{}", "call has neither command nor tool"),
        (r#"{"arguments":{"command":"x"}}"#, "call has neither command nor tool"),
        (r#"{"tool":""}"#, "tool is empty, wanted a name"),
        (r#"{"tool":1}"#, "tool is a number, wanted a string"),
        (r#"{"command":1}"#, "command is a number, wanted a string or an array of strings"),
        (r#"{"command":["a",1]}"#, "command is an array, wanted a string or an array of strings"),
        (r#"{"tool":"t","arguments":[1]}"#, "arguments is an array, wanted an object"),
        (r#"{"command":"x","agent":{}}"#, "agent is an object, wanted a string"),
        (r#"{"command":"x","session":5}"#, "session is a number, wanted a string"),
        (r#"{"command":"x","cwd":true}"#, "cwd is a boolean, wanted a string"),
        (r#"{"command":"x","platform":[]}"#, "platform is an array, wanted a string"),
        (r#"{"command":"x","env":{}}"#, "env is an object, wanted a string"),
        (
            r#"{"command":"x","environment":"moon\u001b"}"#,
            "environment is \"moon⟨ESC⟩\", wanted workstation, production, ci or container",
        ),
        (
            r#"{"command":"x","environment":"ci","env":"prod"}"#,
            "environment and env do not say the same",
        ),
        (r#"{"command":"x","annotations":1}"#, "annotations is a number, wanted an object"),
        (
            r#"{"command":"x","annotations":{"readOnlyHint":"yes"}}"#,
            "annotations.readOnlyHint is a string, wanted a boolean",
        ),
        (
            r#"{"command":"x","risk_level":"severe"}"#,
            "risk_level is \"severe\", wanted safe, low, medium, high or critical",
        ),
        (
            r#"{"tool":"bash","input":{"command":"rm -rf /"}}"#,
            "arguments are missing but input is given; name it arguments",
        ),
    ] {
        assert_eq!(said(text), words, "{text}");
    }
}
