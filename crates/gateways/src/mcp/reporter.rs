//! Reports to the daemon in the background: calls that passed, and outcomes of approved calls.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use countersign_client::{self as client, AgentClient, ReportStatus};
use countersign_json::canonical::Digest;

use super::server_message;
use crate::daemon_markers::asks_about_every_call;

/// How many passed calls may wait to be recorded; the next one is asked about instead.
const MAX_WAITING: usize = 4000;
/// A longer call is asked about instead.
const MAX_CALL: usize = 16 << 10;
/// How many calls are reported at once.
const CALLS_PER_REPORT: usize = 100;
/// How long calls are collected.
const COLLECT_TIME: Duration = Duration::from_millis(500);
/// How long to wait after the daemon could not be reached.
const RETRY_TIME: Duration = Duration::from_secs(2);
/// How long the last reports may take when the proxy ends.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A call that was approved and runs.
#[derive(Debug, Clone)]
pub struct RunningCall {
    /// The request, if there is one.
    pub request: Option<String>,
    /// The tier.
    pub tier: String,
    /// Equal for the same call again, and for no other call.
    pub identity: String,
    /// Since when it runs.
    pub since: Instant,
}

enum Job {
    /// The members of a call that passed, and when.
    Pass(String, Instant),
    /// What a server answered to an approved call.
    Result(String, client::RunReport),
    /// Another outcome of an approved call, with a summary.
    Outcome(String, ReportStatus, String),
}

/// Reports to the daemon, one after the other, on a thread of its own.
#[derive(Debug)]
pub struct Reporter {
    agent: AgentClient,
    /// The folder of the gateways.
    folder: PathBuf,
    waiting: Arc<AtomicUsize>,
    thread: Mutex<Option<(Sender<Job>, JoinHandle<()>)>>,
}

impl Reporter {
    /// Reports to this daemon; the folder of the gateways says whether everything is frozen.
    pub fn new(agent: AgentClient, folder: &Path) -> Reporter {
        let folder = folder.to_owned();
        Reporter { agent, folder, waiting: Arc::default(), thread: Mutex::new(None) }
    }

    /// Records a call that passes without the daemon. Returns false if it cannot be recorded:
    /// then it must not pass.
    pub fn record_pass(&self, tool: &str, arguments: &str, project: Option<&str>) -> bool {
        let tool = serde_json::Value::from(tool);
        let mut call = format!("\"tool\":{tool},\"arguments\":{arguments}");
        if let Some(project) = project {
            let _ = write!(call, ",\"project\":{}", serde_json::Value::from(project));
        }
        let is_full = call.len() > MAX_CALL || self.waiting.load(Ordering::Relaxed) >= MAX_WAITING;
        if is_full || asks_about_every_call(&self.folder, None, project) {
            return false;
        }
        let is_sent = self.send(Job::Pass(call, Instant::now()));
        if is_sent {
            self.waiting.fetch_add(1, Ordering::Relaxed);
        }
        is_sent
    }

    /// Reports what a server answered: the text of its result or error.
    pub fn report_result(&self, call: &RunningCall, result: Result<&str, &str>) {
        let Some(request) = call.request.clone() else { return };
        let (text, failed) = match result {
            Ok(text) => (text, server_message::is_error(text)),
            Err(text) => (text, true),
        };
        let ran = client::RunReport {
            failed,
            exit_code: None,
            duration_ms: u64::try_from(call.since.elapsed().as_millis()).ok(),
            result_digest: Some(Digest::of(text.as_bytes()).to_string()),
            summary: None,
        };
        self.send(Job::Result(request, ran));
    }

    /// Reports another outcome.
    pub fn report_outcome(&self, call: &RunningCall, outcome: ReportStatus, summary: &str) {
        let Some(request) = call.request.clone() else { return };
        self.send(Job::Outcome(request, outcome, summary.to_owned()));
    }

    fn send(&self, job: Job) -> bool {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let (sender, jobs) = mpsc::channel();
            let (agent, waiting) = (self.agent.clone(), Arc::clone(&self.waiting));
            let started = thread::Builder::new().spawn(move || work(&agent, &jobs, &waiting));
            *thread = started.ok().map(|handle| (sender, handle));
        }
        thread.as_ref().is_some_and(|(sender, _)| sender.send(job).is_ok())
    }

    /// Waits until everything is reported, for a limited time.
    pub fn close(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((sender, thread)) = thread else { return };
        drop(sender);
        let end = Instant::now() + CLOSE_TIMEOUT;
        while !thread.is_finished() && Instant::now() < end {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Reports until the proxy ends.
fn work(agent: &AgentClient, jobs: &Receiver<Job>, waiting: &AtomicUsize) {
    let mut passed: Vec<(String, Instant)> = Vec::new();
    let mut next = Instant::now();
    loop {
        let pause = if passed.is_empty() {
            Duration::from_hours(1)
        } else {
            next.saturating_duration_since(Instant::now())
        };
        let mut has_ended = false;
        match jobs.recv_timeout(pause) {
            Ok(Job::Pass(call, at)) => {
                if passed.is_empty() {
                    next = next.max(Instant::now() + COLLECT_TIME);
                }
                passed.push((call, at));
            }
            // A report that is lost changes nothing about the decision.
            Ok(Job::Result(request, ran)) => drop(agent.report_run(&request, &ran)),
            Ok(Job::Outcome(request, outcome, summary)) => {
                drop(agent.report(&request, outcome, &summary));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => has_ended = true,
        }
        while !passed.is_empty() && (has_ended || Instant::now() >= next) {
            let count = passed.len().min(CALLS_PER_REPORT);
            if !report_passes(agent, passed.get(..count).unwrap_or_default()) {
                next = Instant::now() + RETRY_TIME;
                break;
            }
            passed.drain(..count);
            waiting.fetch_sub(count, Ordering::Relaxed);
        }
        if has_ended {
            return;
        }
    }
}

/// Whether these calls need not be reported again: they are recorded, or never will be.
fn report_passes(agent: &AgentClient, passed: &[(String, Instant)]) -> bool {
    let call = |(call, at): &(String, Instant)| {
        format!("{{{call},\"seconds_ago\":{:.3}}}", at.elapsed().as_secs_f64())
    };
    let calls: Vec<String> = passed.iter().map(call).collect();
    match agent.report_passes("mcp", &calls) {
        Ok(_) => true,
        Err(error) => !error.is_transient(),
    }
}
