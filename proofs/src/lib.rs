//! Hostile input for the judgement, shared by the proofs in `tests/` and by the benches.

pub mod families;
