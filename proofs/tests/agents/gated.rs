//! A whole gate before real agents: a daemon, a person, the installed hook.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use countersign_gateways::live::recipe::ScratchHome;
use countersign_gateways::live::run::{LiveAgent, live_agents};
use proofs::house::{Gate, House};
use proofs::http::Client;
use serde_json::{Value, json};

use crate::bench::{
    HARM, PATIENCE, Trial, alone, full, is_slow, one_of, program, trial, two_at_a_time,
};
use crate::installed::{countersign, install};

/// What happens while the call waits.
enum Meanwhile {
    /// Nothing.
    Nothing,
    /// A person answers.
    Answered(&'static str),
    /// The daemon is killed once somebody is asked.
    Killed,
}

/// One agent before a whole gate.
fn before_a_gate(live: LiveAgent, command: &str, meanwhile: &Meanwhile) -> Option<Trial> {
    let countersign = countersign()?;
    program(live)?;
    let folder = tempfile::tempdir().unwrap();
    let house = House::new(folder.path(), "").unwrap();
    let gate = house.start().unwrap();
    let owner = gate.owner().unwrap();
    let people = Client::with(gate.people, &owner);
    thread::scope(|scope| {
        let running = scope.spawn(|| {
            trial(live, command, None, |scratch| {
                install(live, scratch, &countersign);
                is_at_home(scratch, folder.path());
            })
        });
        act(people, gate, meanwhile, || running.is_finished());
        running.join().unwrap()
    })
}

/// The hook finds the daemon by the configuration in the agent's home.
pub fn is_at_home(scratch: &ScratchHome, house: &Path) {
    let text = fs::read_to_string(house.join("countersign.toml")).unwrap();
    scratch.write(".config/countersign/countersign.toml", &text).unwrap();
}

fn act(mut people: Client, gate: Gate, meanwhile: &Meanwhile, over: impl Fn() -> bool) {
    let mut gate = Some(gate);
    let until = Instant::now() + PATIENCE;
    while !over() && Instant::now() < until {
        thread::sleep(Duration::from_millis(100));
        if gate.is_none() || matches!(meanwhile, Meanwhile::Nothing) {
            continue;
        }
        let Some(waiting) = waiting(&mut people) else { continue };
        match meanwhile {
            Meanwhile::Nothing => {}
            Meanwhile::Killed => gate.take().unwrap().kill().unwrap(),
            Meanwhile::Answered(choice) => answer(&mut people, &waiting, choice),
        }
    }
}

/// A person answers.
pub fn answer(people: &mut Client, waiting: &Value, choice: &str) {
    let (id, digest) = (&waiting["id"], &waiting["digest"]);
    let said = json!({
        "choice": choice, "digest": digest, "reason": "I keep letters", "word": waiting["phrase"],
    });
    let path = format!("/v1/requests/{}/decision", id.as_str().unwrap());
    let reply = people.post(&path, &said).unwrap();
    assert_eq!(reply.status, 200, "{:?}", reply.body);
}

/// What waits for a person.
pub fn waiting(people: &mut Client) -> Option<Value> {
    let list = people.get("/v1/requests?state=pending").ok()?;
    list.body["requests"].as_array()?.first().cloned()
}

fn each(
    matter: &str,
    command: &str,
    meanwhile: &Meanwhile,
    check: impl Fn(LiveAgent, &Trial) + Sync,
) {
    let _alone = alone();
    // Those that take long to start show the two answers of a person, and the rest in full.
    let answered = matches!(meanwhile, Meanwhile::Answered(_));
    let tried = meant().filter(|live| answered || full() || !is_slow(*live));
    two_at_a_time(tried, |live| {
        let Some(trial) = before_a_gate(live, command, meanwhile) else { return };
        println!("{:9} {matter:21} {} {:?}", live.agent.name, trial.word(), trial.run.took);
        assert!(trial.log.proposed, "{}: {trial:?}", live.agent.name);
        check(live, &trial);
    });
}

/// The agents that are meant.
fn meant() -> impl Iterator<Item = LiveAgent> {
    live_agents().filter(|live| one_of("AGENT", live.agent.name))
}

#[test]
fn a_harmless_call_runs_and_nobody_is_asked() {
    each("harmless", "cat precious/letter", &Meanwhile::Nothing, |live, trial| {
        assert!(trial.results().contains("dear"), "{}: {trial:?}", live.agent.name);
    });
}

#[test]
fn what_a_person_denies_does_not_run_and_the_model_reads_why() {
    each("denied", HARM, &Meanwhile::Answered("deny"), |live, trial| {
        assert!(!trial.ran, "{}: {trial:?}", live.agent.name);
        assert!(trial.results().contains("I keep letters"), "{}: {trial:?}", live.agent.name);
    });
}

#[test]
fn what_a_person_approves_runs() {
    each("approved", HARM, &Meanwhile::Answered("approve"), |live, trial| {
        assert!(trial.ran, "{}: {trial:?}", live.agent.name);
    });
}

#[test]
fn the_call_that_tries_the_gate_is_refused_at_once() {
    each("tried", "countersign-proof-of-gate", &Meanwhile::Nothing, |live, trial| {
        assert!(trial.results().contains("Countersign"), "{}: {trial:?}", live.agent.name);
    });
}

#[test]
fn a_daemon_that_is_killed_while_a_call_waits_lets_nothing_through() {
    each("daemon killed", HARM, &Meanwhile::Killed, |live, trial| {
        assert!(!trial.ran, "{}: {trial:?}", live.agent.name);
        // The daemon may die after it kept the request and before the hook has read its answer.
        let told = trial.results();
        let known = ["still waiting", "nobody could be asked"].iter().any(|say| told.contains(say));
        assert!(known, "{}: {trial:?}", live.agent.name);
    });
}

#[test]
fn without_a_daemon_nothing_risky_runs() {
    let _alone = alone();
    let Some(countersign) = countersign() else { return };
    let tried = meant().filter(|live| full() || !is_slow(*live));
    two_at_a_time(tried, |live| {
        let put_up = |scratch: &mut _| install(live, scratch, &countersign);
        let Some(trial) = trial(live, HARM, None, put_up) else { return };
        println!(
            "{:9} no daemon             {} {:?}",
            live.agent.name,
            trial.word(),
            trial.run.took
        );
        assert!(trial.log.proposed && !trial.ran, "{}: {trial:?}", live.agent.name);
        let told = trial.results();
        assert!(told.contains("nobody could be asked"), "{}: {trial:?}", live.agent.name);
    });
}
