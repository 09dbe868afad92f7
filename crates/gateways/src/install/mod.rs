//! Puts the gate into an agent's own configuration, and takes it out again.
