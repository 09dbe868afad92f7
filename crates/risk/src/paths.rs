//! Paths: which class of target a path is, and what touching it costs.

use std::borrow::Cow;

mod drive;
pub mod guard;
mod pattern;

pub(crate) mod windows_path;
pub mod workspace;

pub use crate::command_tables::PathClass;
use crate::command_tables::{
    CLASSES, DIRS, HOME_PATHS, INNER_PATHS, LOCAL_PATHS, NAME_GLOBS, NAMES, PathPattern, PathShape,
    REBUILT, REBUILT_IN_PROJECT, ROOT_PATHS,
};
use crate::name_key::first_bytes;
use countersign_shell::UNKNOWN;
use countersign_text::glob;
use countersign_types::tier::Tier;
use pattern::TooLong;

/// First bytes of the names in `DIRS`; a test keeps them in step.
const DIRS_BEGIN: [u8; 3] = [b'.', b'g', b'h'];

/// The part of a path behind its last slash.
pub fn last_part(path: &str) -> &str {
    let slash = path.bytes().rposition(|b| b == b'/');
    slash.map_or(path, |at| path.get(at + 1..).unwrap_or_default())
}

/// Whether a folder of a project has this name because the project's own tools make it again.
pub fn is_build_folder(name: &str) -> bool {
    REBUILT.binary_search(&name).is_ok() || REBUILT_IN_PROJECT.contains(&name)
}

/// What is done to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathAction {
    /// Reading.
    Read,
    /// Writing or adding.
    Write,
    /// Deleting one.
    Delete,
    /// Deleting with all below.
    DeleteTree,
    /// Changing owner or mode.
    Change,
    /// The same with all below.
    ChangeTree,
}

impl PathClass {
    /// What this act costs on this class.
    pub fn cost(&self, act: PathAction) -> Tier {
        match act {
            PathAction::Read => self.read,
            PathAction::Write => self.write,
            PathAction::Delete => self.delete,
            PathAction::DeleteTree => self.delete_tree,
            PathAction::Change => self.change,
            PathAction::ChangeTree => self.change_tree,
        }
    }
}

/// The class of a path as written in a command, seen from `cwd` if that is known.
pub fn class_of(path: &str, cwd: Option<&str>) -> &'static PathClass {
    let path = normal(path, cwd);
    let class = class_of_normal(&path);
    let worse = |class: &'static PathClass, other: &'static PathClass| {
        if other.read >= class.read && other.write >= class.write { other } else { class }
    };
    match pattern::candidates(&path) {
        Ok(meant) => meant.iter().map(|path| class_of_normal(path)).fold(class, worse),
        Err(TooLong) => worse(class, &LOST),
    }
}

/// The same for a path that is folded already.
fn class_of_normal(path: &str) -> &'static PathClass {
    let mut best = CLASSES.len().saturating_sub(1);
    let mut offer = |class: u8| best = best.min(usize::from(class));
    let last = last_part(path);
    let key = first_bytes(last);
    let from = NAMES.partition_point(|(k, ..)| *k < key);
    let mut same = NAMES.get(from..).unwrap_or_default().iter().take_while(|(k, ..)| *k == key);
    if let Some((.., class)) = same.find(|(_, name, _)| *name == last) {
        offer(*class);
    }
    let bytes = glob::bytes_of(last);
    for (pattern, class) in NAME_GLOBS {
        if pattern.fits(last, bytes) {
            offer(*class);
        }
    }
    // All but one of the folder names that matter begin with a dot.
    let mut from = 0;
    for part in path.split('/') {
        let here = from;
        from += part.len() + 1;
        if !DIRS_BEGIN.contains(&part.as_bytes().first().copied().unwrap_or(0)) {
            continue;
        }
        if let Ok(at) = DIRS.binary_search_by(|(n, _)| (*n).cmp(part)) {
            DIRS.get(at).into_iter().for_each(|(_, c)| offer(*c));
        }
        if let Ok(at) = INNER_PATHS.binary_search_by(|(n, _)| (*n).cmp(part)) {
            let rest = path.get(here..).unwrap_or_default();
            let patterns = INNER_PATHS.get(at).map_or(&[][..], |(_, patterns)| patterns);
            patterns.iter().find(|p| fits(p, rest)).into_iter().for_each(|p| offer(p.class));
        }
    }
    let (table, rest) = match path.as_bytes().first() {
        Some(b'/') => (ROOT_PATHS, path.get(1..).unwrap_or_default()),
        Some(b'~') => (HOME_PATHS, path.get(2..).unwrap_or_default()),
        _ => (LOCAL_PATHS, path),
    };
    let first = rest.split('/').next().unwrap_or_default();
    // The patterns without a first part of their own stand under the empty one, before all.
    let open = table.first().filter(|(k, _)| k.is_empty());
    let own = table.binary_search_by(|(k, _)| (*k).cmp(first)).ok().and_then(|at| table.get(at));
    for (_, patterns) in [open, own.filter(|_| !first.is_empty())].into_iter().flatten() {
        // Patterns are in class order, so the first that fits is the most severe of its kind.
        if let Some(pattern) = patterns.iter().find(|p| fits(p, path)) {
            offer(pattern.class);
        }
    }
    if let Some(class) = guard::could_match(path) {
        offer(class);
    }
    // INVARIANT: `best` is an index of CLASSES; the last class fits every path.
    CLASSES.get(best).unwrap_or(&LOST)
}

/// A place nobody can tell.
pub static LOST: PathClass = PathClass {
    id: "unknown",
    name: "an unknown place",
    read: Tier::Medium,
    write: Tier::Medium,
    delete: Tier::Medium,
    delete_tree: Tier::High,
    change: Tier::Medium,
    change_tree: Tier::High,
};

fn fits(pattern: &PathPattern, path: &str) -> bool {
    let text = pattern.text;
    // A pattern that begins with a letter fits nothing that begins with another one.
    let begins = |text: &str| text.as_bytes().first().copied().unwrap_or(0);
    if !matches!(begins(text), 0 | b'*' | b'?') && begins(text) != begins(path) {
        return false;
    }
    match pattern.shape {
        PathShape::Exact => path == text,
        PathShape::Tree => path
            .strip_prefix(text)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || text.is_empty()),
        PathShape::Star => {
            let rest = path.strip_prefix(text).and_then(|r| r.strip_prefix('/'));
            rest.is_some_and(|r| r == "*" || r == "\0")
        }
        PathShape::Parts | PathShape::PartsTree => {
            let mut parts = path.split('/');
            text.split('/').all(|p| parts.next().is_some_and(|q| glob::matches(p, q)))
                && (pattern.shape == PathShape::PartsTree || parts.next().is_none())
        }
    }
}

/// Folds a path: `//`, `.`, `..`, homes of named users to `~`, and joins it to a known folder.
pub fn normal<'p>(path: &'p str, cwd: Option<&str>) -> Cow<'p, str> {
    // `C:/x` does not depend on the folder. With `..` it is read as POSIX shells read it, too.
    let drive = drive::has_drive(path) && !path.contains("..");
    let relative = !drive && !path.starts_with(['/', '~', UNKNOWN]);
    let joined: Cow<'p, str> = match cwd {
        Some(cwd) if relative && cwd != "." && !cwd.is_empty() => {
            Cow::Owned(format!("{}/{path}", cwd.trim_end_matches('/')))
        }
        _ => Cow::Borrowed(path),
    };
    if is_normal(&joined) {
        return joined;
    }
    let mut parts: Vec<&str> = Vec::new();
    let mut absolute = joined.starts_with('/');
    let mut left_home = false;
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." if !absolute && parts == ["~"] => {
                parts = vec!["home"];
                (absolute, left_home) = (true, true);
            }
            ".." => match parts.last() {
                Some(&p) if p != ".." => {
                    parts.pop();
                }
                None if absolute => {}
                _ => parts.push(".."),
            },
            // `~alice` is a home as well.
            p if parts.is_empty() && !absolute && p.starts_with('~') => parts.push("~"),
            p => parts.push(p),
        }
    }
    // The folder above the home of root is `/`: `~/../etc` is `/etc`.
    if left_home && parts.get(1).is_some_and(|name| is_at_root(name)) {
        parts.remove(0);
    }
    let folded = parts.join("/");
    let folded = if absolute { format!("/{folded}") } else { folded };
    Cow::Owned(home(folded))
}

/// Whether some class is about a folder of this name in `/`.
fn is_at_root(name: &str) -> bool {
    ROOT_PATHS.binary_search_by(|(known, _)| (*known).cmp(name)).is_ok()
}

/// Whether nothing is left to fold.
fn is_normal(path: &str) -> bool {
    let homes: &[&str] = match path.as_bytes() {
        [b'/', b'h' | b'U' | b'r' | b'v' | b'p' | b'c' | b'm', ..] => {
            &["/home", "/Users", "/root", "/var/root", "/private", "/c/Users", "/mnt/c/Users"]
        }
        [b'~' | b'.', ..] => &["~", "./", ".."],
        _ => &[],
    };
    let mut before = 0;
    let odd = path.bytes().any(|b| {
        let doubled = before == b'/' && matches!(b, b'/' | b'.');
        before = b;
        doubled
    });
    let slash = path.len() > 1 && path.ends_with('/');
    !(odd || slash || homes.iter().any(|h| path.starts_with(h)))
}

/// `/home/alice/x`, `/Users/alice/x` and `/root/x` are `~/x`. macOS keeps `/tmp` and `/var` in
/// `/private`.
fn home(path: String) -> String {
    for name in ["tmp", "var", "etc"] {
        let rest = path.strip_prefix("/private/").and_then(|rest| rest.strip_prefix(name));
        if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
            return home(path.get("/private".len()..).unwrap_or_default().to_owned());
        }
    }
    // Git Bash and WSL call the home folders of Windows so.
    for root in ["/home/", "/Users/", "/c/Users/", "/mnt/c/Users/"] {
        if let Some(rest) = path.strip_prefix(root) {
            return match rest.split_once('/') {
                Some((_, below)) => format!("~/{below}"),
                None if rest == "*" => path,
                None => "~".to_owned(),
            };
        }
    }
    for root in ["/root/", "/var/root/"] {
        if let Some(below) = path.strip_prefix(root) {
            return format!("~/{below}");
        }
    }
    if path == "/root" || path == "/var/root" {
        return "~".to_owned();
    }
    if path.is_empty() { ".".to_owned() } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(path: &str) -> &'static str {
        class_of(path, None).id
    }

    #[test]
    fn classes() {
        assert_eq!(id("/"), "root");
        assert_eq!(id("//"), "root");
        assert_eq!(id("/./"), "root");
        assert_eq!(id("/tmp/.."), "root");
        assert_eq!(id("/*"), "root");
        assert_eq!(id("/etc"), "system-whole");
        assert_eq!(id("/etc/hosts"), "system");
        assert_eq!(id("/etc/../etc/shadow"), "password-store");
        assert_eq!(id("/tmp/build"), "temporary");
        assert_eq!(id("~/.ssh/id_rsa"), "credentials");
        assert_eq!(id("/home/bob/.ssh/id_ed25519"), "credentials");
        assert_eq!(id("/home/bob/.ssh/authorized_keys"), "access-control");
        assert_eq!(id("~/.ssh/id_rsa.pub"), "public-keys");
        assert_eq!(id("/home/bob"), "home-whole");
        assert_eq!(id("/home/bob/x"), "home");
        assert_eq!(id("/root/.bashrc"), "shell-startup");
        assert_eq!(id("build"), "project");
        assert_eq!(id("./build/"), "project");
        assert_eq!(id("."), "project-whole");
        assert_eq!(id("*"), "project-whole");
        assert_eq!(id("../x"), "beside");
        assert_eq!(id(".git"), "git-store");
        assert_eq!(id(".git/hooks/pre-commit"), "git-hooks");
        assert_eq!(id("/dev/null"), "discard");
        assert_eq!(id("/dev/sda1"), "device");
        assert_eq!(id("/path/to/x"), "elsewhere");
        assert_eq!(id("\0/x"), "project");
        assert_eq!(id(".env"), "env-file");
        assert_eq!(id("/proc/self/mem"), "memory");
        assert_eq!(id("/srv/app/.claude/settings.local.json"), "agent-control");
        assert_eq!(id("/home/bob/app/.cursor/hooks.json"), "agent-hooks");
        assert_eq!(id(".cursor/hooks.json"), "agent-hooks");
        assert_eq!(id("/home/bob/.cargo/bin/countersign"), "countersign-program");
        assert_eq!(id("/opt/gate/countersign-hook"), "countersign-program");
        assert_eq!(id("target/release/countersign"), "countersign-program");
        assert_eq!(id("/home/bob/countersign.md"), "home");
        assert_ne!(id("/srv/app/.vscode/settings.json"), "agent-control");
    }

    #[test]
    fn every_folder_name_is_looked_for() {
        let looked_for = |name: &str| name.bytes().next().is_some_and(|b| DIRS_BEGIN.contains(&b));
        assert!(DIRS.iter().all(|(name, _)| looked_for(name)));
        assert!(INNER_PATHS.iter().all(|(name, _)| looked_for(name)));
    }

    #[test]
    fn seen_from_a_folder() {
        assert_eq!(class_of("*", Some("/")).id, "root");
        assert_eq!(class_of("x", Some("/etc")).id, "system");
        assert_eq!(class_of("*", Some("~")).id, "home-whole");
    }
}
