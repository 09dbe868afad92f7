//! Which references of a remote a push would change.

use super::config::GitConfig;
use super::objects::ObjectName;
use super::push_words::PushWords;
use super::refs::References;

const HEADS: &str = "refs/heads/";
const TAGS: &str = "refs/tags/";
/// How many references are listed.
const MAX_UPDATES: usize = 1_000;
/// Signs of an expression or a pattern in a name.
const COMPUTED: [char; 9] = ['*', '?', '[', '^', '~', ':', '\\', ' ', '{'];

/// One reference of the remote that a push would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefUpdate {
    /// Its whole name at the remote.
    pub target: String,
    /// The object that it would name; none if it is deleted.
    pub object: Option<ObjectName>,
    pub is_forced: bool,
}

/// The settings of a push, from all files that git reads.
pub struct PushSettings<'c> {
    /// The repository's own settings, then those of the user and of the machine.
    pub files: &'c [GitConfig],
}

impl PushSettings<'_> {
    /// The value that counts.
    pub fn value(&self, section: &str, subsection: &str, key: &str) -> Option<&str> {
        self.files.iter().find_map(|file| file.value(section, subsection, key))
    }
}

/// What a push to this remote would change. `None` for forms that are not read.
pub fn updates(
    words: &PushWords,
    remote: &str,
    refs: &References,
    settings: &PushSettings<'_>,
) -> Option<Vec<RefUpdate>> {
    let is_set = |key: &str| settings.value("remote", remote, key).is_some();
    if is_set("mirror") || (is_set("push") && !words.refspecs.iter().all(|one| one.contains(':'))) {
        return None;
    }
    let all = |start: &'static str| {
        let found = refs.below(start).map(|(name, object)| (name.to_owned(), *object));
        found.map(|(target, object)| RefUpdate {
            target,
            object: Some(object),
            is_forced: words.is_forced || words.is_leased,
        })
    };
    let mut found = Vec::new();
    if words.all_branches {
        found.extend(all(HEADS));
    }
    if words.all_tags {
        found.extend(all(TAGS));
    }
    let mut specs = words.refspecs.iter();
    while let Some(spec) = specs.next() {
        found.push(match spec.as_str() {
            "tag" => named(words, &format!("{TAGS}{}", specs.next()?), refs)?,
            spec => named(words, spec, refs)?,
        });
    }
    if words.refspecs.is_empty() && !words.all_branches && !words.all_tags {
        found.push(default_update(words, remote, refs, settings)?);
    }
    (found.len() <= MAX_UPDATES).then_some(found)
}

/// One refspec of the command.
fn named(words: &PushWords, spec: &str, refs: &References) -> Option<RefUpdate> {
    let (spec, plus) = spec.strip_prefix('+').map_or((spec, false), |rest| (rest, true));
    let is_forced = plus || words.is_forced || words.is_leased;
    let is_name = |name: &str| !name.is_empty() && !name.contains(COMPUTED);
    if words.deletes {
        let target = is_name(spec).then(|| whole_target(spec, None))?;
        return Some(RefUpdate { target, object: None, is_forced });
    }
    let (source, target) = spec.split_once(':').unwrap_or((spec, ""));
    if !target.is_empty() && !is_name(target) {
        return None;
    }
    if source.is_empty() {
        let target = (!target.is_empty()).then(|| whole_target(target, None))?;
        return Some(RefUpdate { target, object: None, is_forced });
    }
    let (name, object) = is_name(source).then(|| source_of(source, refs))??;
    let target = match (target, &name) {
        ("", name) => name.clone()?,
        (target, name) => whole_target(target, name.as_deref()),
    };
    Some(RefUpdate { target, object: Some(object), is_forced })
}

/// The whole name and the object of a local reference. A commit has no name.
fn source_of(source: &str, refs: &References) -> Option<(Option<String>, ObjectName)> {
    if source == "HEAD" || source == "@" {
        let name = refs.branch.as_ref().map(|branch| format!("{HEADS}{branch}"));
        return Some((name, refs.head?));
    }
    let names = ["", "refs/", TAGS, HEADS, "refs/remotes/"];
    let found = names.iter().find_map(|start| {
        let name = format!("{start}{source}");
        refs.get(&name).map(|object| (Some(name), object))
    });
    found.or_else(|| super::objects::parse_name(source).map(|object| (None, object)))
}

/// The whole name at the remote of a name that may be short.
fn whole_target(target: &str, source: Option<&str>) -> String {
    let is_tag = source.is_some_and(|name| name.starts_with(TAGS));
    match target {
        whole if whole.starts_with("refs/") => whole.to_owned(),
        short if is_tag => format!("{TAGS}{short}"),
        short => format!("{HEADS}{short}"),
    }
}

/// What a push without refspecs would change.
fn default_update(
    words: &PushWords,
    remote: &str,
    refs: &References,
    settings: &PushSettings<'_>,
) -> Option<RefUpdate> {
    let branch = refs.branch.as_deref()?;
    let upstream = settings.value("branch", branch, "merge");
    let is_own = settings.value("branch", branch, "remote").is_none_or(|own| own == remote);
    let own = format!("{HEADS}{branch}");
    let target = match settings.value("push", "", "default").unwrap_or("simple") {
        "current" => own,
        "upstream" | "tracking" => upstream?.to_owned(),
        // Git refuses a simple push to a branch with another name.
        "simple" if !is_own || upstream.is_none_or(|name| name == own) => own,
        _ => return None,
    };
    let is_forced = words.is_forced || words.is_leased;
    Some(RefUpdate { target, object: Some(refs.head?), is_forced })
}
