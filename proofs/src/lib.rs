//! Hostile input for the judgement, and a gate in a folder of its own for the proofs around it.

pub mod families;
pub mod http;
pub mod installation;
