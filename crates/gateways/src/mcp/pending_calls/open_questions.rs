//! Questions that the daemon was asked, until a client has the decision.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use countersign_client::CallRequest;

use super::waiter::CallWaiter;
use crate::mcp::approval::{ApprovalResult, ApprovedCall};
use crate::mcp::plan::CallQuestion;
use crate::mcp::resume_token::ServerState;
use crate::mcp::used_ids::UsedIds;

/// How long a decision is kept for a client that gave up waiting.
const KEEP_TIME: Duration = Duration::from_mins(10);

/// The reference of a question that the daemon does not have yet.
pub(super) const UNKNOWN_REFERENCE: &str = "not yet at the gate";

/// A question that the daemon was asked.
#[derive(Debug)]
pub(super) struct OpenQuestion {
    pub identity: String,
    /// What the call carries for its server.
    pub server_state: Option<ServerState>,
    pub question: Arc<CallRequest>,
    /// How often its approval turned out to be used by another call.
    pub attempts: u8,
    /// The request's id and its two words, once they are known.
    pub request: Option<(String, String)>,
    pub waiter: Option<CallWaiter>,
    /// The decision, kept for a client that comes back.
    pub result: Option<(ApprovalResult, Instant)>,
}

impl OpenQuestion {
    /// A question that one client waits for.
    pub fn new(question: CallQuestion, waiter: CallWaiter, attempts: u8) -> OpenQuestion {
        let CallQuestion { question, identity, server_state } = question;
        let (question, waiter) = (Arc::new(question), Some(waiter));
        let (request, result) = (None, None);
        OpenQuestion { identity, server_state, question, attempts, request, waiter, result }
    }

    /// Whether the client with this key waits for it.
    pub fn is_of(&self, key: u64) -> bool {
        self.waiter.as_ref().is_some_and(|waiter| waiter.key == key)
    }

    /// What it is called in messages: its two words, once they are known.
    pub fn reference(&self) -> &str {
        self.request.as_ref().map_or(UNKNOWN_REFERENCE, |(_, phrase)| phrase)
    }

    /// Whether a call that comes back finds this question. A decision about a tool before it
    /// changed is none about the changed tool.
    pub fn waits_for(&self, call: &CallQuestion) -> bool {
        self.waiter.is_none()
            && self.identity == call.identity
            && self.server_state == call.server_state
            && self.question.ignore_grants == call.question.ignore_grants
    }
}

/// All open questions, and what is about to run.
#[derive(Debug, Default)]
pub(super) struct OpenQuestions {
    pub by_number: HashMap<u64, OpenQuestion>,
    pub last: u64,
    /// Approved calls that are about to run, in the order of their questions.
    pub ready: Vec<(u64, CallWaiter, ApprovedCall)>,
    pub is_releasing: bool,
    /// Call ids of calls that ran: by an approval that we used, or that their hook had used.
    pub used_ids: UsedIds,
}

impl OpenQuestions {
    /// Adds a question. Returns its number.
    pub fn insert(&mut self, question: OpenQuestion) -> u64 {
        self.last += 1;
        self.by_number.insert(self.last, question);
        self.last
    }

    /// Whether the same call is open.
    pub fn has_same(&self, identity: &str) -> bool {
        self.by_number.values().any(|open| open.identity == identity)
    }

    /// Forgets decisions that no client came back for.
    pub fn remove_old(&mut self) {
        let is_old = |open: &OpenQuestion| {
            open.result.as_ref().is_some_and(|(_, at)| at.elapsed() > KEEP_TIME)
        };
        self.by_number.retain(|_, open| open.waiter.is_some() || !is_old(open));
    }
}
