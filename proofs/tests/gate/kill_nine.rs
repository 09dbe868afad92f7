//! `kill -9` at random moments under load: responses stay valid, and waiting callers get theirs.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

use proofs::http::Client;
use proofs::installation::{TestInstallation, UNLIMITED};

use crate::fixture::{Fixture, Rng, alone, decide, report_figures, risky, size};
use crate::records::{self, word};

const ASKING: usize = 56;
const DECIDING: usize = 8;

/// Where the daemon is now, and what it has said so far.
struct Board {
    endpoints: RwLock<(SocketAddr, SocketAddr)>,
    over: AtomicBool,
    /// Ends that somebody was told, by request.
    answered: Mutex<HashMap<String, String>>,
    /// Requests that somebody was told of.
    seen: Mutex<HashMap<String, String>>,
    /// Waits that were cut off, and those that were answered after a restart.
    cut: AtomicUsize,
    resumed: AtomicUsize,
    /// Two answers that contradict each other.
    contradictions: Mutex<Vec<String>>,
}

impl Board {
    fn endpoints(&self) -> (SocketAddr, SocketAddr) {
        *self.endpoints.read().unwrap()
    }

    fn told(&self, id: &str, state: &str) {
        let before = self.answered.lock().unwrap().insert(id.to_owned(), state.to_owned());
        if before.as_deref().is_some_and(|before| before != state) {
            self.contradictions.lock().unwrap().push(format!("{id}: {before:?}, then {state}"));
        }
    }

    fn saw(&self, key: &str, id: &str) {
        let before = self.seen.lock().unwrap().insert(key.to_owned(), id.to_owned());
        if before.as_deref().is_some_and(|before| before != id) {
            self.contradictions.lock().unwrap().push(format!("{key}: {before:?}, then {id}"));
        }
    }
}

#[test]
fn what_was_answered_stands_and_who_waited_is_answered() {
    let _alone = alone();
    let kills = size(15, 200);
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::new(TestInstallation::new(folder.path(), UNLIMITED).unwrap());
    let Fixture { installation, gate, owner, agent } = fixture;
    let board = Board {
        endpoints: RwLock::new((gate.agents, gate.people)),
        over: AtomicBool::new(false),
        answered: Mutex::default(),
        seen: Mutex::default(),
        cut: AtomicUsize::new(0),
        resumed: AtomicUsize::new(0),
        contradictions: Mutex::default(),
    };
    let start = Instant::now();
    let gate = std::thread::scope(|scope| {
        for number in 0..ASKING {
            let (board, agent) = (&board, &agent);
            scope.spawn(move || asking(board, agent, number));
        }
        for number in 0..DECIDING {
            let (board, owner) = (&board, &owner);
            scope.spawn(move || deciding(board, owner, number as u64));
        }
        let mut gate = gate;
        let mut rng = Rng(0x5eed_0001);
        for kill in 0..kills {
            std::thread::sleep(Duration::from_millis(30 + rng.below(600)));
            gate.kill().unwrap();
            if kill % 5 == 0 {
                assert_eq!(copy_is_whole(&installation.store()), "ok");
            }
            gate = installation.start().unwrap();
            *board.endpoints.write().unwrap() = (gate.agents, gate.people);
        }
        board.over.store(true, Ordering::Release);
        gate
    });
    let took = start.elapsed();
    gate.kill().unwrap();
    assert_eq!(records::integrity(&installation.store()), "ok");
    check_board(&board, &installation.store());
    let (seen, answered) = (board.seen.lock().unwrap(), board.answered.lock().unwrap());
    report_figures(&format!(
        "kill -9: {kills} kills, {} requests, {} answers, {} waits were cut off, {} of them \
         answered after a restart, {took:.1?}",
        seen.len(),
        answered.len(),
        board.cut.load(Ordering::Acquire),
        board.resumed.load(Ordering::Acquire)
    ));
}

fn check_board(board: &Board, store: &Path) {
    let (seen, answered) = (board.seen.lock().unwrap(), board.answered.lock().unwrap());
    let contradictions = board.contradictions.lock().unwrap();
    assert!(contradictions.is_empty(), "{contradictions:?}");
    let ids = seen.values().chain(answered.keys()).map(String::as_str);
    let records = records::read(store, ids);
    for id in seen.values() {
        assert!(records.states.contains_key(id), "{id} was told and is lost");
    }
    for (id, state) in answered.iter() {
        assert_eq!(records.states.get(id), Some(state), "{id}: answered but not kept");
        assert_eq!(records.ends[id], [word(state)], "{id}: the ledger disagrees");
    }
    assert!(answered.len() > 50, "too little happened: {}", answered.len());
    assert!(board.resumed.load(Ordering::Acquire) > 0, "no wait was cut off");
}

/// Asks, waits, and asks again with the same key until there is an answer.
fn asking(board: &Board, token: &str, number: usize) {
    let mut turn = 0_usize;
    while !board.over.load(Ordering::Acquire) {
        turn += 1;
        let key = format!("k-{number}-{turn}");
        let body = risky(number * 1_000_000 + turn).to_string();
        let (mut endpoint, mut was_cut) = (board.endpoints().0, false);
        let mut client = Client::with(endpoint, token).patience(Duration::from_secs(20));
        // Its answer is fetched even after the last kill: nobody is left without one.
        loop {
            let headers = [("idempotency-key", key.as_str())];
            match client.send("POST", "/v1/requests?wait=10", &headers, Some(&body)) {
                Ok(reply) if reply.status == 200 || reply.status == 201 => {
                    let (id, state) = (reply.text("id"), reply.text("state"));
                    board.saw(&key, id);
                    if state != "pending" {
                        board.told(id, state);
                        board.resumed.fetch_add(usize::from(was_cut), Ordering::AcqRel);
                        break;
                    }
                }
                Ok(reply) => assert_eq!(reply.status, 503, "{}", reply.body),
                Err(_) => {
                    board.cut.fetch_add(usize::from(!was_cut), Ordering::AcqRel);
                    was_cut = true;
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
            if endpoint != board.endpoints().0 {
                endpoint = board.endpoints().0;
                client = Client::with(endpoint, token).patience(Duration::from_secs(20));
            }
        }
    }
}

/// Looks at what is open and decides one after the other, until everybody has an answer.
fn deciding(board: &Board, token: &str, number: u64) {
    let mut rng = Rng(number + 77);
    let mut quiet = 0;
    while quiet < 5 {
        let endpoint = board.endpoints().1;
        let mut client = Client::with(endpoint, token).patience(Duration::from_secs(5));
        let Ok(list) = client.get("/v1/requests?state=pending&limit=60") else {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        let none = Vec::new();
        let open = list.body["requests"].as_array().unwrap_or(&none);
        if open.is_empty() {
            std::thread::sleep(Duration::from_millis(20));
            quiet += i32::from(board.over.load(Ordering::Acquire));
            continue;
        }
        quiet = 0;
        // Slower than the agents ask, so that many wait at every kill.
        for _ in 0..6 {
            let one = &open[usize::try_from(rng.below(open.len() as u64)).unwrap()];
            let (id, digest) = (one["id"].as_str().unwrap(), one["digest"].as_str().unwrap());
            match decide(&mut client, id, digest, rng.below(2) == 0) {
                Ok(reply) if reply.status == 200 => board.told(id, reply.text("state")),
                Ok(_) => {}
                Err(_) => break,
            }
            std::thread::sleep(Duration::from_millis(rng.below(4)));
        }
    }
}

/// The files as the kill left them, checked in another place.
fn copy_is_whole(store: &Path) -> String {
    let place = tempfile::tempdir().unwrap();
    for ending in ["", "-wal"] {
        let name = format!("{}{ending}", store.display());
        if Path::new(&name).exists() {
            std::fs::copy(&name, place.path().join(format!("copy.db{ending}"))).unwrap();
        }
    }
    records::integrity(&place.path().join("copy.db"))
}
