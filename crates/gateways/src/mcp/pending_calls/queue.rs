//! The calls of one proxy that wait: one thread asks the daemon about each.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use countersign_client::{AgentClient, CallRequest, ReportStatus};

use super::open_questions::{OpenQuestion, OpenQuestions, UNKNOWN_REFERENCE};
use super::waiter::{CallWaiter, Update};
use crate::mcp::approval::{
    self, ApprovalResult, ApprovalUse, ApprovedCall, SubmissionMode, not_asked,
};
use crate::mcp::message::RequestId;
use crate::mcp::plan::CallQuestion;
use crate::mcp::replies::{self, CallRefusal};
use crate::mcp::resume_token::ResumeTokens;
use crate::mcp::threads::start;

/// How many questions may be open at once.
pub(super) const MAX_QUESTIONS: usize = 2048;
/// How long approvals are collected, so that calls approved together run in their order.
const COLLECT_TIME: Duration = Duration::from_millis(10);
/// How often a question is asked again because another call used its approval.
const MAX_ATTEMPTS: u8 = 3;
/// How long withdrawing all requests may take when the proxy ends.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// The calls of one proxy that wait.
#[derive(Debug)]
pub struct PendingCalls {
    pub(super) agent: AgentClient,
    tokens: ResumeTokens,
    state: Mutex<OpenQuestions>,
}

impl PendingCalls {
    /// No calls yet.
    pub fn new(agent: AgentClient, tokens: ResumeTokens) -> Arc<PendingCalls> {
        Arc::new(PendingCalls { agent, tokens, state: Mutex::default() })
    }

    /// A client waits for a call. `token` is the resume token that it sent, if any.
    pub fn add(
        self: &Arc<Self>,
        mut call: CallQuestion,
        mut waiter: CallWaiter,
        token: Option<&str>,
    ) {
        let mut state = self.lock();
        state.remove_old();
        let token = token.and_then(|token| self.tokens.read(token, &call.identity));
        let named = token.as_ref().map(|token| token.question);
        if let Some(token) = token {
            waiter.round = token.round;
            call.server_state = token.server_state;
        }
        let named =
            named.filter(|at| state.by_number.get(at).is_some_and(|open| open.waits_for(&call)));
        let same = || {
            let found = state.by_number.iter().filter(|(_, open)| open.waits_for(&call));
            found.map(|(number, _)| *number).min()
        };
        let Some(number) = named.or_else(same) else {
            return self.open(state, call, waiter, 0);
        };
        let Some(open) = state.by_number.get_mut(&number) else { return };
        open.waiter = Some(waiter);
        let Some((result, _)) = open.result.take() else { return };
        drop(state);
        let calls = Arc::clone(self);
        if let Err(error) = start(move || calls.decided(number, result)) {
            self.refuse(number, &error);
        }
    }

    /// Opens a question.
    fn open(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, OpenQuestions>,
        call: CallQuestion,
        waiter: CallWaiter,
        attempts: u8,
    ) {
        if state.by_number.len() >= MAX_QUESTIONS || attempts > MAX_ATTEMPTS {
            drop(state);
            let message = "Not run: too many calls wait for a person already.";
            return waiter.refuse(&CallRefusal::new("unavailable", message));
        }
        // The same call twice at once is two runs, and needs two approvals. An approval for what
        // was sent to the server before is none for this.
        let is_only = !state.has_same(&call.identity);
        let joins = attempts == 0
            && call.server_state.is_none()
            && (is_only || call.question.call_id.is_some());
        let submission = if joins { SubmissionMode::Join } else { SubmissionMode::New };
        let open = OpenQuestion::new(call, waiter, attempts);
        let question = Arc::clone(&open.question);
        let number = state.insert(open);
        drop(state);
        let calls = Arc::clone(self);
        let started = start(move || {
            let result = calls.ask(number, &question, &submission);
            calls.decided(number, result);
        });
        if let Err(error) = started {
            self.refuse(number, &error);
        }
    }

    /// Refuses a call for which no thread could be started.
    pub(super) fn refuse(self: &Arc<Self>, number: u64, error: &io::Error) {
        let refusal = not_asked(&format!("no thread could be started: {error}"));
        self.decided(number, ApprovalResult::Refused(refusal));
    }

    pub(super) fn ask(
        &self,
        number: u64,
        question: &CallRequest,
        submission: &SubmissionMode,
    ) -> ApprovalResult {
        let still_waits = |request: Option<(&str, &str)>| {
            let mut state = self.lock();
            let Some(open) = state.by_number.get_mut(&number) else { return false };
            if let (Some((id, phrase)), None) = (request, &open.request) {
                open.request = Some((id.to_owned(), phrase.to_owned()));
            }
            true
        };
        approval::wait_for_decision(&self.agent, question, submission, still_waits)
    }

    /// The daemon has decided. The decision is kept if no one waits for it now.
    pub(super) fn decided(self: &Arc<Self>, number: u64, result: ApprovalResult) {
        let mut state = self.lock();
        let Some(open) = state.by_number.get_mut(&number) else { return };
        let Some(waiter) = open.waiter.take() else {
            open.result = Some((result, Instant::now()));
            return;
        };
        let Some(open) = state.by_number.remove(&number) else { return };
        drop(state);
        let approved = match result {
            ApprovalResult::Refused(refusal) => return waiter.refuse(&refusal),
            ApprovalResult::Approved(approved) => approved,
        };
        let is_new = |call_id: &str| self.lock().used_ids.insert(call_id);
        match approval::redeem(&self.agent, &open.question, approved, is_new) {
            ApprovalUse::Refused(refusal) => waiter.refuse(&refusal),
            ApprovalUse::Run(mut approved) => {
                approved.server_state = open.server_state;
                self.release(number, waiter, approved);
            }
            ApprovalUse::AskAgain => {
                let mut question = (*open.question).clone();
                question.call_id = None;
                let OpenQuestion { identity, server_state, attempts, .. } = open;
                let call = CallQuestion { question, identity, server_state };
                self.open(self.lock(), call, waiter, attempts + 1);
            }
        }
    }

    /// Lets a call run, after those that were approved with it and came before.
    fn release(&self, number: u64, waiter: CallWaiter, approved: ApprovedCall) {
        let mut state = self.lock();
        state.ready.push((number, waiter, approved));
        if std::mem::replace(&mut state.is_releasing, true) {
            return;
        }
        loop {
            drop(state);
            thread::sleep(COLLECT_TIME);
            state = self.lock();
            let mut ready = std::mem::take(&mut state.ready);
            if ready.is_empty() {
                state.is_releasing = false;
                return;
            }
            drop(state);
            ready.sort_by_key(|(number, ..)| *number);
            for (_, waiter, approved) in ready {
                let request = approved.request.clone();
                let is_sent = waiter.updates.send(Update::Run(approved)).is_ok();
                if let (false, Some(id)) = (is_sent, request) {
                    let summary = "the client left before the call ran";
                    drop(self.agent.report(&id, ReportStatus::Skipped, summary));
                }
            }
            state = self.lock();
        }
    }

    /// The client that waits under this key withdraws its call.
    pub fn withdraw(self: &Arc<Self>, key: u64) -> bool {
        self.remove_where(|waiter| waiter.key == key)
    }

    /// A client cancels its request with this id. Whether the request waited here. A cancellation
    /// that could mean the calls of several clients withdraws none of them.
    pub fn cancel(self: &Arc<Self>, scope: &str, id: &RequestId) -> bool {
        self.remove_where(|waiter| waiter.scope == scope && waiter.request_id == *id)
    }

    fn remove_where(self: &Arc<Self>, matches: impl Fn(&CallWaiter) -> bool) -> bool {
        let mut state = self.lock();
        let mut found =
            state.by_number.iter().filter(|(_, open)| open.waiter.as_ref().is_some_and(&matches));
        let number = match (found.next(), found.next()) {
            (Some((number, _)), None) => *number,
            _ => return false,
        };
        let Some(open) = state.by_number.remove(&number) else { return false };
        drop(state);
        if let Some((id, _)) = open.request {
            let agent = self.agent.clone();
            // Without this thread, the one that waits for the decision cancels the request: it
            // sees that the question is gone.
            let _ = start(move || drop(agent.cancel(&id)));
        }
        true
    }

    /// The client that waits under this key gives up soon: the response that tells it, or the
    /// model, to come back. Nothing if it is about to get its update.
    pub fn end_round(&self, key: u64) -> Option<String> {
        let mut state = self.lock();
        let (number, open) = state.by_number.iter_mut().find(|(_, open)| open.is_of(key))?;
        let waiter = open.waiter.take()?;
        let state = open.server_state.as_ref();
        let token = self.tokens.write(*number, &open.identity, waiter.round + 1, state);
        if let (true, Some(token)) = (waiter.is_modern, token) {
            let result = serde_json::json!({
                "resultType": "input_required",
                "requestState": token,
            });
            return Some(replies::response(&waiter.written_id, &result));
        }
        let message = replies::pending_message(open.reference());
        let request = open.request.as_ref().map(|(id, _)| id.clone());
        let refusal = CallRefusal { status: "pending", message, request };
        Some(replies::refusal(&waiter.written_id, &refusal, waiter.is_modern, waiter.is_read))
    }

    /// What a waiting call is called in messages: its two words, once they are known.
    pub fn reference(&self, key: u64) -> String {
        let state = self.lock();
        let found = state.by_number.values().find(|open| open.is_of(key));
        found.map_or(UNKNOWN_REFERENCE, OpenQuestion::reference).to_owned()
    }

    /// Removes every question. Returns the requests that are still undecided.
    pub fn clear(&self) -> Vec<String> {
        let open = std::mem::take(&mut self.lock().by_number);
        let undecided = open.into_values().filter(|open| open.result.is_none());
        undecided.filter_map(|open| Some(open.request?.0)).collect()
    }

    /// Cancels requests at the daemon, for a limited time. Blocks.
    pub fn cancel_requests(&self, requests: Vec<String>) {
        let end = Instant::now() + CANCEL_TIMEOUT;
        for id in requests {
            if Instant::now() > end {
                return;
            }
            drop(self.agent.cancel(&id));
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, OpenQuestions> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
