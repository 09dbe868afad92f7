//! sed programs: what runs, what reads and writes files, and what leaves nothing behind.

use super::awk::write;
use super::evaluator::Evaluator;
use crate::command_tables::ArgumentUse;
use crate::finding::Span;
use crate::flow::Flow;
use crate::structural_findings;

/// What a program does to the text it works on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Summary {
    /// Deletes every line.
    pub empties: bool,
    /// Prints something by itself, as it must under `-n`.
    pub prints: bool,
}

/// The commands `e` (run), `w FILE` and `r FILE`, and the flags `e` and `w FILE` of `s///`.
pub(super) fn read(walker: &mut Evaluator<'_, '_, '_, '_>, program: &str, span: Span) {
    for brackets in [false, true] {
        // A slash in `[/]` closes the pattern for some; both readings count.
        if !brackets || program.contains('[') {
            let mut act = |act: SedAction<'_>| match act {
                SedAction::Run(text) => {
                    walker.shared.report(&structural_findings::SHELL_TEXT, Some(span));
                    walker.inside(text, span, &Flow::none());
                }
                SedAction::RunLine => {
                    walker.shared.report(&structural_findings::UNSEEN_CODE, Some(span));
                }
                SedAction::Write(path) => write(walker, path, false, span),
                SedAction::Read(path) => drop(walker.touch_text(ArgumentUse::Read, path, span)),
            };
            scan(program, brackets, &mut act);
        }
    }
}

/// What a program does to the text it works on.
pub(super) fn summary(program: &str) -> Summary {
    scan(program, true, &mut |_| {})
}

enum SedAction<'p> {
    /// A command that the program holds.
    Run(&'p str),
    /// The line that is worked on is a command.
    RunLine,
    Write(&'p str),
    Read(&'p str),
}

fn scan<'p>(program: &'p str, brackets: bool, act: &mut impl FnMut(SedAction<'p>)) -> Summary {
    let mut summary = Summary::default();
    let mut rest = program;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r', ';', '{', '}']);
        let (everywhere, command) = address(rest, brackets);
        let Some(letter) = command.chars().next() else { return summary };
        let after = command.get(letter.len_utf8()..).unwrap_or_default();
        rest = match letter {
            'e' => {
                let (text, next) = line(after);
                let text = text.trim();
                let bare = text.is_empty() || text.starts_with([';', '}']);
                act(if bare { SedAction::RunLine } else { SedAction::Run(text) });
                next
            }
            'w' | 'W' | 'r' | 'R' => {
                let (path, next) = line(after);
                let path = path.trim();
                summary.prints = true;
                let writes = matches!(letter, 'w' | 'W');
                act(if writes { SedAction::Write(path) } else { SedAction::Read(path) });
                next
            }
            's' => match substitution(after, brackets, &mut summary, act) {
                Some(next) => next,
                None => return summary,
            },
            'y' => match part(after, false).and_then(|p| replacement(after, p)) {
                Some(next) => next,
                None => return summary,
            },
            'a' | 'i' | 'c' => {
                summary.prints = true;
                text_lines(after)
            }
            '#' => line(after).1,
            'b' | 't' | 'T' | ':' => {
                let end = after.find([';', '}', '\n']).unwrap_or(after.len());
                after.get(end..).unwrap_or_default()
            }
            _ => {
                summary.empties |= matches!(letter, 'd' | 'D') && everywhere;
                summary.prints |= matches!(letter, 'p' | 'P' | '=' | 'l' | 'F');
                after
            }
        };
    }
}

/// The rest of the line, and what follows it.
/// The pattern, replacement and flags of `s`; returns the text behind them, none if it is broken.
fn substitution<'p>(
    after: &'p str,
    brackets: bool,
    summary: &mut Summary,
    act: &mut impl FnMut(SedAction<'p>),
) -> Option<&'p str> {
    let flags = part(after, brackets).and_then(|p| replacement(after, p))?;
    let end = flags.find([';', '}', '\n', '#']).unwrap_or(flags.len());
    let own = flags.get(..end).unwrap_or_default();
    summary.prints |= own.contains('p');
    if own.contains('e') && !own.contains('w') {
        act(SedAction::RunLine);
    }
    let Some((before, _)) = own.split_once('w') else { return flags.get(end..) };
    let (path, next) = line(flags.get(before.len() + 1..).unwrap_or_default());
    if before.contains('e') {
        act(SedAction::RunLine);
    }
    act(SedAction::Write(path.trim()));
    Some(next)
}

fn line(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

/// Past the text of `a`, `i` and `c`: a backslash at the end of a line carries it on.
fn text_lines(text: &str) -> &str {
    let mut rest = text;
    loop {
        let (now, next) = line(rest);
        rest = next;
        if !now.ends_with('\\') || next.is_empty() {
            return rest;
        }
    }
}

/// Where the first part behind a delimiter ends: how many bytes, both delimiters counted.
fn part(text: &str, brackets: bool) -> Option<usize> {
    let mut chars = text.char_indices();
    let (_, close) = chars.next()?;
    let (mut escaped, mut inside) = (false, false);
    for (at, c) in chars {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if brackets && c == '[' {
            inside = true;
        } else if inside && c == ']' {
            inside = false;
        } else if c == close && !inside {
            return Some(at + c.len_utf8());
        }
    }
    None
}

/// What stands behind the second part.
fn replacement(text: &str, first: usize) -> Option<&str> {
    let close = text.chars().next()?;
    let second = text.get(first.checked_sub(close.len_utf8())?..)?;
    second.get(part(second, false)?..)
}

/// Past an address; whether what follows happens on every line.
fn address(text: &str, brackets: bool) -> (bool, &str) {
    let mut rest = text;
    loop {
        let plain =
            |c: char| c.is_ascii_digit() || matches!(c, '$' | ',' | '~' | '+' | '!' | ' ' | '\t');
        let next = rest.trim_start_matches(plain);
        let pattern = next.strip_prefix('\\').filter(|p| !p.is_empty()).unwrap_or(next);
        if pattern.len() < next.len() || next.starts_with('/') {
            let Some(end) = part(pattern, brackets) else { return (false, "") };
            rest = pattern.get(end..).unwrap_or_default().trim_start_matches(['I', 'M']);
            continue;
        }
        let written = text.get(..text.len() - next.len()).unwrap_or_default().trim();
        let everywhere = matches!(written, "" | "1,$" | "/./" | "/.*/" | "/^/" | "/$/" | "0~1");
        return (everywhere, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acts(program: &str) -> Vec<String> {
        let mut acts = Vec::new();
        scan(program, true, &mut |act| {
            acts.push(match act {
                SedAction::Run(text) => format!("run {text}"),
                SedAction::RunLine => "run line".to_owned(),
                SedAction::Write(path) => format!("write {path}"),
                SedAction::Read(path) => format!("read {path}"),
            });
        });
        acts
    }

    #[test]
    fn what_leaves_the_text_is_found_wherever_it_stands() {
        for (program, act) in [
            ("e rm x", "run rm x"),
            (":a;N;e rm x", "run rm x"),
            ("b x;e rm x", "run rm x"),
            ("\\%s%e rm x", "run rm x"),
            ("1,/[/]x/e rm x", "run rm x"),
            ("s/a/b\\\nc/e", "run line"),
            ("s,[,;,]x,y,e", "run line"),
            ("a text\\\nmore\nw out", "write out"),
            ("$!r in", "read in"),
            ("s/a/b/gw out", "write out"),
        ] {
            assert_eq!(acts(program), [act], "{program}");
        }
        for program in ["s/e/w/g", "/^e/d", "a e rm x", "y/e/w/", "# e rm x", "1,5p;$d"] {
            assert_eq!(acts(program), [""; 0], "{program}");
        }
        let many = format!("{}e rm x", "p;".repeat(5_000));
        assert_eq!(acts(&many), ["run rm x"]);
    }

    #[test]
    fn programs_that_leave_nothing() {
        for program in ["d", "1,$d", "p;d", "/./d"] {
            assert!(summary(program).empties, "{program}");
        }
        for program in ["1d", "/x/d", "$d", "s/d/e/"] {
            assert!(!summary(program).empties, "{program}");
        }
        assert!(summary("/x/p").prints && !summary("s/a/b/").prints);
    }
}
