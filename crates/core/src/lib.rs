//! The pure judgement of Countersign: no I/O, no clock, no randomness; same input, same output.

pub mod assess;
pub mod batch;
pub mod brief;
pub mod call;
pub mod canon;
pub mod card;
pub mod code;
pub mod context;
pub mod crisis;
pub mod effect;
pub mod finding;
pub mod glob;
pub mod impact;
pub mod json;
pub mod paths;
pub mod phrase;
pub mod redact;
pub mod rules;
pub mod score;
pub mod shell;
pub mod show;
pub mod sql;
pub mod text;
pub mod tier;
pub mod tools;
pub mod verdict;
