//! What an observer found on the machine, for the commands that depend on it.
//!
//! Facts that make a command worse always count. Facts that make it harmless count only if they are
//! complete, the observer is trusted, and nothing in the call could have changed them before the
//! command runs.

use super::evaluator::Evaluator;
use super::state::EvalState;
use crate::facts::{
    CallFacts, FactAnswer, FactQuery, PathFact, PathKind, TargetFact, UnknownReason,
};
use crate::paths::{PathAction, PathClass, class_of};
use crate::structural_findings;
use countersign_shell::UNKNOWN;
use countersign_types::tier::Tier;

/// Signs in a path that only a shell can resolve.
const COMPUTED: [char; 7] = [UNKNOWN, '*', '?', '[', '{', '$', '`'];

impl<'c> EvalState<'c, '_> {
    /// The answer to a question about the machine. The question is noted for an observer.
    pub(super) fn fact(&mut self, query: FactQuery) -> Option<&'c FactAnswer> {
        let facts = self.ctx.facts?;
        let answer = facts.answer(&query);
        if query.can_only_raise()
            && let Some(reason) = facts.why_unknown(&query)
            && is_unlooked(reason, query.is_about_code())
        {
            self.report(&structural_findings::UNLOOKED, None);
        }
        self.out.ask(query);
        answer
    }

    /// A path as an observer can find it. None without facts, for a path that is computed, in a
    /// folder that is not known, or on another machine.
    pub(super) fn observed_path(&mut self, path: &str) -> Option<String> {
        self.ctx.facts?;
        let is_home = path.starts_with('~');
        let moved = is_home && (self.has_moved_home() || self.variables.get("HOME").is_some());
        // `~ana` is another user's home folder, whose path is not known.
        let other_home = is_home && !(path == "~" || path.starts_with("~/"));
        if self.rights.elsewhere || moved || other_home || path.contains(COMPUTED) {
            return None;
        }
        let real = self.folders.current().real_path(path)?;
        let is_home = real.starts_with('~') && self.variables.get("HOME").is_some();
        (!real.is_empty() && !is_home).then_some(real)
    }

    /// Whether facts may make the next command look harmless.
    pub(super) fn facts_may_lower(&self) -> bool {
        self.facts_hold.is_sure() && self.ctx.facts.is_some_and(CallFacts::can_lower)
    }

    /// The class of what a path leads to, if that is worse than the class of its name.
    pub(super) fn class_by_facts(
        &mut self,
        act: PathAction,
        path: &str,
        class: &'static PathClass,
    ) -> &'static PathClass {
        let deletes = matches!(act, PathAction::Delete | PathAction::DeleteTree);
        if class.cost(act) == Tier::Critical || class.id == "discard" {
            return class;
        }
        let Some(observed) = self.observed_path(path) else { return class };
        let target = if deletes {
            let Some(found) = self.path_fact(observed) else { return class };
            // `rm link` removes the link, `rm link/` what it leads to.
            let follows = path.ends_with('/') || path.ends_with("/.");
            let resolved = found.resolved.as_deref().filter(|_| follows);
            resolved.unwrap_or(&found.located)
        } else {
            match self.fact(FactQuery::Target { path: observed }) {
                Some(FactAnswer::Target(TargetFact { resolved })) => resolved,
                _ => return class,
            }
        };
        let found = class_of(&self.workspace.local(target), None);
        if found.cost(act) > class.cost(act) { found } else { class }
    }

    fn path_fact(&mut self, path: String) -> Option<&'c PathFact> {
        match self.fact(FactQuery::Path { path })? {
            FactAnswer::Path(found) => Some(found),
            _ => None,
        }
    }
}

impl Evaluator<'_, '_, '_, '_> {
    /// Whether an observer saw that deleting a path of the project loses nothing: nothing is there,
    /// or git and the project's own tools can bring all of it back.
    pub(super) fn loses_nothing(&mut self, path: &str) -> bool {
        if !self.shared.facts_may_lower() {
            return false;
        }
        let Some(observed) = self.shared.observed_path(path) else { return false };
        let found = self.shared.path_fact(observed);
        found.is_some_and(|found| {
            found.in_project && (found.kind == PathKind::Missing || found.is_recoverable())
        })
    }
}

/// Whether nobody looked at what the call names although it may be there. A text that is not there
/// runs nothing, and a binary is not read.
fn is_unlooked(reason: UnknownReason, is_code: bool) -> bool {
    match reason {
        UnknownReason::Deadline => true,
        UnknownReason::Changed | UnknownReason::TooLarge | UnknownReason::Unreadable => is_code,
        UnknownReason::Missing
        | UnknownReason::NotRegular
        | UnknownReason::NotText
        | UnknownReason::Unsupported => false,
    }
}
