//! Thousands wait: how fast each hears its answer, and what each costs in memory.

use std::fs::File;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use proofs::http::Client;
use serde_json::json;

use super::installation;
use crate::measure::{at, micros};

/// How many of those who wait are answered, one after the other.
const ANSWERED: usize = 400;

/// Lets so many callers wait, answers some, prints.
pub fn agent_run(folder: &Path, callers: usize) -> io::Result<()> {
    let gate = installation(folder)?.start()?;
    let owner = gate.owner()?;
    // The memory of a daemon that has served requests, but has no waiting caller.
    for _ in 0..200 {
        Client::new(gate.agents).send("POST", "/confirm", &[], Some(super::HARMLESS))?;
    }
    let before = gate.memory()?;
    let start = Instant::now();
    let mut waiting = Vec::with_capacity(callers);
    for number in 0..callers {
        waiting.push(Some(ask(gate.agents, number)?));
    }
    while pending(gate.agents)? < callers {
        std::thread::sleep(Duration::from_millis(20));
        if start.elapsed() > Duration::from_mins(4) {
            return Err(io::Error::other("they do not come to wait"));
        }
    }
    let came = start.elapsed();
    let after = gate.memory()?;
    let mut person = Client::with(gate.people, &owner);
    let (mut times, mut floors) = (Vec::new(), Vec::new());
    let mut floor = File::create(folder.join("floor"))?;
    for number in (0..callers).step_by((callers / ANSWERED).max(1)).take(ANSWERED) {
        let place = waiting.get_mut(number).and_then(Option::take);
        let Some(mut caller) = place else { continue };
        times.push(answer(&mut person, &mut caller, number)?);
        floors.push(sync(&mut floor)?);
    }
    times.sort_unstable();
    floors.sort_unstable();
    let kept = u64::try_from(callers).unwrap_or(1).max(1);
    println!(
        "\ngate: {callers} wait (after {came:.1?}), {} answered: decision to the caller's reply \
         µs p50 {} p90 {} p99 {}; a bare append and fdatasync between them p50 {} p99 {}; {:.1} \
         KiB a caller",
        times.len(),
        micros(at(&times, 500)),
        micros(at(&times, 900)),
        micros(at(&times, 990)),
        micros(at(&floors, 500)),
        micros(at(&floors, 990)),
        crate::measure::ratio(after.saturating_sub(before), kept)
    );
    Ok(())
}

/// Asks what only a person can answer, and leaves the answer for later.
fn ask(endpoint: SocketAddr, number: usize) -> io::Result<Client> {
    let said = json!({
        "action": "send_email",
        "description": "Sends the report to Bo.",
        "payload": { "to": "bo@example.org", "subject": "Report", "body": format!("No. {number}") },
        "session_key": format!("n-{number}"),
        "timeout": 600,
    });
    let mut client = Client::new(endpoint).patience(Duration::from_mins(2));
    client.write("POST", "/confirm", &[], Some(&said.to_string()))?;
    Ok(client)
}

/// Nanoseconds of the least that a durable decision costs on this disk at this moment.
fn sync(file: &mut File) -> io::Result<u64> {
    let start = Instant::now();
    file.write_all(&[b'x'; 8192])?;
    file.sync_data()?;
    Ok(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

fn pending(endpoint: SocketAddr) -> io::Result<usize> {
    let reply = Client::new(endpoint).get("/health")?;
    let pending = reply.body.get("pending").and_then(serde_json::Value::as_u64);
    Ok(pending.and_then(|pending| usize::try_from(pending).ok()).unwrap_or(0))
}

/// Nanoseconds from sending a yes to the caller's reply.
fn answer(person: &mut Client, caller: &mut Client, number: usize) -> io::Result<u64> {
    let list = person.get(&format!("/v1/requests?session=n-{number}"))?;
    let one = list.body.pointer("/requests/0");
    let text = |name: &str| one.and_then(|one| one.get(name)?.as_str()).unwrap_or_default();
    let said = json!({
        "choice": "approve", "digest": text("digest"), "reason": "as planned",
        "word": text("phrase"),
    });
    let path = format!("/v1/requests/{}/decision", text("id"));
    let start = Instant::now();
    person.write("POST", &path, &[], Some(&said.to_string()))?;
    let heard = caller.read()?;
    let took = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let decided = person.read()?;
    if heard.text("status") != "approved" || decided.text("state") != "approved" {
        return Err(io::Error::other(format!("{} {}", heard.body, decided.body)));
    }
    Ok(took)
}
