//! The gate: two doors, deadlines, announcements, signatures, and one readable path through it.

pub mod api;
pub mod auth;
mod buttons;
mod calibration;
mod chance;
pub mod checkpoints;
pub mod clock;
pub mod config;
mod courier;
pub mod doors;
mod drills;
mod ears;
pub mod gate;
#[cfg(test)]
mod house;
mod inbox;
pub mod keys;
pub mod log;
pub mod metrics;
pub mod otlp;
pub mod passkeys;
mod posting;
mod presence;
pub mod proof;
mod push;
mod recent;
mod start;
#[cfg(test)]
mod trial;
mod watch;
mod witness;

pub use start::{Daemon, Notice, StartError};
