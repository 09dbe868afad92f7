//! The flow of messages, whatever carries them: a message of a client is planned, then forwarded,
//! held until the daemon has decided, or rejected; the server's response gives the outcome.

mod batch_plan;
mod batches;
mod calls;
mod client_roots;
mod decisions;
mod listing;
mod messages;
pub mod observer;
mod state;
mod tasks;
pub mod transport;

pub use state::Engine;
