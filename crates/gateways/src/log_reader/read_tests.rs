//! Logs in the formats of the agents, and hostile ones.

use std::fs;
use std::path::PathBuf;

use super::*;

fn read(name: &str, text: &str) -> LogCalls {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    LogReader::default().read(&LogFile { path, agent: None }).unwrap()
}

fn shown(found: &LogCalls) -> Vec<String> {
    let line = |call: &LoggedCall| {
        let arguments = serde_json::to_string(&call.arguments).unwrap();
        let place = call.cwd.as_deref().unwrap_or("-");
        let session = call.session.as_deref().unwrap_or("-");
        let rejected = if call.rejected { " rejected" } else { "" };
        format!("{session} {place} {} {arguments}{rejected}", call.tool)
    };
    found.calls.iter().map(line).collect()
}

fn name(found: &LogCalls) -> &str {
    found.agent.map_or("", |agent| agent.name)
}

const CLAUDE: &str = include_str!("../../fixtures/logs/claude-code-short.jsonl");

#[test]
fn logs_of_claude_code() {
    let found = read("s1.jsonl", CLAUDE);
    assert_eq!(name(&found), "claude");
    assert_eq!(
        shown(&found),
        [
            r#"s1 /home/ana/shop Bash {"command":"npm test"}"#,
            r#"s1 /home/ana/shop/web Bash {"command":"git push --force"} rejected"#,
        ]
    );
    assert_eq!(found.unreadable, 2);
}

#[test]
fn a_resumed_session_repeats_its_calls_and_each_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut reader = LogReader::default();
    let counts = ["a.jsonl", "b.jsonl"].map(|name| {
        let path = folder.path().join(name);
        fs::write(&path, CLAUDE).unwrap();
        reader.read(&LogFile { path, agent: None }).unwrap().calls.len()
    });
    assert_eq!(counts, [2, 0]);
}

const CODEX: &str = include_str!("../../fixtures/logs/codex.jsonl");

#[test]
fn logs_of_codex() {
    let found = read("rollout-1.jsonl", CODEX);
    assert_eq!(name(&found), "codex");
    assert_eq!(
        shown(&found),
        [
            r#"c1 /srv Bash {"command":"ls -la"}"#,
            r#"c1 /home/ana/shop/api Bash {"command":"rm 'a b' 'it'\\''s'"} rejected"#,
            r#"c1 /home/ana/shop/api Bash {"command":"cargo test"}"#,
            r#"c1 /opt/x Bash {"command":"git status"}"#,
            r#"c1 /home/ana/shop/api apply_patch {"command":"*** Begin Patch"}"#,
            r#"c1 /home/ana/shop/api update_plan {"plan":[]}"#,
        ]
    );
    assert_eq!(found.unreadable, 1);
}

#[test]
fn older_logs_of_codex_have_no_envelope() {
    let text = include_str!("../../fixtures/logs/codex-old.jsonl");
    let found = read("rollout-0.jsonl", text);
    assert_eq!(name(&found), "codex");
    assert_eq!(shown(&found), [r#"- - Bash {"command":"ls"}"#]);
}

#[test]
fn sessions_of_opencode_from_its_folder() {
    let home = tempfile::tempdir().unwrap();
    let storage = home.path().join(".local/share/opencode/storage");
    let part = include_str!("../../fixtures/logs/opencode-part.json");
    let denied = include_str!("../../fixtures/logs/opencode-denied.json");
    let text_part = r#"{"sessionID":"ses_1","messageID":"msg_1","type":"text","text":"tool"}"#;
    let session = r#"{"id":"ses_1","projectID":"p1","directory":"/home/ana/shop","title":"t"}"#;
    for (name, text) in [
        ("session/p1/ses_1.json", session),
        ("message/ses_1/msg_1.json", r#"{"id":"msg_1","sessionID":"ses_1","role":"assistant"}"#),
        ("part/msg_1/prt_0.json", text_part),
        ("part/msg_1/prt_1.json", part),
        ("part/msg_1/prt_2.json", denied),
    ] {
        let path = storage.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let folder = home.path().to_str().unwrap().to_owned();
    let variables = move |name: &str| (name == "HOME").then(|| folder.clone());
    let scope = crate::install::InstallScope::new(None, variables).unwrap();
    let found = crate::log_reader::find_logs(&[], &scope, None).unwrap();
    assert_eq!(found.files.len(), 5);
    let mut reader = LogReader::default();
    let calls: Vec<String> =
        found.files.iter().flat_map(|file| shown(&reader.read(file).unwrap())).collect();
    assert_eq!(
        calls,
        [
            r#"ses_1 /home/ana/shop bash {"command":"make"}"#,
            r#"ses_1 /home/ana/shop bash {"command":"make clean"} rejected"#,
        ]
    );
    let messages = format!(r#"[{{"info":{{"id":"msg_1"}},"parts":[{part}]}}]"#);
    let info = r#"{"id":"ses_1","directory":"/srv"}"#;
    let export = format!(r#"{{"info":{info},"messages":{messages}}}"#);
    let found = read("export.json", &export);
    assert_eq!(name(&found), "opencode");
    assert_eq!(shown(&found), [r#"ses_1 /srv bash {"command":"make"}"#]);
}

#[test]
fn sessions_of_hermes() {
    let messages = include_str!("../../fixtures/logs/hermes-messages.json");
    let document = format!(r#"{{"session_id":"h1","model":"m","messages":{messages}}}"#);
    let expected =
        [r#"h1 - terminal {"command":"ls"}"#, r#"h1 - terminal {"command":"reboot"} rejected"#];
    let found = read("session_h1.json", &document);
    assert_eq!((name(&found), shown(&found)), ("hermes", expected.map(str::to_owned).to_vec()));
    let line = document.replace('\n', "").replace("session_id", "id");
    assert_eq!(shown(&read("export.jsonl", &line)), expected);
    let lines = include_str!("../../fixtures/logs/hermes.jsonl");
    assert_eq!(shown(&read("h2.jsonl", lines)), [r#"- - terminal {"command":"ls"}"#]);
}

#[test]
fn plain_lines_of_calls_and_of_logging_hooks() {
    let text = include_str!("../../fixtures/logs/plain.jsonl");
    let found = read("calls.jsonl", text);
    assert_eq!(name(&found), "");
    assert_eq!(
        shown(&found),
        [
            r#"a /x shell {"command":"ls"}"#,
            r#"b - send_email {"to":"b"} rejected"#,
            r#"c /y Bash {"command":"id"}"#,
        ]
    );
    assert_eq!(found.unreadable, 1);
}

#[test]
fn hostile_files_end_and_are_counted() {
    let nested = "[".repeat(100_000);
    let long = format!("{{\"command\":\"{}\"}}", "x".repeat(MAX_RECORD));
    let text = format!("{{\"command\":\"ls\"}}\n{nested}\n{long}\n\u{0}\n{{\"command\":\"id\"}}");
    let found = read("calls.jsonl", &text);
    assert_eq!(found.calls.len(), 2);
    assert_eq!(found.unreadable, 3);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bytes.jsonl");
    fs::write(&path, b"\xff\xfe\n{\"command\":\"ls\"}\n").unwrap();
    let found = LogReader::default().read(&LogFile { path, agent: None }).unwrap();
    assert_eq!((found.calls.len(), found.unreadable), (1, 1));
}

#[test]
fn a_pipe_or_a_link_in_the_folder_of_an_agent_is_not_read() {
    let home = tempfile::tempdir().unwrap();
    let logs = home.path().join(".codex/sessions");
    fs::create_dir_all(&logs).unwrap();
    fs::write(home.path().join("secret.jsonl"), "{\"command\":\"ls\"}").unwrap();
    std::os::unix::fs::symlink(home.path().join("secret.jsonl"), logs.join("a.jsonl")).unwrap();
    std::os::unix::fs::symlink(&logs, logs.join("loop")).unwrap();
    let pipe = logs.join("b.jsonl");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let folder = home.path().to_str().unwrap().to_owned();
    let variables = move |name: &str| (name == "HOME").then(|| folder.clone());
    let scope = crate::install::InstallScope::new(None, variables).unwrap();
    assert!(crate::log_reader::find_logs(&[], &scope, None).unwrap().files.is_empty());
    // Replaced after it was found.
    let agent = crate::agents::named("codex");
    for name in ["a.jsonl", "b.jsonl"] {
        let file = LogFile { path: logs.join(name), agent };
        assert!(LogReader::default().read(&file).is_err(), "{name}");
    }
    let missing = [PathBuf::from("/nowhere/x.jsonl")];
    assert!(crate::log_reader::find_logs(&missing, &scope, None).is_err());
}
