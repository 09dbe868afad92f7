//! A stand-in model: proposes one tool call, receives its result and ends the conversation.
//!
//! It is written from the vendors' documented APIs, so that a real agent can be tested without a
//! network, an account or a cost.

use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use super::dialect;
use super::http::{ModelRequest, ModelResponse, read_request};
use crate::agents::tool_call::ModelToolCall;

/// How long an agent may take to send its request.
const IO_TIMEOUT: Duration = Duration::from_secs(20);

/// What the model received during a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelLog {
    /// Every request in short, to find out why an agent did not get further.
    pub requests: Vec<String>,
    /// Whether the call was proposed; without it, a run proves nothing.
    pub proposed: bool,
    /// The results of the call that the agent sent.
    pub results: Vec<String>,
}

/// A running stand-in model. Dropping it stops it.
#[derive(Debug)]
pub struct StandInModel {
    address: SocketAddr,
    log: Arc<Mutex<ModelLog>>,
    stopped: Arc<AtomicBool>,
    listening: Option<JoinHandle<()>>,
}

impl StandInModel {
    /// Starts on a free port of this machine.
    pub fn start(call: ModelToolCall) -> io::Result<StandInModel> {
        StandInModel::start_repeating(call, 1)
    }

    /// Starts a model that proposes the same call several times, each time with a new id.
    pub fn start_repeating(call: ModelToolCall, times: usize) -> io::Result<StandInModel> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let log = Arc::new(Mutex::new(ModelLog::default()));
        let stopped = Arc::new(AtomicBool::new(false));
        let (shared_log, stop) = (Arc::clone(&log), Arc::clone(&stopped));
        let call = Arc::new(call);
        let listening = thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (log, call) = (Arc::clone(&shared_log), Arc::clone(&call));
                thread::spawn(move || {
                    // A closed connection is no error here: the test checks what the agent did.
                    let _ = serve(stream, &call, times, &log);
                });
            }
        });
        Ok(StandInModel { address, log, stopped, listening: Some(listening) })
    }

    /// The address of the model.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it received so far.
    pub fn log(&self) -> ModelLog {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for StandInModel {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // One more connection wakes the thread that waits for connections.
        let woken = TcpStream::connect(self.address).is_ok();
        if let Some(listening) = self.listening.take().filter(|_| woken) {
            let _ = listening.join();
        }
    }
}

fn serve(
    mut stream: TcpStream,
    call: &ModelToolCall,
    times: usize,
    log: &Mutex<ModelLog>,
) -> io::Result<()> {
    stream.set_read_timeout(Some(IO_TIMEOUT))?;
    stream.set_write_timeout(Some(IO_TIMEOUT))?;
    let request = read_request(&mut stream)?;
    let response = respond(&request, call, times, log);
    stream.write_all(&response.to_bytes())?;
    stream.flush()
}

fn respond(
    request: &ModelRequest,
    call: &ModelToolCall,
    times: usize,
    log: &Mutex<ModelLog>,
) -> ModelResponse {
    let ModelRequest { method, path, body } = request;
    let body = serde_json::from_slice(body).unwrap_or(Value::Null);
    let Some(api) = dialect::dialect(path) else {
        update(log, |log| log.requests.push(format!("{method} {path}")));
        return ModelResponse::json(&dialect::other_reply(path));
    };
    let results = (api.results)(&body);
    let offered = (api.offered)(&body);
    let turn = results.len();
    let propose = turn < times && offered.contains(&call.tool);
    update(log, |log| {
        log.requests.push(format!("{method} {path} ({})", offered.join(" ")));
        log.proposed |= propose;
        if !results.is_empty() {
            log.results = results;
        }
    });
    let events =
        if propose { (api.call)(call, &dialect::call_id(turn)) } else { (api.text)("I am done.") };
    if (api.streams)(path, &body) {
        ModelResponse::events(&events)
    } else {
        ModelResponse::json(&(api.whole)(&events))
    }
}

fn update(log: &Mutex<ModelLog>, change: impl FnOnce(&mut ModelLog)) {
    change(&mut log.lock().unwrap_or_else(PoisonError::into_inner));
}
