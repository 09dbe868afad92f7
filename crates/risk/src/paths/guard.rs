//! Whether a path, read as a pattern or as a folder, could reach what Countersign protects.

use crate::command_tables::{CLASSES, GUARDED, GuardedKind, GuardedPath, PathClass};
use countersign_shell::UNKNOWN;
use countersign_text::glob;

/// How many letters of a name a pattern must spell out before it is taken to mean that name in
/// any folder: `count*` may be the program, `*.toml` is every settings file there is.
const SPELLED_OUT: usize = 4;

/// The class of a protected path that a pattern could match. A path without a pattern has none: the
/// tables of classes hold those.
pub(super) fn could_match(path: &str) -> Option<u8> {
    if !path.contains(['*', '?', '[', UNKNOWN]) {
        return None;
    }
    let parts = Parts::of(path);
    let fits = |g: &&GuardedPath| parts.reach(g) == Reach::Itself;
    GUARDED.iter().find(fits).map(|g| g.class)
}

/// The class of a protected path that lies below this folder.
pub(crate) fn guarded_below(folder: &str) -> Option<&'static PathClass> {
    let parts = Parts::of(folder);
    let fits = |g: &&GuardedPath| parts.reach(g) != Reach::Nothing;
    GUARDED.iter().find(fits).and_then(|g| CLASSES.get(usize::from(g.class)))
}

/// Whether a protected path lies below this folder, which is no pattern.
pub(super) fn is_above_guarded(folder: &str) -> bool {
    let Parts { kind, parts } = Parts::of(folder);
    let parts: Vec<&str> = parts.iter().map(|part| part.text).collect();
    let begins =
        |start: &[&str], whole: &[&str]| start.len() < whole.len() && whole.starts_with(start);
    GUARDED.iter().any(|guarded| match guarded.kind {
        GuardedKind::Inside => {
            let first = guarded.parts.first();
            let starts = parts.iter().enumerate().filter(|(_, part)| Some(*part) == first);
            let mut ends = starts.filter_map(|(at, _)| parts.get(at..));
            ends.any(|end| begins(end, guarded.parts))
        }
        own => own == kind && begins(&parts, guarded.parts),
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Reach {
    Nothing,
    /// The protected path is below.
    Above,
    Itself,
}

/// A folded path in parts.
struct Parts<'p> {
    kind: GuardedKind,
    parts: Vec<Part<'p>>,
}

/// A part of a path. It is compared with every protected path, so what it is made of is found out
/// once.
#[derive(Clone, Copy)]
struct Part<'p> {
    text: &'p str,
    /// It is no pattern.
    is_literal: bool,
    /// How many of its characters are written out.
    spelled: usize,
}

impl<'p> Part<'p> {
    fn of(text: &'p str) -> Part<'p> {
        let is_literal = !text.contains(['*', '?', '[', ']', UNKNOWN]);
        Part { text, is_literal, spelled: spelled(text) }
    }

    /// The same as `could_be`, which most parts need not be asked.
    fn could_be(&self, name: &str) -> bool {
        if !self.is_literal {
            return could_be(self.text, name);
        }
        let first = name.as_bytes().first();
        let is_pattern = matches!(first, Some(b'*' | b'?'));
        (is_pattern || first == self.text.as_bytes().first()) && glob::matches(name, self.text)
    }
}

impl<'p> Parts<'p> {
    fn of(path: &'p str) -> Parts<'p> {
        let (kind, rest) = match path.strip_prefix('/') {
            Some(rest) => (GuardedKind::Root, rest),
            None if path == "~" => (GuardedKind::Home, ""),
            None => match path.strip_prefix("~/") {
                Some(rest) => (GuardedKind::Home, rest),
                None => (GuardedKind::Inside, path),
            },
        };
        let parts = rest.split('/').filter(|part| !part.is_empty() && *part != ".");
        Parts { kind, parts: parts.map(Part::of).collect() }
    }

    fn reach(&self, guarded: &GuardedPath) -> Reach {
        match guarded.kind {
            GuardedKind::Name => self.reach_name(guarded),
            GuardedKind::Inside => {
                // The first part must be spelled out somewhere: `*` names no folder.
                let first = guarded.parts.first().copied().unwrap_or_default();
                let starts = self.parts.iter().enumerate();
                let named = |part: &Part<'_>| part.spelled >= SPELLED_OUT && part.could_be(first);
                let found = starts
                    .filter(|(_, part)| named(part))
                    .map(|(at, _)| compare(self.parts.get(at..).unwrap_or_default(), guarded));
                found.into_iter().find(|reach| *reach != Reach::Nothing).unwrap_or(Reach::Nothing)
            }
            kind if kind == self.kind => compare(&self.parts, guarded),
            _ => Reach::Nothing,
        }
    }

    fn reach_name(&self, guarded: &GuardedPath) -> Reach {
        let (Some(last), Some(name)) = (self.parts.last(), guarded.parts.first()) else {
            return Reach::Nothing;
        };
        // The ending says nothing about which file of that kind is meant.
        let text = last.text;
        let stem = text.strip_suffix(".toml").or(text.strip_suffix(".service")).unwrap_or(text);
        let ending = text.len() - stem.len();
        if last.spelled >= SPELLED_OUT + ending && last.could_be(name) {
            Reach::Itself
        } else {
            Reach::Nothing
        }
    }
}

/// Compares part by part, both as patterns.
fn compare(parts: &[Part<'_>], guarded: &GuardedPath) -> Reach {
    if !parts.iter().zip(guarded.parts).all(|(part, wanted)| part.could_be(wanted)) {
        return Reach::Nothing;
    }
    if parts.len() < guarded.parts.len() {
        Reach::Above
    } else if guarded.tree || parts.len() == guarded.parts.len() {
        Reach::Itself
    } else {
        Reach::Nothing
    }
}

/// How many characters of a part are written out.
fn spelled(part: &str) -> usize {
    part.chars().filter(|c| !matches!(*c, '*' | '?' | '[' | ']' | UNKNOWN)).count()
}

/// Whether a part of a path could be this name. A part nobody can tell anything about is not taken
/// to be it.
pub(super) fn could_be(part: &str, name: &str) -> bool {
    if part == name || name == "*" {
        return true;
    }
    if part.chars().all(|c| c == UNKNOWN) {
        return false;
    }
    let mut pattern = String::with_capacity(part.len());
    let mut inside = false;
    for c in part.chars() {
        match c {
            '[' => {
                inside = true;
                pattern.push('?');
            }
            ']' => inside = false,
            UNKNOWN => pattern.push('*'),
            c if !inside => pattern.push(c),
            _ => {}
        }
    }
    // The shell's star leaves names with a leading dot alone.
    let hidden = name.starts_with('.') && !pattern.starts_with('.');
    !hidden && (glob::matches(&pattern, name) || glob::matches(name, &pattern))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::class_of;

    fn id(path: &str) -> &'static str {
        class_of(path, None).id
    }

    #[test]
    fn patterns_that_could_match() {
        assert_eq!(id("~/.local/state/count*/sign*"), "countersign-keys");
        assert_eq!(id("~/.local/state/*/*"), "countersign-keys");
        assert_eq!(id("~/.config/*/*.toml"), "countersign");
        assert_eq!(id("~/.config/c[o]untersign/x"), "countersign");
        assert_eq!(id("/home/*/.config/count*/countersign.toml"), "countersign");
        assert_eq!(id("~/.cargo/bin/*"), "countersign-program");
        assert_eq!(id("target/debug/countersig?"), "countersign-program");
        // It could be the settings as well, which come first.
        assert_eq!(id("/usr/local/bin/count*"), "countersign");
        assert_eq!(id("app/.claude/hooks/*"), "agent-hooks");
    }

    #[test]
    fn patterns_that_mean_something_else() {
        assert_eq!(id("*.toml"), "project");
        assert_eq!(id("src/*"), "project");
        assert_eq!(id("c*"), "project");
        assert_eq!(id("~/notes/*.md"), "home");
        assert_ne!(id("~/.config/\0/settings.json"), "countersign");
    }

    #[test]
    fn folders_above() {
        for folder in ["~", "~/.config", "~/.local", "~/.local/state", "~/.cargo/bin", ".claude"] {
            assert!(guarded_below(folder).is_some(), "{folder}");
        }
        for folder in ["build", "~/src", "~/.cache", "/tmp/x", "~/.config/nvim", "*"] {
            assert!(guarded_below(folder).is_none(), "{folder}");
        }
    }
}
