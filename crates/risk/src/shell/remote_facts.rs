//! Where a command acts, as an observer found it: the work tree, the remote of a push, the current
//! cluster or account.

use super::evaluator::Evaluator;
use super::invocation::Invocation;
use super::net_access::host_of;
use super::program::Known;
use crate::command_tables::LostFiles;
use crate::facts::{FactAnswer, FactQuery, GitCounts, LikelyEnvironment, RemoteFact, RemoteSystem};
use crate::finding::Span;
use crate::name_lists::{
    AWS_PROGRAMS, DOCKER_PROGRAMS, GIT_REPLACING_SUBCOMMANDS, GIT_VARIABLES, GOOGLE_CLOUD_PROGRAMS,
    KUBERNETES_PROGRAMS, REPLACING_OPTIONS, TARGET_OPTIONS,
};
use crate::paths::last_part;
use crate::structural_findings;
use countersign_shell::UNKNOWN;
use countersign_types::tier::Tier;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Whether an observer saw that the work tree has none of the files that a git command would
    /// lose.
    pub(super) fn is_clean(&mut self, loses: LostFiles, inv: &Invocation<'_, 't>) -> bool {
        let words: Vec<&str> = inv.args.iter().skip(1).map(|arg| arg.text.as_ref()).collect();
        let Some(needs) = CleanNeeds::of(loses, &words) else { return false };
        let variables = &self.shared.variables;
        let is_redirected = GIT_VARIABLES.iter().any(|name| variables.get(name).is_some());
        if is_redirected || !self.shared.facts_may_lower() {
            return false;
        }
        let Some(folder) = self.shared.observed_path(".") else { return false };
        match self.shared.fact(FactQuery::Worktree { folder }) {
            Some(FactAnswer::Worktree(git)) => needs.are_met(git),
            _ => false,
        }
    }

    /// Raises a command by where it acts.
    pub(super) fn observed_destination(
        &mut self,
        known: Known,
        inv: &Invocation<'_, 't>,
        stdin: bool,
        span: Span,
    ) {
        self.new_remotes(inv, span);
        self.observed_plan(inv);
        if self.shared.ctx.facts.is_none() || self.shared.rights.elsewhere {
            return;
        }
        let (spec, rules, _) = known;
        let name = inv.args.first().map(|arg| last_part(&arg.text)).unwrap_or_default();
        if spec.family == "git" && inv.operand(0) == Some("push") {
            return self.observed_push(inv, span);
        }
        let Some(system) = system_of(name) else { return };
        let mut fitting = rules.iter().filter(|r| inv.fits(r, stdin, self.shared.rights.root));
        let changes = match fitting.next() {
            None => spec.base > Tier::Safe,
            Some(first) => first.tier > Tier::Safe || fitting.any(|rule| rule.tier > Tier::Safe),
        };
        if !changes {
            return;
        }
        let named = inv.values.iter().find(|(option, _)| TARGET_OPTIONS.contains(option));
        let environment = match named {
            Some((_, value)) => LikelyEnvironment::of(value.text),
            None => match self.shared.fact(FactQuery::Current { system }) {
                Some(FactAnswer::Current(found)) => found.environment,
                _ => None,
            },
        };
        if environment == Some(LikelyEnvironment::Production) {
            self.shared.report(&structural_findings::PRODUCTION_CONTEXT, Some(span));
        }
    }

    fn observed_push(&mut self, inv: &Invocation<'_, 't>, span: Span) {
        let remote = inv.operand(1).map(ToOwned::to_owned);
        if remote.as_deref().is_some_and(|name| name.contains([UNKNOWN, ':', '/'])) {
            return;
        }
        let Some(folder) = self.shared.observed_path(".") else { return };
        let answer = self.shared.fact(FactQuery::GitRemote { folder, remote });
        let Some(FactAnswer::Remote(found)) = answer else { return };
        if leaves_origin(found) {
            self.shared.report(&structural_findings::PUSH_OTHER_HOST, Some(span));
        }
    }
}

/// What must be so in a work tree for a git command to lose nothing.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a condition of its own")]
struct CleanNeeds {
    no_changed: bool,
    no_untracked: bool,
    /// Nothing was added to the index since the last commit.
    committed: bool,
    /// A branch keeps the last commit.
    on_branch: bool,
}

impl CleanNeeds {
    /// For the words behind `git`. None for forms that are not described here; options before the
    /// subcommand may name another work tree.
    fn of(loses: LostFiles, words: &[&str]) -> Option<CleanNeeds> {
        let (command, rest) = words.split_first()?;
        let options = || rest.iter().filter(|word| word.starts_with('-'));
        if loses == LostFiles::Untracked {
            let takes_ignored = |w: &&str| w.contains(['x', 'X', 'e']) && !w.starts_with("--f");
            let is_plain = *command == "clean" && !options().any(takes_ignored);
            let needs = CleanNeeds { no_untracked: true, ..CleanNeeds::default() };
            return is_plain.then_some(needs);
        }
        // These take the files from the index and leave it as it is.
        let names_source = options().any(|w| w.starts_with("-s") || w.starts_with("--s"));
        let from_index = match (*command, rest) {
            ("checkout", ["--", ..] | ["." | "./"]) => true,
            ("restore", _) => !names_source && !options().any(|w| w.contains(['S', 'p'])),
            _ => false,
        };
        if from_index {
            return Some(CleanNeeds { no_changed: true, ..CleanNeeds::default() });
        }
        let is_described = GIT_REPLACING_SUBCOMMANDS.contains(command)
            && options().all(|w| REPLACING_OPTIONS.contains(w) || w.starts_with("--source="));
        let is_reset = *command == "reset";
        if is_reset && !rest.iter().all(|word| word.starts_with('-') || *word == "HEAD") {
            // Commits behind the other one would be on no branch.
            return None;
        }
        // A file of another commit may replace one that git does not track.
        let (no_changed, committed) = (true, true);
        let needs =
            CleanNeeds { no_changed, no_untracked: !is_reset, committed, on_branch: !is_reset };
        is_described.then_some(needs)
    }

    fn are_met(self, git: &GitCounts) -> bool {
        git.is_exact
            && (!self.no_changed || git.changed == 0)
            && (!self.no_untracked || git.untracked == 0)
            && (!self.committed || git.is_index_committed)
            && (!self.on_branch || git.is_on_branch)
    }
}

/// Whether a push goes to a host that the remote `origin` is not on.
fn leaves_origin(found: &RemoteFact) -> bool {
    let is_own = |url: &String| found.origin.iter().any(|own| host_of(own) == host_of(url));
    let is_local = |url: &String| url.starts_with(['/', '.', '~']) || url.starts_with("file://");
    !found.origin.is_empty() && found.urls.iter().any(|url| !is_local(url) && !is_own(url))
}

/// The system whose tools remember what they work on.
fn system_of(program: &str) -> Option<RemoteSystem> {
    let systems = [
        (KUBERNETES_PROGRAMS, RemoteSystem::Kubernetes),
        (DOCKER_PROGRAMS, RemoteSystem::Docker),
        (AWS_PROGRAMS, RemoteSystem::Aws),
        (GOOGLE_CLOUD_PROGRAMS, RemoteSystem::GoogleCloud),
    ];
    systems.into_iter().find(|(names, _)| names.contains(&program)).map(|(_, system)| system)
}
