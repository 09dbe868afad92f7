//! The dry run of a push: compared with the last fetch, without asking the remote, running a hook
//! or starting git.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use countersign_risk::facts::{PlanFact, UnknownReason};

use super::parts::{PlanParts, counted, listed};
use crate::files;
use crate::git::{
    Commit, GitConfig, GitFolders, HistoryDifference, ObjectName, ObjectStore, PushSettings,
    PushWords, RefUpdate, References, changed_files, compare, digits, peeled, remote, updates,
};
use crate::local_look::LocalLook;

/// Variables that make git read other settings, objects or references.
const VARIABLES: [&str; 9] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_SYSTEM",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_REPLACE_REF_BASE",
];
/// How many references are described, and how many commits of the first of them.
const MAX_DESCRIBED: usize = 4;
const MAX_SUBJECTS: usize = 5;
/// The largest hook.
const MAX_HOOK: u64 = 1 << 20;

/// A push whose references are known.
struct Push {
    parts: PlanParts,
    refs: References,
    store: ObjectStore,
    /// The remote's name, if its branches have remote-tracking branches here.
    tracked: Option<String>,
}

/// What a push would do.
pub fn plan(
    look: &LocalLook<'_>,
    folder: &Path,
    words: &[String],
) -> Result<PlanFact, UnknownReason> {
    if VARIABLES.iter().any(|name| (look.place.variable)(name).is_some()) {
        return Err(UnknownReason::Unsupported);
    }
    let words = PushWords::parse(words).ok_or(UnknownReason::Unsupported)?;
    let limit = look.budget.limits.config_bytes;
    let named = remote(folder, words.remote.as_deref(), limit)?;
    let folder = files::resolved(folder).ok_or(UnknownReason::Missing)?;
    let git = GitFolders::of(&folder).ok_or(UnknownReason::Missing)?;
    let mut parts = PlanParts::default();
    let files = settings(look, &git, &mut parts)?;
    let settings = PushSettings { files: &files };
    let name = words.remote.clone().unwrap_or(named.name);
    // A repository with other names or another storage has other files.
    let is_plain = ["objectformat", "refstorage", "worktreeconfig"]
        .iter()
        .all(|key| settings.value("extensions", "", key).is_none());
    let submodules = settings.value("push", "", "recursesubmodules");
    if !is_plain || submodules.is_some_and(|value| !["no", "check"].contains(&value)) {
        return Err(UnknownReason::Unsupported);
    }
    let refs = References::read(&git, limit).ok_or(UnknownReason::Unsupported)?;
    let updates = updates(&words, &name, &refs, &settings).ok_or(UnknownReason::Unsupported)?;
    let fetch = settings.value("remote", &name, "fetch").unwrap_or_default();
    let usual = format!("refs/heads/*:refs/remotes/{name}/*");
    let tracked = (fetch.trim_start_matches('+') == usual).then(|| name.clone());
    let store = ObjectStore::new(&git.common, look.budget.plan_end());
    let mut push = Push { parts, refs, store, tracked };
    push.parts.bind("remote", name.as_bytes());
    push.describe(&updates);
    let follows = settings.value("push", "", "followtags").is_some_and(|value| value != "false");
    push.tags(words.follows_tags || follows);
    push.hook(&git, look, &settings, words.skips_hook)?;
    if files.iter().any(GitConfig::includes_files) {
        push.parts.line("git's settings include other files, which were not read");
    }
    push.parts.line("compared with the last fetch; the remote itself was not asked");
    Ok(push.parts.finish())
}

/// The settings that count: of the repository, the user and the machine.
fn settings(
    look: &LocalLook<'_>,
    git: &GitFolders,
    parts: &mut PlanParts,
) -> Result<Vec<GitConfig>, UnknownReason> {
    let home = look.place.home.as_deref();
    let xdg = (look.place.variable)("XDG_CONFIG_HOME").map(PathBuf::from);
    let xdg = xdg.or_else(|| home.map(|home| home.join(".config")));
    let paths = [
        Some(git.common.join("config")),
        home.map(|home| home.join(".gitconfig")),
        xdg.map(|folder| folder.join("git/config")),
        Some(PathBuf::from("/etc/gitconfig")),
    ];
    let mut found = Vec::new();
    for path in paths.into_iter().flatten() {
        let text = match files::read_text(&path, look.budget.limits.config_bytes) {
            Err(UnknownReason::Missing) => String::new(),
            other => other?,
        };
        parts.bind("settings", text.as_bytes());
        found.push(GitConfig::parse(&text));
    }
    Ok(found)
}

impl Push {
    fn describe(&mut self, updates: &[RefUpdate]) {
        for (at, update) in updates.iter().enumerate() {
            let old = self.tracking(&update.target);
            let object = update.object.map(|name| digits(&name)).unwrap_or_default();
            let before = old.map(|name| digits(&name)).unwrap_or_default();
            let bound = format!("{object} {before} {}", update.is_forced);
            // A new branch is compared with all that the remote has.
            let known = self.known(old);
            let known: Vec<String> = known.iter().map(digits).collect();
            let bound = match update.object {
                Some(_) => format!("{bound} {}", known.join(" ")),
                None => bound,
            };
            self.parts.bind(&update.target, bound.as_bytes());
            if at < MAX_DESCRIBED {
                self.update(update, old, at == 0);
            }
        }
        if updates.len() > MAX_DESCRIBED {
            let more = counted(updates.len() - MAX_DESCRIBED, "more reference");
            self.parts.line(&format!("and {more}"));
        }
    }

    /// The remote's branch as it was at the last fetch.
    fn tracking(&self, target: &str) -> Option<ObjectName> {
        let branch = target.strip_prefix("refs/heads/")?;
        self.refs.get(&format!("refs/remotes/{}/{branch}", self.tracked.as_deref()?))
    }

    /// The commits that the remote had at the last fetch: of the branch, or of all if it is new.
    fn known(&self, old: Option<ObjectName>) -> Vec<ObjectName> {
        match (old, self.tracked.as_deref()) {
            (Some(old), _) => vec![old],
            (None, None) => Vec::new(),
            (None, Some(remote)) => {
                let start = format!("refs/remotes/{remote}/");
                let all = self.refs.below("refs/remotes/");
                all.filter(|(name, _)| name.starts_with(&start)).map(|(_, name)| *name).collect()
            }
        }
    }

    fn update(&mut self, update: &RefUpdate, old: Option<ObjectName>, is_first: bool) {
        let name = shown(&update.target);
        let Some(object) = update.object else {
            let was = old.map(|old| format!(" (was {})", short(&old))).unwrap_or_default();
            return self.parts.line(&format!("deletes {name}{was}"));
        };
        if old == Some(object) {
            let line = format!("{name}: nothing to push, {} as at the last fetch", short(&object));
            return self.parts.line(&line);
        }
        let Some(new) = peeled(&mut self.store, &object) else {
            let line = format!("{name}: {}, whose commits could not be read", short(&object));
            return self.parts.line(&line);
        };
        let known = self.known(old);
        let difference = compare(&mut self.store, new, &known);
        let line = self.headline(update, (old, object), &difference);
        self.parts.line(&format!("{name}: {line}"));
        if is_first {
            for (name, subject) in difference.added.iter().take(MAX_SUBJECTS) {
                self.parts.line(&format!("{} {subject}", short(name)));
            }
        }
        self.files(new, old, &difference);
    }

    fn headline(
        &self,
        update: &RefUpdate,
        (old, object): (Option<ObjectName>, ObjectName),
        difference: &HistoryDifference,
    ) -> String {
        let at_least = if difference.is_exact { "" } else { "at least " };
        let added = format!("{at_least}{}", counted(difference.added.len(), "commit"));
        let Some(old) = old else {
            let is_branch = update.target.starts_with("refs/heads/");
            return match &self.tracked {
                Some(_) if is_branch => {
                    format!("new on the remote, adds {added}, ends at {}", short(&object))
                }
                _ => format!("becomes {}; what the remote has is not known", short(&object)),
            };
        };
        let ends = format!("{} to {}", short(&old), short(&object));
        let removed = format!("{at_least}{}", counted(difference.removed, "commit"));
        match (difference.removed, update.is_forced) {
            (0, _) if difference.is_exact => format!("adds {added}, {ends}"),
            (_, true) => format!("REPLACES HISTORY: removes {removed}, adds {added}, {ends}"),
            (_, false) => format!("rejected unless forced: {removed} would be lost, {ends}"),
        }
    }

    fn files(&mut self, new: ObjectName, old: Option<ObjectName>, seen: &HistoryDifference) {
        let mut tree = |name: ObjectName| Commit::read(&mut self.store, &name).map(|c| c.tree);
        let (before, after) = (old.and_then(&mut tree).or(seen.common_tree), tree(new));
        let changed = changed_files(&mut self.store, before, after);
        if after.is_none() || changed.count == 0 {
            return;
        }
        let at_least = if changed.is_exact { "" } else { "at least " };
        let names = listed(&changed.names, changed.count);
        let files = counted(changed.count, "file");
        self.parts.line(&format!("changes {at_least}{files}: {names}"));
    }

    /// Annotated tags that a push may add by itself.
    fn tags(&mut self, follows: bool) {
        if !follows {
            return;
        }
        let all = self.refs.below("refs/tags/").map(|(name, o)| format!("{name} {}\n", digits(o)));
        let all: String = all.collect();
        self.parts.bind("tags", all.as_bytes());
        self.parts.line("also pushes annotated tags of these commits");
    }

    /// The program that git runs before a push.
    fn hook(
        &mut self,
        git: &GitFolders,
        look: &LocalLook<'_>,
        settings: &PushSettings<'_>,
        is_skipped: bool,
    ) -> Result<(), UnknownReason> {
        if is_skipped {
            return Ok(());
        }
        let folder = match settings.value("core", "", "hookspath") {
            Some(path) => files::absolute(path, &git.worktree, look.place.home.as_deref())
                .ok_or(UnknownReason::Unsupported)?,
            None => git.common.join("hooks"),
        };
        let file = match files::read(&folder.join("pre-push"), MAX_HOOK) {
            Err(UnknownReason::Missing) => return Ok(()),
            other => other?,
        };
        if !file.is_whole {
            return Err(UnknownReason::TooLarge);
        }
        if file.metadata.permissions().mode() & 0o111 != 0 {
            self.parts.bind("hook", &file.bytes);
            self.parts.line("git runs the repository's pre-push hook first");
        }
        Ok(())
    }
}

/// A reference in words.
fn shown(target: &str) -> String {
    match (target.strip_prefix("refs/heads/"), target.strip_prefix("refs/tags/")) {
        (Some(branch), _) => format!("branch {branch}"),
        (_, Some(tag)) => format!("tag {tag}"),
        _ => target.to_owned(),
    }
}

fn short(name: &ObjectName) -> String {
    digits(name).chars().take(9).collect()
}
