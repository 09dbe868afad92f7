//! The difference between two texts, line by line, as `diff -u` shows it.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};

/// Unchanged lines that are shown around a change.
const CONTEXT: usize = 3;
/// How long the search for a short difference may take; then a longer one is shown.
const MAX_SEARCH: Duration = Duration::from_millis(500);

/// One line of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffLine<'a> {
    /// The line is in both texts.
    Same(&'a str),
    /// The line is only in the old text.
    Out(&'a str),
    /// The line is only in the new text.
    In(&'a str),
    /// Unchanged lines are not shown here.
    Gap,
}

/// What changes from one text to another; empty where they are the same.
pub fn diff<'a>(old: &'a str, new: &'a str) -> Vec<DiffLine<'a>> {
    let old: Vec<&str> = old.lines().collect();
    let new: Vec<&str> = new.lines().collect();
    let deadline = Instant::now().checked_add(MAX_SEARCH);
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline);
    let mut lines = Vec::new();
    // Where the unchanged lines that were not shown yet begin.
    let mut shown_to = 0;
    for group in group_diff_ops(ops, CONTEXT) {
        if group.first().is_some_and(|op| op.old_range().start > shown_to) {
            lines.push(DiffLine::Gap);
        }
        for op in &group {
            push(&mut lines, op, &old, &new);
            shown_to = op.old_range().end;
        }
    }
    if !lines.is_empty() && shown_to < old.len() {
        lines.push(DiffLine::Gap);
    }
    lines
}

fn push<'a>(lines: &mut Vec<DiffLine<'a>>, op: &DiffOp, old: &[&'a str], new: &[&'a str]) {
    let old_lines = old.get(op.old_range()).unwrap_or_default().iter();
    let new_lines = new.get(op.new_range()).unwrap_or_default().iter();
    if matches!(op, DiffOp::Equal { .. }) {
        lines.extend(old_lines.map(|line| DiffLine::Same(line)));
    } else {
        lines.extend(old_lines.map(|line| DiffLine::Out(line)));
        lines.extend(new_lines.map(|line| DiffLine::In(line)));
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn written(old: &str, new: &str) -> String {
        let line = |line: &DiffLine<'_>| match line {
            DiffLine::Same(text) => format!(" {text}\n"),
            DiffLine::Out(text) => format!("-{text}\n"),
            DiffLine::In(text) => format!("+{text}\n"),
            DiffLine::Gap => "@@\n".to_owned(),
        };
        diff(old, new).iter().map(line).collect()
    }

    #[test]
    fn only_what_changes_is_shown_with_its_surroundings() {
        assert_eq!(written("a\nb\n", "a\nb\n"), "");
        assert_eq!(written("", "a\nb\n"), "+a\n+b\n");
        assert_eq!(written("a\nb\nc\n", "a\nx\nc\n"), " a\n-b\n+x\n c\n");
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\nnew\n5\n6\n7\n8\n9\n";
        assert_eq!(written(old, new), "@@\n 2\n 3\n 4\n+new\n 5\n 6\n 7\n@@\n");
        assert_eq!(written("a\nb\nc\nd\n", "b\nx\nd\ne\n"), "-a\n b\n-c\n+x\n d\n+e\n");
    }

    #[test]
    fn applied_it_gives_the_new_text() {
        // Short enough that every line is shown.
        let texts = ["", "a\n", "a\nb\n", "b\na\n", "a\nb\nc\nb\na\n", "c\nb\n", "x\nb\nx\n"];
        for old in texts {
            for new in texts.into_iter().filter(|new| *new != old) {
                let lines = diff(old, new);
                let side = |keep: fn(&DiffLine<'_>) -> bool| -> String {
                    let kept = lines.iter().filter(|line| keep(line));
                    kept.map(|line| match line {
                        DiffLine::Same(text) | DiffLine::Out(text) | DiffLine::In(text) => {
                            format!("{text}\n")
                        }
                        DiffLine::Gap => "@@\n".to_owned(),
                    })
                    .collect()
                };
                assert_eq!(side(|line| !matches!(line, DiffLine::In(_))), old);
                assert_eq!(side(|line| !matches!(line, DiffLine::Out(_))), new);
            }
        }
    }

    /// Only a hang takes so long.
    const HANG: Duration = Duration::from_mins(1);

    #[test]
    fn long_texts_without_a_common_line_are_compared_in_time() {
        let text = |letter: char| -> String {
            let mut text = String::new();
            for number in 0..20_000 {
                let _ = writeln!(text, "{letter}{number}");
            }
            text
        };
        let begin = Instant::now();
        assert_eq!(diff(&text('a'), &text('b')).len(), 40_000);
        assert!(begin.elapsed() < HANG, "{:?}", begin.elapsed());
    }
}
