//! The gate: two doors, deadlines, announcements, signatures, and one readable path through it.

pub mod api;
pub mod auth;
mod chance;
pub mod clock;
pub mod config;
pub mod doors;
pub mod gate;
#[cfg(test)]
mod house;
pub mod keys;
mod start;
mod watch;

pub use start::{Daemon, Notice, StartError};
