//! Patches: which files they touch, and the lines they add to each.

use super::target::Access;
use crate::finding::Span;

/// One file that a patch touches.
#[derive(Debug)]
pub(super) struct PatchedFile<'t> {
    pub path: &'t str,
    pub access: Access,
    /// Where the patch names it.
    pub span: Span,
    /// Whether the patch creates it.
    pub is_new: bool,
    /// The lines it gets, without their `+`.
    pub added: String,
}

/// The files a patch touches: `*** Begin Patch` of agents, unified diffs and git's.
pub(super) fn files(text: &str) -> Vec<PatchedFile<'_>> {
    const HEADS: [(&str, Access); 6] = [
        ("*** Add File:", Access::Write),
        ("*** Update File:", Access::Write),
        ("*** Delete File:", Access::Delete),
        ("*** Move to:", Access::Write),
        ("rename to ", Access::Write),
        ("+++ ", Access::Write),
    ];
    let mut files: Vec<PatchedFile<'_>> = Vec::new();
    let mut at = 0;
    let mut old: Option<(&str, usize)> = None;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        let start = at + line.len() - line.trim_start().len();
        at += line.len();
        if let Some(path) = bare.strip_prefix("--- ") {
            old = Some((path, start + 4));
            continue;
        }
        let is_new = bare.starts_with("*** Add File:");
        let head = HEADS.iter().find_map(|(head, access)| {
            bare.strip_prefix(head).map(|path| (path, *access, start + head.len()))
        });
        let Some((path, access, place)) = head else {
            if let (Some(added), Some(file)) = (line.trim_end().strip_prefix('+'), files.last_mut())
            {
                file.added.push_str(added);
                file.added.push('\n');
            }
            continue;
        };
        let named = match (path.trim() == "/dev/null", old.take()) {
            (true, Some((path, place))) => Some((path, Access::Delete, place)),
            (true, None) => None,
            (false, _) => Some((path, access, place)),
        };
        if let Some((path, access, place)) = named {
            let (path, place) = own_path(path, place);
            let span = Span::new(place, place + path.len());
            files.push(PatchedFile { path, access, span, is_new, added: String::new() });
        }
    }
    files.retain(|file| !file.path.is_empty());
    files
}

/// A path without the quotes, the `a/` or `b/` and the time of day that diffs put around it.
fn own_path(written: &str, at: usize) -> (&str, usize) {
    let trimmed = written.trim_start();
    let mut at = at + written.len() - trimmed.len();
    let mut path = trimmed.split('\t').next().unwrap_or(trimmed).trim_end();
    if let Some(inner) = path.strip_prefix('"').and_then(|p| p.strip_suffix('"')) {
        path = inner;
        at += 1;
    }
    if let Some(inner) = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")) {
        path = inner;
        at += 2;
    }
    (path, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Vec<(&str, Access)> {
        files(text).into_iter().map(|file| (file.path, file.access)).collect()
    }

    #[test]
    fn patches_name_their_files() {
        let text = "*** Begin Patch\n*** Delete File: a b.txt\n--- a/x\n+++ /dev/null\n+++ b/y\n";
        let wanted = [("a b.txt", Access::Delete), ("x", Access::Delete), ("y", Access::Write)];
        assert_eq!(named(text), wanted);
        // Codex takes blanks around its headers; diffs may go without `b/` or with quotes.
        assert_eq!(named("  *** Add File:  /etc/x \n"), [("/etc/x", Access::Write)]);
        assert_eq!(named("--- /etc/x\t2024\n+++ /etc/x\t2025\n"), [("/etc/x", Access::Write)]);
        assert_eq!(named("+++ \"b/a b\"\n"), [("a b", Access::Write)]);
        assert_eq!(named("rename to .git/hooks/x\n"), [(".git/hooks/x", Access::Write)]);
    }

    #[test]
    fn places_and_added_lines_are_kept() {
        let text = "*** Update File: é/a.sh\n@@\n-old\n+new\n+ two\n*** Update File: b\n+x\n";
        let found = files(text);
        let first = found.first().unwrap();
        assert_eq!(text.get(first.span.start as usize..first.span.end as usize), Some("é/a.sh"));
        assert_eq!(first.added, "new\n two\n");
        assert_eq!(found.get(1).unwrap().added, "x\n");
    }
}
