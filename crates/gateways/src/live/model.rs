//! A model of our own: proposes one tool call, hears what came of it, and says goodbye.
//!
//! It stands in for the vendors' models, written from their documented streams. It exists so that
//! a real agent can be seen at its gate without a network, an account or a cost.

use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use super::http::{self, Asked};
use super::speech;

/// How long an agent may take to send its question.
const SLOWEST: Duration = Duration::from_secs(20);

/// The call that the model proposes.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// The tool, by the name that the agent gives it.
    pub tool: &'static str,
    /// The family that the tool is offered in, where an agent gives each server one.
    pub family: Option<&'static str>,
    /// Its arguments: an object.
    pub arguments: Value,
}

impl Proposal {
    /// A call of one of the agent's own tools.
    pub fn own(tool: &'static str, arguments: Value) -> Proposal {
        Proposal { tool, family: None, arguments }
    }
}

/// What the model saw of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Every request, in short: for whoever wonders why an agent did not come far.
    pub asked: Vec<String>,
    /// Whether the call was proposed: an agent that never got so far proves nothing.
    pub proposed: bool,
    /// What the agent told the model of the call.
    pub told: Vec<String>,
}

/// A model that listens. Dropping it ends it.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    over: Arc<AtomicBool>,
    listening: Option<JoinHandle<()>>,
}

impl Model {
    /// Starts on a free port of this machine.
    pub fn start(proposal: Proposal) -> io::Result<Model> {
        Model::insisting(proposal, 1)
    }

    /// One that proposes the same call so many times, each time under a new name.
    pub fn insisting(proposal: Proposal, times: usize) -> io::Result<Model> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let seen = Arc::new(Mutex::new(Seen::default()));
        let over = Arc::new(AtomicBool::new(false));
        let (heard, ended) = (Arc::clone(&seen), Arc::clone(&over));
        let proposal = Arc::new(proposal);
        let listening = thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (heard, proposal) = (Arc::clone(&heard), Arc::clone(&proposal));
                thread::spawn(move || {
                    // An agent that hangs up is no matter: what counts is what it did.
                    let _ = answer(stream, &proposal, times, &heard);
                });
            }
        });
        Ok(Model { address, seen, over, listening: Some(listening) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it saw so far.
    pub fn seen(&self) -> Seen {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // One more caller wakes the thread that waits for callers.
        let woken = TcpStream::connect(self.address).is_ok();
        if let Some(listening) = self.listening.take().filter(|_| woken) {
            let _ = listening.join();
        }
    }
}

fn answer(
    mut stream: TcpStream,
    proposal: &Proposal,
    times: usize,
    seen: &Mutex<Seen>,
) -> io::Result<()> {
    stream.set_read_timeout(Some(SLOWEST))?;
    stream.set_write_timeout(Some(SLOWEST))?;
    let asked = http::read(&mut stream)?;
    let reply = reply(&asked, proposal, times, seen);
    stream.write_all(&http::written(&reply))?;
    stream.flush()
}

fn reply(asked: &Asked, proposal: &Proposal, times: usize, seen: &Mutex<Seen>) -> http::Answer {
    let question = serde_json::from_slice(&asked.body).unwrap_or(Value::Null);
    let Some(tongue) = speech::tongue(&asked.path) else {
        note(seen, |seen| seen.asked.push(format!("{} {}", asked.method, asked.path)));
        return http::Answer::json(&speech::small_talk(&asked.path));
    };
    let told = (tongue.told)(&question);
    let offered = (tongue.offered)(&question);
    let turn = told.len();
    let propose = turn < times && offered.iter().any(|name| name == proposal.tool);
    note(seen, |seen| {
        let offered = offered.join(" ");
        seen.asked.push(format!("{} {} ({offered})", asked.method, asked.path));
        seen.proposed |= propose;
        if !told.is_empty() {
            seen.told = told;
        }
    });
    let stream = (tongue.streams)(&asked.path, &question);
    let said = if propose {
        (tongue.call)(proposal, &speech::call_id(turn))
    } else {
        (tongue.words)("I am done.")
    };
    if stream { http::Answer::events(&said) } else { http::Answer::json(&(tongue.whole)(&said)) }
}

fn note(seen: &Mutex<Seen>, change: impl FnOnce(&mut Seen)) {
    change(&mut seen.lock().unwrap_or_else(PoisonError::into_inner));
}
