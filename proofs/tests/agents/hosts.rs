//! The agents without our gate: what each does if its hook answers, is silent or crashes.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use countersign_gateways::agents::HookAnswer;
use countersign_gateways::agents::live_test::ScratchHome;
use countersign_gateways::live::run::{LiveAgent, live_agents};

use crate::agent_run::{HARM, alone, full, is_slow, one_of, run_agent};
use crate::fixtures::live_fixture;

/// Without this, the other tests would prove nothing.
#[test]
fn without_a_gate_the_harm_is_done() {
    let _alone = alone();
    // For slow agents, the test with an approved call shows the same.
    let tried = live_agents().filter(|live| full() || !is_slow(*live));
    for live in tried.filter(|live| one_of("AGENT", live.agent.name)) {
        let Some(run_agent) = run_agent(live, HARM, None, |_| {}) else { continue };
        println!(
            "{:9} no gate               {} {:?}",
            live.agent.name,
            run_agent.word(),
            run_agent.run.took
        );
        assert!(run_agent.log.proposed && run_agent.ran, "{}: {run_agent:?}", live.agent.name);
    }
}

/// What a bare hook does, and how long its agent waits for it.
fn behaviours(live: LiveAgent) -> Vec<(&'static str, Option<String>, u64)> {
    let denial = HookAnswer::Denied("No, says the hook.".to_owned());
    let denial = (live.agent.hook.reply)(&denial).out;
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

/// The table in `docs/agents/README.md`: takes minutes, and tests the agents, not our gate.
#[test]
#[ignore = "a survey of the hosts: cargo test -p proofs --test agents survey -- --ignored --nocapture"]
fn survey_of_bare_hooks() {
    let _alone = alone();
    for live in live_agents() {
        let name = live.agent.name;
        let Some(hook) = live_fixture(name).bare_hook else { continue };
        for (how, script, seconds) in behaviours(live) {
            if !one_of("AGENT", name) || !one_of("HOOK", how) {
                continue;
            }
            let set_up = |scratch: &mut ScratchHome| {
                let program = scratch.home().join("hook");
                if let Some(text) = script {
                    fs::write(&program, text).unwrap();
                    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
                }
                let command = program.display().to_string().into();
                let milliseconds = (seconds * 1000).into();
                let values = [
                    ("{command}", command),
                    ("{seconds}", seconds.into()),
                    ("{milliseconds}", milliseconds),
                ];
                hook.add(scratch, &values);
            };
            let Some(run_agent) = run_agent(live, HARM, None, set_up) else { break };
            println!("{name:9} {how:21} {} {:?}", run_agent.word(), run_agent.run.took);
        }
    }
}
