//! Snapshots of real files: restored byte for byte, killed at any moment, attacked.

mod after_states;
mod hostile;
mod killed;
mod listing;
mod random_edits;
mod retention;
