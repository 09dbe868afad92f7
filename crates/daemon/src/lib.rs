//! The daemon: gate, agent API, people API, deadlines, announcements and signatures.

pub mod api;
pub mod auth;
mod buttons;
mod calibration;
pub mod checkpoints;
pub mod clock;
pub mod config;
mod crisis_pages;
mod descriptors;
mod drills;
mod first_start;
mod fleet;
mod fleet_records;
mod freeze;
pub mod gate;
mod guard_slot;
mod identity;
mod inbound;
mod inbox;
mod integrity_fault;
pub mod judge;
mod judge_watch;
pub mod key_rotation;
pub mod keys;
mod ledger_mark;
pub mod listeners;
pub mod log;
pub mod metrics;
mod modes;
mod notifier;
pub mod otlp;
pub mod passkeys;
mod posting;
mod presence;
pub mod proof;
mod push;
mod random;
mod recent;
mod reload;
mod routes;
pub mod shutdown;
mod start;
mod start_error;
mod store_watch;
#[cfg(test)]
mod test_daemon;
#[cfg(test)]
mod test_gate;
pub mod tls;
mod watch;
mod withdrawals;
mod witness;

pub use first_start::create_owner;
pub use reload::Reloader;
pub use start::{Daemon, Notice};
pub use start_error::StartError;
