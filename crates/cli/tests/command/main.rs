//! The real binary, driven as people and scripts drive it.

mod batch;
mod binary;
mod card;
mod door;
mod eval;
mod help;
mod rules;
