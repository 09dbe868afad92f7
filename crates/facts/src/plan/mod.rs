//! Dry runs: what a tool would do, read from its own files. No tool is started: its configuration,
//! plugins and hooks are programs, and the agent can write them.

mod kubernetes;
mod manifest;
mod migrations;
mod parts;
mod protobuf;
mod push;
mod statements;
mod terraform;
mod zip;

use std::path::Path;

use countersign_risk::facts::{PlanFact, PlanTool, UnknownReason};

use crate::local_look::LocalLook;

/// What a tool would do with these words in this folder.
pub fn find(
    look: &LocalLook<'_>,
    tool: PlanTool,
    folder: &Path,
    words: &[String],
) -> Result<PlanFact, UnknownReason> {
    match tool {
        PlanTool::GitPush => push::plan(look, folder, words),
        PlanTool::Terraform => terraform::plan(look, folder, words),
        PlanTool::Kubernetes => kubernetes::plan(look, folder, words),
        PlanTool::Migrations => migrations::plan(look, folder, words),
    }
}
