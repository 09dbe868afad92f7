//! Sixteen concurrent deciders and deadlines: each request ends once, and every reader agrees.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

use proofs::http::Client;
use proofs::installation::{TestInstallation, UNLIMITED};
use serde_json::json;

use crate::fixture::{Fixture, Rng, alone, decide, report_figures, risky, size, within};
use crate::records::{self, word};

const DECIDERS: usize = 16;
const WAVE: usize = 20;

#[derive(Clone)]
struct Open {
    id: String,
    digest: String,
}

/// What was heard about each request: by those who decided and by those who waited.
type Heard = Mutex<HashMap<String, Vec<String>>>;

fn hear(heard: &Heard, id: &str, state: &str) {
    heard.lock().unwrap().entry(id.to_owned()).or_default().push(state.to_owned());
}

#[test]
fn every_request_ends_once_and_all_readers_agree() {
    let _alone = alone();
    let many = size(500, 20_000);
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::new(TestInstallation::new(folder.path(), UNLIMITED).unwrap());
    let (heard, start) = (Heard::default(), Instant::now());
    let mut tally = HashMap::new();
    for wave in 0..many.div_ceil(WAVE) {
        let open = ask(&fixture, wave);
        race(&fixture, wave, &open, &heard);
        for one in &open {
            // Two readers of the two APIs, after everything is over.
            let path = format!("/v1/requests/{}", one.id);
            let own = fixture.agent_client().get(&path).unwrap();
            let all = fixture.owner_client().get(&path).unwrap();
            hear(&heard, &one.id, own.text("state"));
            hear(&heard, &one.id, all.text("state"));
            *tally.entry(own.text("state").to_owned()).or_insert(0) += 1;
        }
    }
    let took = start.elapsed();
    assert!(fixture.gate.stop().unwrap());
    let heard = heard.into_inner().unwrap();
    let records = records::read(&fixture.installation.store(), heard.keys().map(String::as_str));
    for (id, words) in &heard {
        let state = &records.states[id];
        assert_ne!(state, "pending", "{id} never ended");
        assert!(words.iter().all(|word| word == state), "{id}: {words:?}, the row says {state}");
        assert_eq!(records.ends[id], [word(state)], "{id}: the ledger disagrees");
    }
    assert_eq!(records.ends.len(), heard.len());
    // A race that always ends alike is none.
    assert!(tally.len() >= 3, "{tally:?}");
    report_figures(&format!(
        "races: {} requests x {DECIDERS} deciders, {tally:?}, {took:.1?}",
        heard.len()
    ));
}

fn ask(fixture: &Fixture, wave: usize) -> Vec<Open> {
    let mut client = fixture.agent_client();
    let mut rng = Rng(0x9e37_79b9 + wave as u64);
    let asked = (0..WAVE).map(|number| {
        let call = risky(wave * WAVE + number);
        // A third of them runs out of time while the others decide.
        let seconds = if number % 3 == 0 { 0.001 * f64::from(20 + rng.small(300)) } else { 60.0 };
        let reply = client.post("/v1/requests", &within(call, seconds)).unwrap();
        assert_eq!(reply.status, 201, "{}", reply.body);
        Open { id: reply.text("id").to_owned(), digest: reply.text("digest").to_owned() }
    });
    asked.collect()
}

fn race(fixture: &Fixture, wave: usize, open: &[Open], heard: &Heard) {
    std::thread::scope(|scope| {
        for one in open {
            let mut client = fixture.agent_client();
            scope.spawn(move || {
                let reply = client.get(&format!("/v1/requests/{}/wait?seconds=60", one.id));
                hear(heard, &one.id, reply.unwrap().text("state"));
            });
        }
        for decider in 0..DECIDERS {
            let (mut person, mut agent) = (fixture.owner_client(), fixture.agent_client());
            scope.spawn(move || {
                let mut rng = Rng(((wave * DECIDERS + decider) as u64 + 1) << 20);
                for turn in 0..open.len() {
                    let one = &open[(turn + decider) % open.len()];
                    act(&mut person, &mut agent, one, rng.below(8), heard);
                }
            });
        }
    });
}

fn act(person: &mut Client, agent: &mut Client, one: &Open, roll: u64, heard: &Heard) {
    let reply = match roll {
        0..3 => decide(person, &one.id, &one.digest, true),
        3..6 => decide(person, &one.id, &one.digest, false),
        6 => agent.post(&format!("/v1/requests/{}/cancel", one.id), &json!({})),
        _ => return,
    };
    let reply = reply.unwrap();
    match reply.status {
        200 => hear(heard, &one.id, reply.text("state")),
        409 => {}
        _ => panic!("{} {}", reply.status, reply.body),
    }
}
