//! The difference between two texts, line by line, as people know it from `diff -u`.

/// Lines around a change that are shown with it.
const AROUND: usize = 3;
/// Above so many pairs of lines the middle is shown as taken out and put in whole.
const MOST_PAIRS: usize = 4_000_000;

/// One line of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// Stays.
    Same(&'a str),
    /// Goes.
    Out(&'a str),
    /// Comes.
    In(&'a str),
    /// Lines that stay and are not shown.
    Gap,
}

/// What changes from one text to another; nothing where they are the same.
pub fn diff<'a>(old: &'a str, new: &'a str) -> Vec<Line<'a>> {
    let old: Vec<&str> = old.lines().collect();
    let new: Vec<&str> = new.lines().collect();
    shortened(&whole(&old, &new))
}

fn whole<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (old.get(start..).unwrap_or(&[]), new.get(start..).unwrap_or(&[]));
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let old_middle = old_rest.get(..old_rest.len() - end).unwrap_or(&[]);
    let new_middle = new_rest.get(..new_rest.len() - end).unwrap_or(&[]);
    let mut lines: Vec<Line<'a>> = old.iter().take(start).map(|line| Line::Same(line)).collect();
    lines.extend(middle(old_middle, new_middle));
    lines.extend(old.iter().skip(old.len() - end).map(|line| Line::Same(line)));
    lines
}

/// By the longest common part.
fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    if old.len().saturating_mul(new.len()) > MOST_PAIRS {
        let out = old.iter().map(|line| Line::Out(line));
        return out.chain(new.iter().map(|line| Line::In(line))).collect();
    }
    // Row by row from the end: how many lines two tails have in common.
    let mut rows = vec![vec![0_u32; new.len() + 1]];
    for a in old.iter().rev() {
        let below = rows.last().cloned().unwrap_or_default();
        let mut row = vec![0; new.len() + 1];
        for (at, b) in new.iter().enumerate().rev() {
            let get = |row: &[u32], at: usize| row.get(at).copied().unwrap_or(0);
            let best = if a == b {
                get(&below, at + 1) + 1
            } else {
                get(&below, at).max(get(&row, at + 1))
            };
            if let Some(cell) = row.get_mut(at) {
                *cell = best;
            }
        }
        rows.push(row);
    }
    rows.reverse();
    let common = |i: usize, j: usize| rows.get(i).and_then(|row| row.get(j)).copied().unwrap_or(0);
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    loop {
        match (old.get(i), new.get(j)) {
            (None, None) => return lines,
            (Some(a), Some(b)) if a == b => {
                lines.push(Line::Same(a));
                (i, j) = (i + 1, j + 1);
            }
            (Some(a), b) if b.is_none() || common(i + 1, j) >= common(i, j + 1) => {
                lines.push(Line::Out(a));
                i += 1;
            }
            (_, Some(b)) => {
                lines.push(Line::In(b));
                j += 1;
            }
            (Some(a), None) => {
                lines.push(Line::Out(a));
                i += 1;
            }
        }
    }
}

/// Without the lines far from any change.
fn shortened<'a>(lines: &[Line<'a>]) -> Vec<Line<'a>> {
    let changes = |line: &Line<'_>| matches!(line, Line::Out(_) | Line::In(_));
    let mut shown = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let from = at.saturating_sub(AROUND);
        let near = lines.iter().skip(from).take(at - from + AROUND + 1).any(changes);
        if near {
            shown.push(*line);
        } else if shown.last() != Some(&Line::Gap) {
            shown.push(Line::Gap);
        }
    }
    if shown.iter().any(changes) { shown } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(old: &str, new: &str) -> String {
        let line = |line: &Line<'_>| match line {
            Line::Same(text) => format!(" {text}\n"),
            Line::Out(text) => format!("-{text}\n"),
            Line::In(text) => format!("+{text}\n"),
            Line::Gap => "@@\n".to_owned(),
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
        let texts = ["", "a\n", "a\nb\n", "b\na\n", "a\nb\nc\nb\na\n", "c\nb\n", "x\nb\nx\n"];
        for old in texts {
            for new in texts {
                let old_lines: Vec<&str> = old.lines().collect();
                let new_lines: Vec<&str> = new.lines().collect();
                let lines = whole(&old_lines, &new_lines);
                let after: Vec<&str> = lines
                    .iter()
                    .filter_map(|line| match line {
                        Line::Same(text) | Line::In(text) => Some(*text),
                        Line::Out(_) | Line::Gap => None,
                    })
                    .collect();
                let before: Vec<&str> = lines
                    .iter()
                    .filter_map(|line| match line {
                        Line::Same(text) | Line::Out(text) => Some(*text),
                        Line::In(_) | Line::Gap => None,
                    })
                    .collect();
                assert_eq!((before, after), (old_lines, new_lines));
            }
        }
    }
}
