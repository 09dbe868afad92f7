//! Inbound replies of people through channels.
//!
//! A channel verifies the account; the directory knows its person; the state machine decides
//! whether the reply counts. A reply that cannot be parsed changes nothing.

mod context;
mod freeze_command;
mod handle;
mod link_codes;
mod list_pending;
mod outcome_text;
mod polling;
mod receive;
mod replay_guard;
mod responder;

#[cfg(test)]
mod tests;

pub use context::InboundContext;
pub use polling::run;
pub use receive::posted;
