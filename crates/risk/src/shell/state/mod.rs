//! What one call has set, written, entered and used up while its texts are walked.
//!
//! Each part keeps its data private. Whatever changes or reads it goes through its methods, and
//! those count (see `counters`): the memo and the repeated walks depend on these counts.

mod budget;
mod combinations;
mod counters;
mod eval_state;
mod facts_hold;
mod files;
mod folder_state;
mod folders;
mod functions;
mod memo;
mod memo_use;
mod position;
mod processes;
mod real_folder;
mod variables;
mod walk_again;

pub(super) use budget::{Guess, MAX_COMMANDS};
pub(super) use combinations::{Asked, Binding, Combination};
pub(crate) use eval_state::{Dispatch, EvalState};
pub(super) use folder_state::LinksAside;
pub(super) use folders::Folders;
pub(super) use functions::NamedText;
pub(super) use variables::Variable;
