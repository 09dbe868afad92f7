//! The command interpreter of Windows: its text, read command by command and assessed by the rules.

mod loops;
mod options;
mod run;
mod scope;
#[cfg(test)]
mod tests;
mod words;

use crate::context::Context;
use crate::finding::{Findings, Span};
use crate::flow::Flow;
use crate::shell::{CommandAssessor, CommandWord, Dispatch, assess_text};
use crate::structural_findings;

pub(crate) use options::slash_options;

/// Reads text for cmd and adds what it would do.
pub(crate) fn read(text: &str, ctx: &Context<'_>, dispatch: &'static Dispatch, out: &mut Findings) {
    assess_text(0, ctx, 0, dispatch, out, |assessor| {
        run::run(assessor, text, &Flow::none());
    });
}

/// What `cmd` with these words runs; none where it would only open a session.
pub(crate) fn launched(
    assessor: &mut CommandAssessor<'_, '_, '_>,
    words: &[CommandWord],
    stdin: &Flow,
    span: Span,
) -> Option<Flow> {
    let is_run = |w: &CommandWord| run_option(w).is_some();
    let Some(at) = words.iter().skip(1).position(is_run).map(|at| at + 1) else {
        if stdin.present {
            let text = stdin.text.clone();
            return Some(if let Some(text) = text {
                run_text(assessor, &text, stdin, span)
            } else {
                assessor.unseen_code(stdin.taint, span);
                Flow::unknown(stdin.taint)
            });
        }
        return None;
    };
    let text = command_line(words.get(at..).unwrap_or_default());
    if text.contains(countersign_shell::UNKNOWN) {
        assessor.report(&structural_findings::DYNAMIC, span);
    }
    Some(run_text(assessor, &text, stdin, span))
}

/// The length of an option such as `/c`, behind which the command follows.
fn run_option(word: &CommandWord) -> Option<usize> {
    let lower = word.text.to_ascii_lowercase().replace("//", "/");
    ["/c", "/k", "/r"].iter().find(|o| lower.starts_with(**o)).map(|o| o.len())
}

/// The text that `cmd` runs, given the words from the option on.
fn command_line(words: &[CommandWord]) -> String {
    let mut text = String::new();
    // `/cdel x`: the command may follow without a blank.
    if let Some(word) = words.first() {
        let option = run_option(word).unwrap_or(0);
        let slashes = usize::from(word.text.starts_with("//"));
        text.push_str(word.text.get(option + slashes..).unwrap_or_default());
    }
    let rest = words.get(1..).unwrap_or_default();
    for (i, word) in rest.iter().enumerate() {
        if i > 0 || !text.is_empty() {
            text.push(' ');
        }
        // Words that another shell took apart get their quotes back.
        let alone = rest.len() == 1;
        if !alone && word.text.contains(char::is_whitespace) && !word.text.contains('"') {
            text.push('"');
            text.push_str(&word.text);
            text.push('"');
        } else {
            text.push_str(&word.text);
        }
    }
    let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
    inner.map_or(text.clone(), str::to_owned)
}

fn run_text(
    assessor: &mut CommandAssessor<'_, '_, '_>,
    text: &str,
    stdin: &Flow,
    span: Span,
) -> Flow {
    let old = assessor.pin(Some(span));
    let flow = run::run(assessor, text, stdin);
    assessor.pin(old);
    flow
}

/// Whether a text whose shell nobody named may be for cmd: one of its own commands with options.
pub fn looks_like(text: &str) -> bool {
    if text.len() > countersign_shell::MAX_BYTES {
        return false;
    }
    // Every sign of it needs one of these.
    if !text.contains(['/', '\\', '%', ':']) {
        return false;
    }
    text.split(['&', '|', '\n', ';', '(']).any(|part| {
        let mut words = part.split_ascii_whitespace().map(|w| w.trim_start_matches('@'));
        let Some(first) = words.next() else { return false };
        let name = first.split('/').next().unwrap_or(first);
        let is_option = |w: &[u8]| match w {
            [b'/', letter] | [b'/', letter, b':' | b'/', ..] => letter.is_ascii_alphabetic(),
            _ => false,
        };
        let drive = |w: &str| w.trim_matches('"').as_bytes().get(1) == Some(&b':');
        let sign =
            |w: &str| is_option(w.as_bytes()) || w.contains('\\') || w.starts_with('%') || drive(w);
        let signs = first.len() > name.len() || words.any(sign);
        let loops = |name: &str| {
            let known = ["for", "if"].iter().any(|word| name.eq_ignore_ascii_case(word));
            known && part.contains("%%")
        };
        if !signs {
            return loops(name);
        }
        let name = name.to_ascii_lowercase();
        let own = crate::command_tables::spec(&format!("cmd:{name}"));
        let slashed = own
            .or_else(|| crate::command_tables::spec(&name))
            .is_some_and(|(s, ..)| s.slash_options);
        slashed || loops(&name)
    })
}
