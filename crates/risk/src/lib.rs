//! Assesses a tool call: what it would do, how risky that is, and why.
//!
//! No I/O, clock or randomness: the same call and context always give the same assessment.

pub mod assess;
pub mod batch;
pub mod call;
pub mod call_digest;
pub mod call_view;
pub mod card;
pub mod cmd;
pub mod code;
pub mod context;
pub mod effect;
pub mod facts;
pub mod finding;
mod headline;
pub mod impact;
mod limit;
pub mod paths;
pub mod powershell;
pub mod redact;
pub mod route;
pub mod rules;
pub mod score;
pub mod shell;
pub mod sql;
pub mod summary;
pub mod tools;
pub mod verdict;
mod windows_path;
pub mod word_pair;
