//! Recorded calls, assessed again in their sessions.

pub mod example;
pub mod session_run;
pub mod source;
