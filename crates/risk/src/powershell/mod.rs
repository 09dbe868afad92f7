//! PowerShell: read into a syntax tree, walked with its constants, assessed by the rules of
//! commands.
//!
//! The `shell` crate makes the tree; `run`, `eval`, `functions` and `dotnet` walk it; `command`,
//! `bind` and the cmdlets turn each command into words that the rules know; `launch` reads the
//! options of `powershell` itself.

mod assignments;
mod bind;
mod cmdlet_call;
mod cmdlets;
mod command;
mod dotnet;
mod eval;
mod file_cmdlets;
mod functions;
mod known_methods;
mod known_variables;
mod launch;
mod members;
mod redirects;
mod run;
mod state;
#[cfg(test)]
mod tests;
mod text_operations;
mod value;

use std::borrow::Cow;

use crate::command_tables::Spec;
use crate::context::Context;
use crate::finding::{Findings, Span};
use crate::flow::Flow;
use crate::shell::{CommandAssessor, CommandWord, Dispatch, assess_text};
use run::Evaluator;
use state::PsState;

pub(crate) use cmdlets::split_arguments;
pub(crate) use launch::launched;

/// Reads PowerShell text and adds what it would do. `base` is its place in its argument.
pub(crate) fn read(
    text: &str,
    base: usize,
    ctx: &Context<'_>,
    dispatch: &'static Dispatch,
    out: &mut Findings,
) {
    let plain = plain_marks(text);
    let length = text.len();
    assess_text(base, ctx, 0, dispatch, out, |assessor| {
        if matches!(plain, Cow::Owned(_)) {
            // Places in the changed text mean nothing in the one that came.
            assessor.pin(Some(Span::new(base, base + length)));
        }
        let mut state = PsState::default();
        Evaluator { assessor, state: &mut state }.text(&plain);
    });
}

/// Typographic quotes and dashes mean the plain ones in PowerShell.
fn plain_marks(text: &str) -> Cow<'_, str> {
    let plain = |c: char| match c {
        '\u{2018}'..='\u{201b}' => Some('\''),
        '\u{201c}'..='\u{201e}' => Some('"'),
        '\u{2013}'..='\u{2015}' => Some('-'),
        _ => None,
    };
    if text.is_ascii() || !text.contains(|c| plain(c).is_some()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| plain(c).unwrap_or(c)).collect())
}

/// Binds the parameters of a cmdlet whose words were read by another shell.
pub(crate) fn bind_plain(
    spec: &'static Spec,
    words: &[CommandWord],
    stdin: &Flow,
) -> Vec<CommandWord> {
    let Some((name, rest)) = words.split_first() else { return Vec::new() };
    let arguments = bind::plain_arguments(rest);
    let bound = bind::bind(spec, &arguments, None);
    let name = CommandWord { text: name.text.to_ascii_lowercase(), ..name.clone() };
    bind::calls(spec, &name, &bound, stdin).into_iter().next().unwrap_or_default()
}

/// Runs PowerShell text for another reader.
pub(crate) fn run_text(assessor: &mut CommandAssessor<'_, '_, '_>, text: &str, span: Span) -> Flow {
    let mut state = PsState::default();
    let mut evaluator = Evaluator { assessor, state: &mut state };
    evaluator.inner_text(text, span).flow()
}

/// Whether a text whose shell nobody named may be PowerShell: a cmdlet where a command stands, an
/// environment variable in its form, a variable that gets a value, or a .NET type.
pub fn looks_like(text: &str) -> bool {
    if text.len() > countersign_shell::MAX_BYTES {
        return false;
    }
    let named = |name: &str| {
        text.as_bytes().windows(name.len()).any(|w| w.eq_ignore_ascii_case(name.as_bytes()))
    };
    if text.contains(']') && text.contains("]::")
        || text.contains('$') && (named("$env:") || named("$psscriptroot"))
    {
        return true;
    }
    if text.is_ascii() {
        return has_powershell_command(text);
    }
    let mut word_start = true;
    let mut at = 0;
    for part in text.split_inclusive(|c: char| c.is_whitespace() || ";|&({".contains(c)) {
        let word = part.trim_end_matches(|c: char| c.is_whitespace() || ";|&({)}".contains(c));
        if word_start && !word.is_empty() && begins_powershell(word, text.get(at + part.len()..)) {
            return true;
        }
        at += part.len();
        let ends = part.ends_with([';', '|', '&', '(', '{', '\n']);
        word_start = ends || word.is_empty() && word_start;
    }
    false
}

/// The same for the first words of the commands in an ASCII text.
fn has_powershell_command(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = |b: &u8| matches!(b, b';' | b'|' | b'&' | b'(' | b'{' | b'\n');
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let blank = rest.iter().take_while(|b| b.is_ascii_whitespace() || ends(b)).count();
        let from = at + blank;
        let word = bytes.get(from..).unwrap_or_default();
        let stops = |b: &u8| b.is_ascii_whitespace() || *b == 0x0b || ends(b);
        let to = from + word.iter().position(stops).unwrap_or(word.len());
        let name = text.get(from..to).unwrap_or_default().trim_end_matches([')', '}']);
        if !name.is_empty() && begins_powershell(name, text.get(to + 1..)) {
            return true;
        }
        let behind = bytes.get(to..).unwrap_or_default();
        at = to + behind.iter().position(ends).unwrap_or(behind.len()) + 1;
    }
    false
}

/// Aliases of cmdlets that POSIX shells have as words of their own.
const POSIX_WORDS: [&str; 16] = [
    "cd", "chdir", "pushd", "popd", "pwd", "type", "select", "help", "history", "foreach", "h",
    "r", "%", "fc", "where", "sleep",
];

fn begins_powershell(word: &str, rest: Option<&str>) -> bool {
    let rest = rest.unwrap_or_default().trim_start();
    // Commands are written in small letters nearly always.
    let word: &str = if word.bytes().any(|b| b.is_ascii_uppercase()) {
        &word.to_ascii_lowercase()
    } else {
        word
    };
    let assigns = rest.starts_with("= ") || rest.starts_with("+= ");
    if word.starts_with('$') {
        return assigns || word.contains('=') && word.len() > 2 && !word.contains("$(");
    }
    if matches!(word, "foreach" | "if" | "while" | "switch") {
        return rest.starts_with("($") || rest.starts_with('$');
    }
    if POSIX_WORDS.contains(&word) {
        return false;
    }
    if crate::command_tables::cmdlet_of_alias(word).is_some() {
        // An alias that is no program elsewhere, or hardly one.
        return matches!(word, "ri" | "ni" | "ii" | "gc")
            || crate::shell::described_program(word).is_none();
    }
    if !word.contains('-') {
        return false;
    }
    if cmdlets::is_cmdlet(word) {
        return true;
    }
    word.split_once('-').is_some_and(|(verb, noun)| {
        !noun.is_empty()
            && noun.bytes().all(|b| b.is_ascii_alphanumeric())
            && crate::command_tables::spec(&format!("{verb}-*")).is_some()
            && crate::shell::described_program(word).is_none()
    })
}
