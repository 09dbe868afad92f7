//! What the gate is told in the background: calls that passed here, what came of approved ones.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use countersign_client::{self as client, Agent, Report};
use countersign_json::canonical::Digest;

use super::heard;
use super::session::lock;

/// So many calls that passed may wait to be written down; the next one goes through the gate.
const MOST: usize = 4000;
/// A call that is longer goes through the gate.
const LONGEST: usize = 16 << 10;
/// So many are told at once.
const AT_ONCE: usize = 100;
/// How long calls are gathered.
const GATHER: Duration = Duration::from_millis(500);
/// How long to wait for a daemon that is not there.
const LATER: Duration = Duration::from_secs(2);

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

enum News {
    /// The members of a call, and when it passed.
    Passed(String, Instant),
    Ran(String, client::Ran),
    Ended(String, Report, String),
}

/// Tells the gate, one after the other.
pub struct Reports {
    agent: Agent,
    waiting: Arc<AtomicUsize>,
    line: Mutex<Option<(Sender<News>, JoinHandle<()>)>>,
}

impl Reports {
    /// At this door.
    pub fn new(agent: Agent) -> Reports {
        Reports { agent, waiting: Arc::default(), line: Mutex::new(None) }
    }

    /// A call passes without the gate. Whether it will be written down; if not, it must not pass.
    pub fn passes(&self, tool: &str, arguments: &str) -> bool {
        let tool = serde_json::Value::from(tool);
        let call = format!("\"tool\":{tool},\"arguments\":{arguments}");
        if call.len() > LONGEST || self.waiting.load(Ordering::Relaxed) >= MOST {
            return false;
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.send(News::Passed(call, Instant::now()))
    }

    /// What a server answered: the text of its result or error.
    pub fn ran(&self, ran: &Ran, result: Result<&str, &str>) {
        let Some(request) = ran.request.clone() else { return };
        let (text, failed) = match result {
            Ok(text) => (text, heard::is_error(text)),
            Err(text) => (text, true),
        };
        let told = client::Ran {
            failed,
            exit_code: None,
            duration_ms: u64::try_from(ran.since.elapsed().as_millis()).ok(),
            result_digest: Some(Digest::of(text.as_bytes()).to_string()),
        };
        self.send(News::Ran(request, told));
    }

    /// Anything else that came of it.
    pub fn say(&self, ran: &Ran, report: Report, summary: &str) {
        let Some(request) = ran.request.clone() else { return };
        self.send(News::Ended(request, report, summary.to_owned()));
    }

    fn send(&self, news: News) -> bool {
        let mut line = lock(&self.line);
        let (sender, _) = line.get_or_insert_with(|| {
            let (sender, told) = mpsc::channel();
            let (agent, waiting) = (self.agent.clone(), Arc::clone(&self.waiting));
            (sender, thread::spawn(move || tell(&agent, &told, &waiting)))
        });
        sender.send(news).is_ok()
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

/// Tells the gate until nobody has anything more to tell.
fn tell(agent: &Agent, news: &Receiver<News>, waiting: &AtomicUsize) {
    let mut passed: Vec<(String, Instant)> = Vec::new();
    let mut next = Instant::now();
    loop {
        let pause = if passed.is_empty() {
            Duration::from_hours(1)
        } else {
            next.saturating_duration_since(Instant::now())
        };
        let ended = match news.recv_timeout(pause) {
            Ok(News::Passed(call, at)) => {
                if passed.is_empty() {
                    next = next.max(Instant::now() + GATHER);
                }
                passed.push((call, at));
                false
            }
            // A report that is lost changes nothing about the decision.
            Ok(News::Ran(request, ran)) => {
                let _ = agent.report_run(&request, &ran);
                false
            }
            Ok(News::Ended(request, report, summary)) => {
                let _ = agent.report(&request, report, &summary);
                false
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => true,
        };
        while !passed.is_empty() && (ended || Instant::now() >= next) {
            let some = passed.len().min(AT_ONCE);
            if !send(agent, passed.get(..some).unwrap_or_default()) {
                next = Instant::now() + LATER;
                break;
            }
            passed.drain(..some);
            waiting.fetch_sub(some, Ordering::Relaxed);
        }
        if ended {
            return;
        }
    }
}

/// Whether these need not be told again: they are written down, or never will be.
fn send(agent: &Agent, passed: &[(String, Instant)]) -> bool {
    let call = |(call, at): &(String, Instant)| {
        format!("{{{call},\"seconds_ago\":{:.3}}}", at.elapsed().as_secs_f64())
    };
    let calls: Vec<String> = passed.iter().map(call).collect();
    match agent.report_passes("mcp", &calls) {
        Ok(_) => true,
        Err(error) => !error.passes_by_itself(),
    }
}
