//! Hostile input for the assessment, and a test installation of the daemon.

pub mod families;
pub mod http;
pub mod installation;
