//! The dry run of a tool: what it would do, as its own files say, without running it.
//!
//! A dry run never changes a tier. It is shown to the person who decides, and its digest is part of
//! what is approved: if the plan is another one when the call runs, that is another call.

use serde::{Deserialize, Serialize};

use super::{CallFacts, Fact, FactAnswer, FactQuery, UnknownReason};
use countersign_json::canonical::Digest;

/// The most lines of a dry run on a card.
pub const MAX_PLAN_LINES: usize = 12;

/// A tool whose plan can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanTool {
    /// `git push`: refs, commits and files.
    GitPush,
    /// `terraform apply` and `tofu apply`: the saved plan.
    Terraform,
    /// `kubectl apply -f` and the like: the objects in the manifests.
    Kubernetes,
    /// A tool that migrates a database: the migrations in the folder.
    Migrations,
}

impl PlanTool {
    /// What the tool does, for a sentence.
    const fn noun(self) -> &'static str {
        match self {
            PlanTool::GitPush => "push",
            PlanTool::Terraform => "Terraform command",
            PlanTool::Kubernetes => "Kubernetes command",
            PlanTool::Migrations => "migration",
        }
    }
}

/// What a tool would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFact {
    /// In words, the most important line first.
    pub lines: Vec<String>,
    /// The digest of everything that decides what it would do, as far as it was read.
    pub digest: Digest,
}

impl CallFacts {
    /// The digests of the plans, sorted. They are part of what is approved.
    pub fn plan_digests(&self) -> Vec<Digest> {
        let mut digests: Vec<Digest> =
            plans(self).filter_map(|(_, plan)| plan.ok()).map(|plan| plan.digest).collect();
        digests.sort_unstable_by_key(|digest| *digest.as_bytes());
        digests.dedup();
        digests
    }
}

/// The dry runs in words. Whoever else than the hook says that it looked is not quoted: an agent
/// could describe its call as it likes.
pub fn plan_lines(facts: &CallFacts) -> Vec<String> {
    let mut lines = Vec::new();
    for (query, plan) in plans(facts) {
        let FactQuery::Plan { tool, .. } = query else { continue };
        match plan {
            Ok(plan) if facts.can_lower() => lines.extend(plan.lines.iter().cloned()),
            Ok(_) => {
                let noun = tool.noun();
                lines.push(format!("not shown: the hook did not read what this {noun} would do"));
            }
            Err(reason) => lines.push(unread(query, reason)),
        }
    }
    let left = lines.len().saturating_sub(MAX_PLAN_LINES);
    if left > 0 {
        lines.truncate(MAX_PLAN_LINES - 1);
        lines.push(format!("{} more lines are not shown", left + 1));
    }
    lines
}

/// The questions about plans with their answers; an answer to another question counts as none.
fn plans(
    facts: &CallFacts,
) -> impl Iterator<Item = (&FactQuery, Result<&PlanFact, UnknownReason>)> {
    let about_plan = |fact: &&Fact| matches!(fact.query, FactQuery::Plan { .. });
    facts.found.iter().filter(about_plan).map(|fact| {
        let plan = match &fact.answer {
            FactAnswer::Plan(plan) => Ok(plan),
            FactAnswer::Unknown { reason } => Err(*reason),
            _ => Err(UnknownReason::Unsupported),
        };
        (&fact.query, plan)
    })
}

/// Why there is no dry run, in words.
fn unread(query: &FactQuery, reason: UnknownReason) -> String {
    let FactQuery::Plan { tool, words, is_first, .. } = query else { return String::new() };
    let why = match reason {
        _ if !is_first => "another part of the command may change it or run it elsewhere",
        _ if words.is_none() => "its words or its folder are only known when it runs",
        UnknownReason::Deadline => "reading it took too long",
        UnknownReason::Missing if *tool == PlanTool::Terraform => {
            "it names no saved plan; `terraform plan -out=FILE` and `terraform apply FILE` show it"
        }
        UnknownReason::Missing => "its files were not found",
        UnknownReason::Unreadable => "its files may not be read",
        UnknownReason::NotRegular => "it does not read from ordinary files",
        UnknownReason::NotText => "its files are not text",
        UnknownReason::TooLarge => "its files are too large",
        UnknownReason::Changed => "its files changed while they were read",
        UnknownReason::Unsupported => "this form is not read",
    };
    format!("no dry run, what this {} would do is not known: {why}", tool.noun())
}
