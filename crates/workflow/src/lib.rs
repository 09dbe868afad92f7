//! What happens to a request: its states, who may approve it, grants, escalation and on-call.
//!
//! No I/O, clock or randomness: the caller passes in the time and stores the results.

pub mod assurance;
pub mod grant;
pub mod learning;
pub mod oncall;
pub mod request;
pub mod review;
