//! Random sequences of grants, learning, denials, expiry and policy changes: no call passes that
//! its own tier, a crisis or a policy rule forbids, no grant covers more than was granted, no
//! argument passes that a grant does not name, and no budget is exceeded.
//!
//! A failure names its seed: `SEED=123 cargo test -p countersign-workflow --test grant_simulation`
//! repeats it. `STEPS=1000000` runs more steps.

#[cfg(test)]
mod samples;
#[cfg(test)]
mod simulation;
