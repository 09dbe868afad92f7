//! Git's rules for files that it ignores.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::folders::GitFolders;
use crate::files;

/// How many rules of one file are read, and how long one may be.
const MAX_RULES: usize = 1_000;
const MAX_RULE: usize = 256;
/// How many files with rules are read.
const MAX_FILES: usize = 1_000;

/// The rules of a work tree, read when they are needed.
#[derive(Debug)]
pub struct IgnoreRules {
    worktree: PathBuf,
    limit: u64,
    /// The rules of `info/exclude`, which come last.
    excluded: Vec<IgnoreRule>,
    /// The rules of each folder's `.gitignore`, by the folder's path in the work tree.
    folders: HashMap<PathBuf, Vec<IgnoreRule>>,
}

#[derive(Debug)]
struct IgnoreRule {
    pattern: Vec<PatternPart>,
    /// `!`: matching paths are not ignored.
    is_negated: bool,
    /// Only folders match.
    is_for_folders: bool,
    /// The whole path below the rule's folder is compared, not only its last part.
    is_for_paths: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternPart {
    Byte(u8),
    /// `?`
    AnyByte,
    /// `*`
    AnyName,
    /// `**` at the end.
    AnyPath,
    /// `**/`
    AnyFolders,
    /// `[…]`: a set of bytes.
    Class([u128; 2]),
}

impl IgnoreRules {
    /// The rules of a work tree.
    pub fn new(git: &GitFolders, limit: u64) -> IgnoreRules {
        let excluded = files::read_text(&git.common.join("info/exclude"), limit);
        IgnoreRules {
            worktree: git.worktree.clone(),
            limit,
            excluded: parse(&excluded.unwrap_or_default()),
            folders: HashMap::new(),
        }
    }

    /// Whether a rule ignores this path of the work tree, given that its parents are not ignored.
    pub fn matches(&mut self, path: &Path, is_folder: bool) -> bool {
        for folder in path.ancestors().skip(1) {
            self.load(folder);
            let rules = self.folders.get(folder).map(Vec::as_slice).unwrap_or_default();
            let below = path.strip_prefix(folder).unwrap_or(path);
            if let Some(is_ignored) = decide(rules, below, is_folder) {
                return is_ignored;
            }
        }
        decide(&self.excluded, path, is_folder).unwrap_or(false)
    }

    fn load(&mut self, folder: &Path) {
        if self.folders.contains_key(folder) || self.folders.len() >= MAX_FILES {
            return;
        }
        let file = self.worktree.join(folder).join(".gitignore");
        let text = files::read_text(&file, self.limit).unwrap_or_default();
        self.folders.insert(folder.to_path_buf(), parse(&text));
    }
}

/// What the last matching rule says.
fn decide(rules: &[IgnoreRule], below: &Path, is_folder: bool) -> Option<bool> {
    let whole = below.as_os_str().as_bytes();
    let name = below.file_name().unwrap_or_default().as_bytes();
    let matching = |rule: &&IgnoreRule| {
        (is_folder || !rule.is_for_folders)
            && fits(&rule.pattern, if rule.is_for_paths { whole } else { name })
    };
    rules.iter().rev().find(matching).map(|rule| !rule.is_negated)
}

fn parse(text: &str) -> Vec<IgnoreRule> {
    text.lines().filter_map(parse_line).take(MAX_RULES).collect()
}

fn parse_line(line: &str) -> Option<IgnoreRule> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let trimmed = line.trim_end_matches(' ');
    // A space behind a backslash belongs to the pattern.
    let line = if trimmed.len() < line.len() && trimmed.ends_with('\\') {
        line.get(..=trimmed.len())?
    } else {
        trimmed
    };
    if line.is_empty() || line.starts_with('#') || line.len() > MAX_RULE {
        return None;
    }
    let (is_negated, line) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
    let (is_for_folders, line) = line.strip_suffix('/').map_or((false, line), |rest| (true, rest));
    let is_for_paths = line.contains('/');
    let line = line.strip_prefix('/').unwrap_or(line);
    let pattern = compile(line.as_bytes())?;
    Some(IgnoreRule { pattern, is_negated, is_for_folders, is_for_paths })
}

fn compile(pattern: &[u8]) -> Option<Vec<PatternPart>> {
    let mut parts = Vec::new();
    let mut rest = pattern;
    while let Some((first, after)) = rest.split_first() {
        let is_start =
            matches!(parts.last(), None | Some(PatternPart::Byte(b'/') | PatternPart::AnyFolders));
        let (part, after) = match (first, after) {
            (b'*', [b'*', b'/', tail @ ..]) if is_start => (PatternPart::AnyFolders, tail),
            (b'*', [b'*']) if is_start => (PatternPart::AnyPath, &[][..]),
            (b'*', _) => (PatternPart::AnyName, after),
            (b'?', _) => (PatternPart::AnyByte, after),
            (b'[', _) => class(after)?,
            (b'\\', [escaped, tail @ ..]) => (PatternPart::Byte(*escaped), tail),
            (byte, _) => (PatternPart::Byte(*byte), after),
        };
        parts.push(part);
        rest = after;
    }
    (!parts.is_empty()).then_some(parts)
}

/// A set of bytes behind `[`, and what follows it. A class with a name is not supported.
fn class(text: &[u8]) -> Option<(PatternPart, &[u8])> {
    let (is_negated, mut rest) = match text {
        [b'!' | b'^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut set = [0_u128; 2];
    let mut add = |byte: u8| {
        if let Some(half) = set.get_mut(usize::from(byte >> 7)) {
            *half |= 1 << (byte & 0x7f);
        }
    };
    let mut is_first = true;
    loop {
        match rest {
            [b']', tail @ ..] if !is_first => {
                let set = if is_negated { set.map(|half| !half) } else { set };
                return Some((PatternPart::Class(set), tail));
            }
            [] | [b'[', b':', ..] => return None,
            [from, b'-', to, tail @ ..] if *to != b']' => {
                (*from..=*to).for_each(&mut add);
                rest = tail;
            }
            [byte, tail @ ..] => {
                add(*byte);
                rest = tail;
            }
        }
        is_first = false;
    }
}

/// Whether a pattern matches the whole text. The time is proportional to both lengths.
fn fits(pattern: &[PatternPart], text: &[u8]) -> bool {
    // `here[n]`: whether the pattern so far matches the first n bytes.
    let mut here = vec![false; text.len() + 1];
    if let Some(start) = here.first_mut() {
        *start = true;
    }
    for part in pattern {
        let mut next = vec![false; text.len() + 1];
        let mut carried = false;
        for (at, reached) in here.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|before| text.get(before)).copied();
            let from_before = at.checked_sub(1).and_then(|b| here.get(b)).copied().unwrap_or(false);
            let matched = match part {
                PatternPart::Byte(byte) => from_before && before == Some(*byte),
                PatternPart::AnyByte => from_before && before != Some(b'/'),
                PatternPart::Class(set) => {
                    from_before && before.is_some_and(|byte| byte != b'/' && has(set, byte))
                }
                PatternPart::AnyName => {
                    carried = *reached || carried && before != Some(b'/');
                    carried
                }
                PatternPart::AnyPath => {
                    let result = carried;
                    carried |= *reached;
                    result
                }
                PatternPart::AnyFolders => {
                    let result = *reached || carried && before == Some(b'/');
                    carried |= *reached;
                    result
                }
            };
            if let Some(slot) = next.get_mut(at) {
                *slot = matched;
            }
        }
        here = next;
    }
    here.last() == Some(&true)
}

fn has(set: &[u128; 2], byte: u8) -> bool {
    set.get(usize::from(byte >> 7)).is_some_and(|half| half >> (byte & 0x7f) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_git_says() {
        let fits = |pattern: &str, text: &str| {
            super::fits(&compile(pattern.as_bytes()).unwrap(), text.as_bytes())
        };
        for (pattern, text) in [
            ("*.o", "a.o"),
            ("a?c", "abc"),
            ("[a-c]x", "bx"),
            ("[!a]x", "bx"),
            ("[]]x", "]x"),
            ("**/b", "b"),
            ("**/b", "a/c/b"),
            ("a/**", "a/b/c"),
            ("a/**/b", "a/b"),
            ("a/**/b", "a/x/y/b"),
            ("\\*", "*"),
            ("*", ""),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("*.o", "a/b.o"),
            ("a?c", "a/c"),
            ("a/**", "a"),
            ("a/**/b", "a/xb"),
            ("**/b", "ab"),
            ("\\*", "x"),
            ("[a-c]x", "dx"),
        ] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
        assert!(compile(b"[[:alpha:]]").is_none() && compile(b"[a").is_none());
    }

    #[test]
    fn a_hostile_pattern_ends() {
        let pattern = compile("*a".repeat(128).as_bytes()).unwrap();
        let text = format!("{}b", "a".repeat(4_000));
        // By trying every combination, this would not end.
        assert!(!super::fits(&pattern, text.as_bytes()));
    }
}
