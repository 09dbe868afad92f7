//! Which commands have a dry run: the questions about what a tool itself says that it would do.

use super::evaluator::Evaluator;
use super::invocation::Invocation;
use crate::facts::{FactQuery, PlanTool};
use crate::name_lists::GIT_VARIABLES;
use crate::paths::last_part;
use countersign_shell::UNKNOWN;

/// The most words of a command with a dry run.
const MAX_WORDS: usize = 64;
/// The longest word.
const MAX_WORD: usize = 512;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Asks what a tool would do. The answer changes nothing in the assessment.
    pub(super) fn observed_plan(&mut self, inv: &Invocation<'_, 't>) {
        if self.shared.ctx.facts.is_none() || self.shared.rights.elsewhere {
            return;
        }
        let Some(tool) = tool_of(inv) else { return };
        let folder = self.shared.observed_path(".");
        let variables = &self.shared.variables;
        let is_moved = ["HOME", "PATH", "XDG_CONFIG_HOME"]
            .iter()
            .chain(GIT_VARIABLES)
            .any(|name| variables.get(name).is_some());
        let words = known_words(inv).filter(|_| folder.is_some() && !is_moved);
        let folder = folder.unwrap_or_else(|| ".".to_owned());
        let is_first = self.shared.facts_hold.is_sure();
        self.shared.fact(FactQuery::Plan { tool, folder, words, is_first });
    }
}

/// The words behind the program. None if one is not known, or if options stand before the
/// subcommand, which may name another folder.
fn known_words(inv: &Invocation<'_, '_>) -> Option<Vec<String>> {
    let words = inv.args.get(1..)?;
    let is_plain = |word: &str| word.len() <= MAX_WORD && !word.contains(UNKNOWN);
    let all = words.iter().all(|arg| is_plain(&arg.text) && !arg.glob);
    let starts = inv.operand(0) == words.first().map(|arg| arg.text.as_ref());
    let fits = all && starts && words.len() <= MAX_WORDS;
    fits.then(|| words.iter().map(|arg| arg.text.to_string()).collect())
}

/// The tool of a command that has a dry run.
fn tool_of(inv: &Invocation<'_, '_>) -> Option<PlanTool> {
    let name = inv.args.first().map(|arg| last_part(&arg.text))?;
    let second = || inv.operand(1).unwrap_or_default();
    match (name, inv.operand(0)?) {
        ("git", "push") => {
            let is_dry = |text: &str| ["--dry-run", "-n", "--help", "-h"].contains(&text);
            (!inv.args.iter().any(|arg| is_dry(&arg.text))).then_some(PlanTool::GitPush)
        }
        ("terraform" | "tofu", "apply") => Some(PlanTool::Terraform),
        ("kubectl" | "oc", "apply" | "create" | "delete" | "replace") => {
            names_files(inv).then_some(PlanTool::Kubernetes)
        }
        ("alembic", "upgrade") | ("rails" | "rake", "db:migrate") => Some(PlanTool::Migrations),
        ("prisma", "migrate") if second() == "deploy" => Some(PlanTool::Migrations),
        ("sqlx", "migrate") | ("diesel", "migration") if second() == "run" => {
            Some(PlanTool::Migrations)
        }
        _ => None,
    }
}

/// Whether a command of `kubectl` reads manifests.
fn names_files(inv: &Invocation<'_, '_>) -> bool {
    let is_option = |text: &str| {
        let long = ["--filename", "--kustomize"].iter().any(|name| text.starts_with(name));
        long || (text.starts_with("-f") || text.starts_with("-k"))
    };
    inv.args.iter().skip(1).any(|arg| is_option(&arg.text))
}
