//! Assesses a tool call: what it would do, how risky that is, and why.
//!
//! No I/O, clock or randomness: the same call and context always give the same assessment.

pub mod assess;
pub mod assessment;
mod basic_readers;
pub mod batch;
pub mod call;
pub mod call_digest;
pub mod call_view;
pub mod card;
mod cmd;
pub mod code;
pub mod command_tables;
pub mod command_text;
pub mod context;
pub mod effect;
pub mod facts;
pub mod finding;
mod flow;
mod headline;
mod hidden_text;
pub mod impact;
mod language;
mod limit;
mod name_lists;
mod nested_command;
pub mod paths;
mod powershell;
pub mod prose;
pub mod question;
pub mod readers;
pub mod redact;
mod reverse_shell;
pub mod route;
mod rule_glob;
pub mod rules;
pub mod score;
pub mod session;
pub mod session_answer;
mod session_trace;
mod shell;
pub mod sql;
mod structural_findings;
pub mod summary;
pub mod tools;
pub mod verdict;
pub mod word_pair;
