//! A read-only look at what a call names, for its assessment.
//!
//! The look runs no program, follows no configuration that could run one, opens only regular files
//! and never waits: when the time is over, the questions that are left have no answer. Everything
//! that is read was written by others, possibly by the agent, so all of it is bounded.

mod current;
mod files;
mod git;
mod limits;
mod local_look;
mod look;
mod make;
mod package;
mod path;
mod plan;
mod project_file;
mod script;
mod tree;

pub use limits::LookLimits;
pub use local_look::LookPlace;
pub use look::{assess_with_look, assess_with_look_by, look};
pub use project_file::{MAX_PROJECT_FILES, ProjectFile, ProjectLook, has_project_file};
