//! Edits that are known only after the first edits were written.

use super::command::HookCommand;
use super::edit::FileEdit;
use super::scope::InstallScope;

/// What follows after the first edits were written.
#[derive(Default)]
pub struct FollowUp {
    /// Further edits.
    pub edits: Vec<FileEdit>,
    /// What the person has to do.
    pub messages: Vec<String>,
}

/// For agents that need no further edits.
pub fn no_follow_up(_: &InstallScope, _: &HookCommand) -> FollowUp {
    FollowUp::default()
}
