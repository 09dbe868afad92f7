//! What is written into files that run later by themselves: hooks, workflows, shell profiles.

use super::arguments::Reader;
use super::patch;
use super::scan::is_dangerous;
pub(super) use super::table::AUTORUN_DANGERS;
use super::table::AUTORUN_FILES;
use crate::finding::Doubt;
use crate::structural_findings;
use countersign_text::glob;
use countersign_types::tier::Tier;

impl Reader<'_, '_> {
    /// A patch: the files it touches, and what it puts into those that run later.
    pub(super) fn patch(&mut self, text: &str) {
        let files = patch::files(text);
        // What names no file and changes no line is no patch, whatever it is called.
        if files.is_empty() && !text.contains("@@") && !text.trim().is_empty() {
            self.out.doubt(Doubt::Unreadable);
        }
        for file in files {
            self.path(file.path, file.access, Some(file.span));
            self.written(file.path, &file.added);
        }
    }

    /// Text for the file that another argument names.
    pub(super) fn content(&mut self, text: &str) {
        if let Some(path) = self.target {
            self.written(path, text);
        }
    }

    fn written(&mut self, path: &str, text: &str) {
        if runs_later(path)
            && holds_danger(text, |line| is_dangerous(line, &self.ctx, Tier::Critical))
        {
            self.out.add(structural_findings::AUTORUN_COMMAND.finding());
        }
    }
}

/// Whether a file runs by itself, by its path.
fn runs_later(path: &str) -> bool {
    let path = path.replace('\\', "/").to_ascii_lowercase();
    let parts: Vec<&str> =
        path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    AUTORUN_FILES.iter().any(|pattern| {
        let wanted: Vec<&str> = pattern.split('/').collect();
        parts.len().checked_sub(wanted.len()).is_some_and(|skip| {
            parts.iter().skip(skip).zip(&wanted).all(|(part, glob)| glob::matches(glob, part))
        })
    })
}

/// Whether the whole text or one command in it is dangerous. Commands stand on lines of their own,
/// behind a key (`run: …`), or in quotes (`"postinstall": "…"`).
fn holds_danger(text: &str, test: impl Fn(&str) -> bool) -> bool {
    if test(text) {
        return true;
    }
    text.lines().any(|line| {
        let line = line.trim().trim_start_matches("- ").trim_start_matches('@').trim();
        if line.is_empty() || line.starts_with('#') || line.starts_with("//") {
            return false;
        }
        let value = line.split_once(": ").map(|(_, value)| unquoted(value));
        test(line)
            || test(&unquoted(line))
            || value.is_some_and(|value| test(&value))
            || quoted(line).iter().any(|part| part.contains(' ') && test(part))
    })
}

/// A value without its quotes and the comma behind it.
fn unquoted(value: &str) -> String {
    let value = value.trim().trim_end_matches(',').trim();
    let bare = value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).unwrap_or(value);
    let bare = bare.strip_prefix('\'').and_then(|v| v.strip_suffix('\'')).unwrap_or(bare);
    bare.replace("\\\"", "\"").replace("\\\\", "\\")
}

/// The strings in double quotes on a line of JSON.
fn quoted(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut now: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, now.as_mut()) {
            ('\\', Some(text)) => text.extend(chars.next()),
            ('"', Some(_)) => found.extend(now.take()),
            ('"', None) => now = Some(String::new()),
            (c, Some(text)) => text.push(c),
            _ => {}
        }
    }
    found.extend(now);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_run_later_are_known_by_their_last_parts() {
        for path in [
            "package.json",
            "/home/me/shop/package.json",
            ".github/workflows/ci.yml",
            "C:\\repo\\.github\\workflows\\ci.yml",
            "/home/me/.bashrc",
            "./.husky/pre-commit",
        ] {
            assert!(runs_later(path), "{path}");
        }
        for path in ["src/package.rs", "workflows/ci.yml", "docs/bashrc.md", ""] {
            assert!(!runs_later(path), "{path}");
        }
    }

    #[test]
    fn commands_are_found_in_scripts_json_and_yaml() {
        let test = |text: &str| text.starts_with("evil ");
        for text in [
            "#!/bin/sh\nevil now",
            "jobs:\n  a:\n    steps:\n      - run: evil now",
            "  script:\n    - 'evil now'",
            "{\"scripts\":{\"postinstall\":\"evil now\"}}",
            "all:\n\t@evil now",
            "      - run: |\n          evil now",
        ] {
            assert!(holds_danger(text, test), "{text}");
        }
        assert!(!holds_danger("# evil now\nname: x", test));
    }
}
