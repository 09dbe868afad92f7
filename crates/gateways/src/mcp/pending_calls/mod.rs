//! Calls that wait for a decision.
//!
//! An open question is one request at the daemon; a waiter is a client that waits for it. A client
//! that gives up leaves its question open, and the same call finds it again. A waiter is taken out
//! of its question under the lock before it gets an update, so it gets one final update.

mod groups;
mod open_questions;
mod queue;
mod waiter;

pub use queue::PendingCalls;
pub use waiter::{CallWaiter, Update};
