//! The output of `assess` for people, and the record for programs.

use std::process::Command;

use super::binary::{run, run_with, stdout};

const RISKY: &str = "cd /srv && rm -rf /tmp/build";

#[test]
fn the_first_line_is_a_sentence_and_the_tier_is_a_word() {
    let text = stdout(&run(&["assess", RISKY]));
    let first = text.lines().next().unwrap();
    assert!(first.len() > 10 && !first.contains('\u{1b}'), "{first}");
    assert!(text.contains("HIGH") && text.contains("🔴"), "{text}");
    assert!(text.contains("ask: "), "{text}");
}

#[test]
fn without_a_terminal_the_dangerous_part_is_marked_below() {
    let text = stdout(&run(&["assess", RISKY]));
    assert!(!text.contains('\u{1b}'), "no escape sequences in a pipe");
    let mut lines = text.lines().skip_while(|l| !l.contains(RISKY));
    let call = lines.next().unwrap();
    let marks = lines.next().unwrap();
    let (from, to) = (marks.find('^').unwrap(), marks.rfind('^').unwrap());
    let harmless = call.find("rm -rf").unwrap();
    assert!(from >= harmless && to < call.len(), "{call}\n{marks}");
    assert!(marks.trim().chars().all(|c| c == '^'), "{marks}");
}

#[test]
fn a_safe_call_says_so() {
    let text = stdout(&run(&["assess", "ls"]));
    assert!(text.contains("SAFE") && text.contains("allow: "), "{text}");
    assert!(stdout(&run(&["assess", ""])).contains("SAFE"), "the empty command is SAFE");
}

#[test]
fn colour_only_on_a_terminal_and_never_against_no_color() {
    let on_terminal = |no_color: Option<&str>| {
        let mut python = Command::new("python3");
        python.args(["-c", "import pty, sys; pty.spawn(sys.argv[1:])"]);
        python.args([env!("CARGO_BIN_EXE_countersign"), "assess", RISKY]);
        python.env("TERM", "xterm-256color").env_remove("NO_COLOR");
        if let Some(value) = no_color {
            python.env("NO_COLOR", value);
        }
        String::from_utf8(python.output().expect("python3 is needed").stdout).unwrap()
    };
    let coloured = on_terminal(None);
    assert!(coloured.contains("\u{1b}[4;38"), "underlined in colour: {coloured}");
    assert!(on_terminal(Some("")).contains('\u{1b}'), "an empty NO_COLOR does not count");
    assert!(!on_terminal(Some("1")).contains('\u{1b}'));
}

#[test]
fn a_hostile_call_cannot_draw_on_the_terminal() {
    let text = stdout(&run(&["assess", "ls \u{1b}[2J\u{202e} \r x"]));
    assert!(!text.contains(['\u{1b}', '\r']), "{text:?}");
}

#[test]
fn a_long_call_is_folded_but_its_dangerous_line_is_shown() {
    let long = format!("{}rm -rf /tmp/build\n{}", "ls\n".repeat(50), "ls\n".repeat(50));
    let text = stdout(&run_with(&["assess", "-"], long.as_bytes()));
    assert!(text.contains("rm -rf /tmp/build") && text.contains("show all: --all"), "{text}");
    assert!(text.lines().count() < 40, "{text}");
    let all = stdout(&run_with(&["assess", "-", "--all"], long.as_bytes()));
    assert!(all.lines().count() > 100);
}

#[test]
fn the_record_is_whole() {
    let text = stdout(&run(&["assess", RISKY, "--json"]));
    let record: serde_json::Value = serde_json::from_str(&text).unwrap();
    for key in [
        "tool",
        "tier",
        "points",
        "risk",
        "confidence",
        "verdict",
        "side_effect_class",
        "requires_human",
        "reversible",
        "effects",
        "reasons",
        "impact",
        "digest",
        "raw_digest",
        "phrase",
    ] {
        assert!(record.get(key).is_some(), "{key} is missing: {text}");
    }
    assert_eq!(record["tier"], "HIGH");
    assert_eq!(record["verdict"], "ask");
}

#[test]
fn a_claim_may_only_raise() {
    let tier = |args: &[&str]| {
        let text = stdout(&run(args));
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["tier"].clone()
    };
    assert_eq!(tier(&["assess", "--json", "ls", "--claimed", "high"]), "HIGH");
    assert_eq!(tier(&["assess", "--json", "rm -rf /", "--claimed", "SAFE"]), "CRITICAL");
}

#[test]
fn tools_arguments_come_from_text_file_or_input() {
    let json = br#"{"to": "everyone@example.com", "body": "hello"}"#;
    let path = super::binary::scratch("mail.json");
    std::fs::write(&path, json).unwrap();
    let send = |args: &str, input: &[u8]| {
        run_with(&["assess", "--json", "--tool", "send_email", "--args", args], input)
    };
    let text = send(std::str::from_utf8(json).unwrap(), b"");
    assert!(text.status.success());
    assert_eq!(text.stdout, send(&format!("@{}", path.display()), b"").stdout);
    assert_eq!(text.stdout, send("-", json).stdout);
    let card = stdout(&run(&["assess", "--tool", "send_email", "--args", "{\"to\": \"a@b.c\"}"]));
    assert!(card.contains("send_email") && card.contains("to: a@b.c"), "{card}");
}

#[test]
fn different_arguments_look_different() {
    let card = |args: &str| stdout(&run(&["assess", "--tool", "frobnicate", "--args", args]));
    let shown = |args: &str| {
        let card = card(args);
        card.lines().find(|line| line.starts_with("    x")).unwrap_or_default().to_owned()
    };
    let mut seen = std::collections::BTreeSet::new();
    for value in ["1", "\"1\"", "null", "\"null\"", "\"\"", "{}", "[]", "\"{}\"", "\"a\""] {
        assert!(seen.insert(shown(&format!("{{\"x\": {value}}}"))), "{value}: {seen:?}");
    }
    assert!(card("{\"a.b\": 1}").contains("/a.b: 1"));
    assert!(card("{\"a\": {\"b\": 1}}").contains("a.b: 1"));
}

#[test]
fn where_it_happens_is_said_if_it_was() {
    let text = stdout(&run(&["assess", "ls", "--env", "production", "--cwd", "/srv/shop"]));
    assert!(text.contains("production, /srv/shop"), "{text}");
    assert!(!stdout(&run(&["assess", "ls"])).contains("where"));
}

#[test]
fn the_plainest_call_is_like_any_other() {
    for command in ["ls", "rm -rf /tmp/build", "", "a\nb"] {
        assert_eq!(run(&["assess", command]).stdout, run(&["assess", "--", command]).stdout);
    }
}
