//! Whatever breaks, hangs or lies: the answer is no, and it comes before the host loses patience.

use std::process::Stdio;

use serde_json::json;

use super::fixture::{HookOutput, RISKY, TestHome, approve, bash, deaf, until, waiting};

#[test]
fn a_daemon_that_never_answers_is_a_no_in_time() {
    let home = TestHome::empty();
    let _deaf = deaf(home.folder.path());
    let said = home.says(&["claude", "--patience", "2"], &bash(RISKY, "t"));
    assert!(said.denied().contains("not run"), "{said:?}");
    // What only reads needs no daemon.
    assert_eq!(home.says(&["claude"], &bash("ls", "t")).claude().0, "nothing");
}

#[test]
fn a_daemon_that_never_answers_does_not_hold_back_the_card() {
    let home = TestHome::empty();
    let _deaf = deaf(home.folder.path());
    let message = json!({
        "hook_event_name": "UserPromptSubmit", "session_id": "s",
        "prompt": "I want to kill myself tonight",
    });
    let said = home.says(&["claude", "--patience", "20"], &message);
    assert!(said.out.contains("988") && said.out.contains("findahelpline.com"), "{said:?}");
    // Where the agent has no patience at all, the card comes too.
    let said = home.says(&["claude", "--patience", "1"], &message);
    assert!(said.out.contains("988"), "{said:?}");
}

#[test]
fn without_its_daemon_the_card_has_the_configured_country() {
    let mut home = TestHome::empty();
    let folder = home.folder.path().join(".config/countersign");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("countersign.toml"), "[crisis]\ncountry = \"DE\"\n").unwrap();
    home.start();
    home.kill();
    let message = json!({
        "hook_event_name": "UserPromptSubmit", "session_id": "s",
        "prompt": "I want to kill myself tonight",
    });
    let said = home.says(&["claude", "--patience", "5"], &message);
    assert!(said.out.contains("0800 111 0 111") && !said.out.contains("741741"), "{said:?}");
}

#[test]
fn a_host_that_never_stops_talking_or_never_speaks_gets_a_no_in_time() {
    let home = TestHome::empty();
    let mut command = home.command(&["hook", "claude", "--patience", "1"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let silent = child.stdin.take();
    let said = HookOutput::of(child);
    assert!(said.denied().contains("in time"), "{said:?}");
    drop(silent);
    let endless = std::fs::File::open("/dev/zero").unwrap();
    let mut command = home.command(&["hook", "claude", "--patience", "5"]);
    let child = command.stdin(endless).stdout(Stdio::piped()).spawn().unwrap();
    assert!(HookOutput::of(child).denied().contains("longer than 16 MiB"));
}

#[test]
fn a_host_that_does_not_listen_is_told_by_the_exit_code() {
    let home = TestHome::empty();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = home.command(&["hook", "claude"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let input = bash(RISKY, "t").to_string();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
    let said = HookOutput::of(child);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("not run"), "{said:?}");
}

#[test]
fn a_daemon_that_dies_while_a_call_waits_is_waited_for() {
    let mut home = TestHome::new();
    let hook = home.hook(&["claude", "--patience", "30"], &bash(RISKY, "t"));
    waiting(&home.person(), 1);
    home.kill();
    // The hook tries again while no daemon is there; only then does the next one start.
    std::fs::remove_file(home.folder.path().join("state/agents.sock")).unwrap();
    drop(deaf(home.folder.path()).accept().unwrap());
    std::fs::remove_file(home.folder.path().join("state/agents.sock")).unwrap();
    home.start();
    let person = home.person();
    approve(&person, &waiting(&person, 1));
    assert_eq!(HookOutput::of(hook).claude().0, "allow");
    // And one that stays away is a no, with the request that still waits.
    let hook = home.hook(&["claude", "--patience", "12"], &bash("rm -rf /srv/b", "t2"));
    waiting(&person, 1);
    home.callers_wait(1);
    home.kill();
    assert!(HookOutput::of(hook).denied().contains("has not decided yet"));
}

#[test]
fn a_killed_hook_leaves_its_question_open_for_the_next_try() {
    let home = TestHome::new();
    let person = home.person();
    let killed = |call: &str, command: &str| {
        let mut hook = home.hook(&["claude", "--patience", "30"], &bash(command, call));
        let open = waiting(&person, 1).remove(0);
        hook.kill().unwrap();
        hook.wait().unwrap();
        open
    };
    // Asked again while no one has answered: the same question.
    let open = killed("a1", RISKY);
    let retry = home.hook(&["claude", "--patience", "20"], &bash(RISKY, "a2"));
    home.callers_wait(1);
    let still = waiting(&person, 1);
    assert_eq!(still[0].id, open.id);
    approve(&person, &still);
    assert_eq!(HookOutput::of(retry).claude().0, "allow");
    // Approved while no one waited: good for one run.
    let other = "rm -rf /srv/other";
    approve(&person, &[killed("b1", other)]);
    let again = |call| home.says(&["claude", "--patience", "1"], &bash(other, call)).claude();
    assert_eq!(again("b2").0, "allow");
    assert!(again("b3").1.contains("has not decided yet"));
}

#[test]
fn people_see_that_a_stopped_agent_no_longer_waits() {
    const GONE: &str = "The agent stopped waiting";
    let home = TestHome::new();
    let person = home.person();
    let mut hook = home.hook(&["claude", "--patience", "60"], &bash(RISKY, "t1"));
    let open = waiting(&person, 1).remove(0);
    let id = open.id.as_deref().unwrap();
    // The hook submits its call first and waits with a second connection.
    home.callers_wait(1);
    let stopped = std::process::Command::new("kill").arg(hook.id().to_string()).status();
    assert!(stopped.unwrap().success());
    hook.wait().unwrap();
    assert!(!home.card(id).contains(GONE), "it may be back in a moment");
    until("the agent is gone", || home.card(id).contains(GONE));
    // The same call comes again and goes on waiting.
    let retry = home.hook(&["claude", "--patience", "60"], &bash(RISKY, "t2"));
    until("the agent is back", || !home.card(id).contains(GONE));
    approve(&person, &waiting(&person, 1));
    assert_eq!(HookOutput::of(retry).claude().0, "allow");
}

#[test]
fn a_wrong_token_and_a_broken_configuration_are_a_no() {
    let home = TestHome::new();
    let mut command = home.command(&["hook", "claude", "--patience", "3"]);
    command.env("COUNTERSIGN_AGENT_TOKEN", "csa_guess").env("COUNTERSIGN_AGENTS", "127.0.0.1:1");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let input = bash(RISKY, "t").to_string();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
    assert!(HookOutput::of(child).denied().contains("not run"));
    let config = home.folder.path().join(".config/countersign");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("countersign.toml"), "[gate\n").unwrap();
    let said = home.says(&["claude", "--patience", "3"], &bash(RISKY, "t"));
    assert!(said.denied().contains("not run"), "{said:?}");
}

#[test]
fn what_cannot_be_written_down_does_not_pass_by_itself() {
    let home = TestHome::empty();
    // The folder cannot be made: there is a file in its place.
    std::fs::write(home.folder.path().join("countersign-gateways"), "").unwrap();
    let said = home.says(&["claude"], &bash("ls", "t"));
    assert!(said.denied().contains("no person could be asked"), "{said:?}");
}
