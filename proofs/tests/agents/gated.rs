//! Real agents with a complete gate: a daemon, a person, the installed hook.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use countersign_gateways::agents::live_test::ScratchHome;
use countersign_gateways::live::run::{LiveAgent, live_agents};
use proofs::http::Client;
use proofs::installation::{RunningDaemon, TestInstallation};
use serde_json::{Value, json};

use crate::agent_run::{
    AgentTranscript, HARM, PATIENCE, alone, full, is_slow, one_of, program, run_agent,
    two_at_a_time,
};
use crate::installed::{countersign, install};

/// What happens while the call is pending.
enum WhilePending {
    /// Nothing.
    Nothing,
    /// A person decides.
    Answered(&'static str),
    /// The daemon is killed when the request is pending.
    Killed,
}

/// Runs one agent behind a complete gate.
fn run_behind_gate(
    live: LiveAgent,
    command: &str,
    while_pending: &WhilePending,
) -> Option<AgentTranscript> {
    let countersign = countersign()?;
    program(live)?;
    let folder = tempfile::tempdir().unwrap();
    let installation = TestInstallation::new(folder.path(), "").unwrap();
    let gate = installation.start().unwrap();
    let owner = gate.owner().unwrap();
    let people = Client::with(gate.people, &owner);
    thread::scope(|scope| {
        let running = scope.spawn(|| {
            run_agent(live, command, None, |scratch| {
                configure_home(scratch, folder.path());
                install(live, scratch, &countersign);
            })
        });
        act(people, gate, while_pending, || running.is_finished());
        running.join().unwrap()
    })
}

/// Writes the configuration and the daemon's key into the agent's home, where `install` finds them.
pub fn configure_home(scratch: &ScratchHome, installation: &Path) {
    let text = fs::read_to_string(installation.join("countersign.toml")).unwrap();
    scratch.write(".config/countersign/countersign.toml", &text).unwrap();
    let key = fs::read_to_string(installation.join("state/daemon.pub")).unwrap();
    scratch.write(".config/countersign/daemon.pub", &key).unwrap();
}

fn act(
    mut people: Client,
    gate: RunningDaemon,
    while_pending: &WhilePending,
    over: impl Fn() -> bool,
) {
    let mut gate = Some(gate);
    let until = Instant::now() + PATIENCE;
    while !over() && Instant::now() < until {
        thread::sleep(Duration::from_millis(100));
        if gate.is_none() || matches!(while_pending, WhilePending::Nothing) {
            continue;
        }
        let Some(waiting) = waiting(&mut people) else { continue };
        match while_pending {
            WhilePending::Nothing => {}
            WhilePending::Killed => gate.take().unwrap().kill().unwrap(),
            WhilePending::Answered(choice) => answer(&mut people, &waiting, choice),
        }
    }
}

/// Decides a request as a person.
pub fn answer(people: &mut Client, waiting: &Value, choice: &str) {
    let (id, digest) = (&waiting["id"], &waiting["digest"]);
    let said = json!({
        "choice": choice, "digest": digest, "reason": "I keep letters", "word": waiting["phrase"],
    });
    let path = format!("/v1/requests/{}/decision", id.as_str().unwrap());
    let reply = people.post(&path, &said).unwrap();
    assert_eq!(reply.status, 200, "{:?}", reply.body);
}

/// The first pending request.
pub fn waiting(people: &mut Client) -> Option<Value> {
    let list = people.get("/v1/requests?state=pending").ok()?;
    list.body["requests"].as_array()?.first().cloned()
}

fn each(
    matter: &str,
    command: &str,
    while_pending: &WhilePending,
    check: impl Fn(LiveAgent, &AgentTranscript) + Sync,
) {
    let _alone = alone();
    // Slow agents run only the two decisions of a person, and the other cases with `PROOF=full`.
    let answered = matches!(while_pending, WhilePending::Answered(_));
    let tried = selected_agents().filter(|live| answered || full() || !is_slow(*live));
    two_at_a_time(tried, |live| {
        let Some(run_agent) = run_behind_gate(live, command, while_pending) else { return };
        println!("{:9} {matter:21} {} {:?}", live.agent.name, run_agent.word(), run_agent.run.took);
        assert!(run_agent.log.proposed, "{}: {run_agent:?}", live.agent.name);
        check(live, &run_agent);
    });
}

/// The agents that are selected by `AGENT`.
fn selected_agents() -> impl Iterator<Item = LiveAgent> {
    live_agents().filter(|live| one_of("AGENT", live.agent.name))
}

#[test]
fn a_harmless_call_runs_and_nobody_is_asked() {
    each("harmless", "cat precious/letter", &WhilePending::Nothing, |live, run_agent| {
        assert!(run_agent.results().contains("dear"), "{}: {run_agent:?}", live.agent.name);
    });
}

#[test]
fn what_a_person_denies_does_not_run_and_the_model_reads_why() {
    each("denied", HARM, &WhilePending::Answered("deny"), |live, run_agent| {
        assert!(!run_agent.ran, "{}: {run_agent:?}", live.agent.name);
        assert!(
            run_agent.results().contains("I keep letters"),
            "{}: {run_agent:?}",
            live.agent.name
        );
    });
}

#[test]
fn what_a_person_approves_runs() {
    each("approved", HARM, &WhilePending::Answered("approve"), |live, run_agent| {
        assert!(run_agent.ran, "{}: {run_agent:?}", live.agent.name);
    });
}

#[test]
fn the_call_that_tries_the_gate_is_refused_at_once() {
    each("tried", "countersign-proof-of-gate", &WhilePending::Nothing, |live, run_agent| {
        assert!(run_agent.results().contains("Countersign"), "{}: {run_agent:?}", live.agent.name);
    });
}

#[test]
fn a_daemon_that_is_killed_while_a_call_waits_lets_nothing_through() {
    each("daemon killed", HARM, &WhilePending::Killed, |live, run_agent| {
        assert!(!run_agent.ran, "{}: {run_agent:?}", live.agent.name);
        // The daemon may die after it kept the request and before the hook has read its answer.
        let told = run_agent.results();
        let known = ["has not decided yet", "no person could be asked"]
            .iter()
            .any(|report_figures| told.contains(report_figures));
        assert!(known, "{}: {run_agent:?}", live.agent.name);
    });
}

#[test]
fn without_a_daemon_nothing_risky_runs() {
    let _alone = alone();
    let Some(countersign) = countersign() else { return };
    let tried = selected_agents().filter(|live| full() || !is_slow(*live));
    two_at_a_time(tried, |live| {
        let set_up = |scratch: &mut _| install(live, scratch, &countersign);
        let Some(run_agent) = run_agent(live, HARM, None, set_up) else { return };
        println!(
            "{:9} no daemon             {} {:?}",
            live.agent.name,
            run_agent.word(),
            run_agent.run.took
        );
        assert!(run_agent.log.proposed && !run_agent.ran, "{}: {run_agent:?}", live.agent.name);
        let told = run_agent.results();
        assert!(told.contains("no person could be asked"), "{}: {run_agent:?}", live.agent.name);
    });
}
