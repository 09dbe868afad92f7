//! What came of calls that a person approved, told to the gate in the background.

use std::sync::Mutex;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use countersign_client::{Agent, Report};
use countersign_core::canon::Digest;

use super::heard;
use super::session::lock;

/// A call that was approved and runs.
#[derive(Debug, Clone)]
pub struct Ran {
    /// The request, where one is kept.
    pub request: Option<String>,
    /// Its tier.
    pub tier: String,
    /// What makes another call the same one.
    pub same: String,
    /// Since when it runs.
    pub since: Instant,
}

type Told = (String, Report, String);

/// Tells the gate, one after the other.
pub struct Reports {
    agent: Agent,
    line: Mutex<Option<(Sender<Told>, JoinHandle<()>)>>,
}

impl Reports {
    /// At this door.
    pub fn new(agent: Agent) -> Reports {
        Reports { agent, line: Mutex::new(None) }
    }

    /// What a server answered: the text of its result or error.
    pub fn ran(&self, ran: &Ran, result: Result<&str, &str>) {
        let (text, report) = match result {
            Ok(text) if !heard::is_error(text) => (text, Report::Ok),
            Ok(text) | Err(text) => (text, Report::Error),
        };
        let took = ran.since.elapsed().as_millis();
        let digest = Digest::of(text.as_bytes());
        self.say(ran, report, &format!("answered after {took} ms; result sha256:{digest}"));
    }

    /// Anything else that came of it.
    pub fn say(&self, ran: &Ran, report: Report, summary: &str) {
        let Some(request) = ran.request.clone() else { return };
        let mut line = lock(&self.line);
        let (sender, _) = line.get_or_insert_with(|| {
            let (sender, told) = mpsc::channel::<Told>();
            let agent = self.agent.clone();
            let thread = thread::spawn(move || {
                for (request, report, summary) in told {
                    // A report that is lost changes nothing about the decision.
                    let _ = agent.report(&request, report, &summary);
                }
            });
            (sender, thread)
        });
        let _ = sender.send((request, report, summary.to_owned()));
    }

    /// Lets what is on its way arrive, within reason.
    pub fn close(&self) {
        let Some((sender, thread)) = lock(&self.line).take() else { return };
        drop(sender);
        let end = Instant::now() + Duration::from_secs(2);
        while !thread.is_finished() && Instant::now() < end {
            thread::sleep(Duration::from_millis(5));
        }
    }
}
