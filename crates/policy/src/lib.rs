//! Policy rules: which calls are denied, which always ask a person, and which run without a
//! question. Rules see the facts of an assessed call, never its text.
//!
//! No I/O, clock or randomness: the caller reads the files and says what time it is.

mod anchor;
mod annotations;
pub mod case;
mod cedar_error;
mod compile;
mod compiled;
mod facts;
mod limits;
mod names;
mod possible_callers;
mod project;
mod project_case;
mod replaced;
mod request;
mod rule;
mod rule_text;
mod source;
mod stored;
mod strictness;
mod unconfirmed;

pub use compile::PolicyErrors;
pub use compiled::{CompiledPolicy, PolicyRule};
pub use facts::{CallTime, PolicyFacts};
pub use limits::{PermitLimit, PolicyDecision, apply_ruling};
pub use possible_callers::PossibleCaller;
pub use project::{ProjectPolicy, strictest, unreadable_project};
pub use project_case::ProjectReading;
pub use request::SCHEMA;
pub use rule::{PolicySection, RuleSection, TestSection};
pub use source::{PolicyCase, PolicyProblem, PolicySource};
