//! The hosts as they are: what each does with its hook's answer, its silence and its death.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use countersign_gateways::live::{SUBJECTS, Scratch, named};

use crate::bench::{HARM, alone, full, is_slow, one_of, trial};
use crate::by_hand;

/// Without this nothing else here would prove anything.
#[test]
fn without_a_gate_the_harm_is_done() {
    let _alone = alone();
    // Of those that take long to start the approved call shows that they would do it.
    let tried = SUBJECTS.into_iter().filter(|subject| full() || !is_slow(subject));
    for subject in tried.filter(|subject| one_of("AGENT", subject.name)) {
        let Some(trial) = trial(subject, HARM, None, |_| {}) else { continue };
        println!("{:9} no gate               {} {:?}", subject.name, trial.word(), trial.run.took);
        assert!(trial.seen.proposed && trial.ran, "{}: {trial:?}", subject.name);
    }
}

/// What a bare hook does, and how long its host waits for it.
fn behaviours(agent: &str) -> Vec<(&'static str, Option<String>, u64)> {
    let denial = by_hand::denial(agent, "No, says the hook.");
    let begun: String = denial.chars().take(30).collect();
    let script = |lines: String| Some(format!("#!/bin/sh\ncat >/dev/null\n{lines}\n"));
    vec![
        ("says no", script(format!("printf %s '{denial}'")), 20),
        ("no, after 4 s", script(format!("sleep 4; printf %s '{denial}'")), 20),
        ("says {}", script("printf '{}'".into()), 20),
        ("says nothing", script("exit 0".into()), 20),
        ("ends with 1", script("exit 1".into()), 20),
        ("ends with 2, silent", script("exit 2".into()), 20),
        ("ends with 2 and words", script("echo no >&2; exit 2".into()), 20),
        ("crashes", script("kill -SEGV $$".into()), 20),
        ("killed in its answer", script(format!("printf %s '{begun}'; kill -KILL $$")), 20),
        ("talks nonsense", script("echo all is well".into()), 20),
        ("never answers", script("exec sleep 60".into()), 4),
        ("empty", Some(String::new()), 20),
        ("missing", None, 20),
    ]
}

/// The table in `docs/agents/README.md`: takes minutes, and is about the hosts, not about us.
#[test]
#[ignore = "a survey of the hosts: cargo test -p proofs --test agents survey -- --ignored --nocapture"]
fn survey_of_bare_hooks() {
    let _alone = alone();
    for name in ["claude", "codex", "gemini", "copilot"] {
        for (how, script, seconds) in behaviours(name) {
            if !one_of("AGENT", name) || !one_of("HOOK", how) {
                continue;
            }
            let put_up = |scratch: &mut Scratch| {
                let program = scratch.home().join("hook");
                if let Some(text) = script {
                    fs::write(&program, text).unwrap();
                    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
                }
                by_hand::put_up(name, scratch, &program.display().to_string(), seconds);
            };
            let Some(trial) = trial(named(name).unwrap(), HARM, None, put_up) else { break };
            println!("{name:9} {how:21} {} {:?}", trial.word(), trial.run.took);
        }
    }
}
