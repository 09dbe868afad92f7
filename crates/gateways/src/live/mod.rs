//! Proof that a gate is shut: real agents, started against a model of ours that only proposes.
