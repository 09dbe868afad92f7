//! A client that waits for a decision.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc::UnboundedSender;

use crate::mcp::approval::ApprovedCall;
use crate::mcp::message::RequestId;
use crate::mcp::replies::{self, CallRefusal};

/// The final update that a waiter gets.
#[derive(Debug)]
pub enum Update {
    /// The call may run.
    Run(ApprovedCall),
    /// The call does not run; the response to the client.
    Answer(String),
}

/// A client that waits for a decision.
pub struct CallWaiter {
    /// Differs from the key of every other waiter: two clients may use the same request id.
    pub key: u64,
    /// Which client it is, as far as the client says so.
    pub scope: String,
    /// The request id, for cancellations, which name nothing else.
    pub request_id: RequestId,
    /// The text of the id.
    pub written_id: String,
    /// Whether the client speaks a modern protocol version.
    pub is_modern: bool,
    /// Whether the request only reads a resource or prompt: then a refusal is an error.
    pub is_read: bool,
    /// How often the client came back already.
    pub round: u8,
    /// Where the update goes.
    pub updates: UnboundedSender<Update>,
}

impl CallWaiter {
    /// A key that no other waiter has.
    pub fn new_key() -> u64 {
        static LAST: AtomicU64 = AtomicU64::new(0);
        LAST.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn refuse(&self, refusal: &CallRefusal) {
        let text = replies::refusal(&self.written_id, refusal, self.is_modern, self.is_read);
        // A client that left needs no answer.
        let _ = self.updates.send(Update::Answer(text));
    }
}

impl fmt::Debug for CallWaiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallWaiter").field("key", &self.key).finish_non_exhaustive()
    }
}
