//! Calls that only print how a program is used.

use super::invocation::Invocation;
use crate::command_tables::{Rule, Spec};
use crate::name_lists::{
    CONFIG_OPTIONS, LOOK_NOUNS, LOOK_OPTIONS, LOOK_SUBCOMMANDS, USAGE_OPTIONS,
};
use countersign_types::tier::Tier;

/// `--help` and `--version` of a program that only works by itself and takes no value there. Behind
/// a subcommand `--version` often takes one: `tool install NAME --version 1.0`.
pub(super) fn asks_for_help(spec: &Spec, inv: &Invocation<'_, '_>) -> bool {
    let last = inv.args.len().saturating_sub(1);
    let asks = |at: &u16| {
        let text = inv.arg(*at).map(|arg| arg.text.as_ref()).unwrap_or_default();
        let is_asked = match text {
            "--help" => true,
            "--version" => inv.operands.is_empty() || usize::from(*at) == last,
            _ => false,
        };
        is_asked && !spec.values.contains(&text)
    };
    spec.interpreter.is_none() && inv.has_long() && inv.options.iter().any(asks)
}

/// Whether there is no other option: one might take `--help` for its value.
pub(super) fn only_help(inv: &Invocation<'_, '_>) -> bool {
    let mut options = inv.options.iter().filter_map(|at| inv.arg(*at));
    !inv.operands.is_empty() && options.all(|arg| arg.text == "--help")
}

/// Whether the words of an undescribed program only ask how it is used: one such option behind at
/// most two plain words (`tool remote --help`), or `help` and a topic.
pub(super) fn only_prints_usage(inv: &Invocation<'_, '_>) -> bool {
    let words: Vec<&str> = inv.args.iter().skip(1).map(|arg| arg.text.as_ref()).collect();
    let plain = |word: &&str| {
        word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
            && !word.starts_with('-')
    };
    match words.as_slice() {
        [topics @ .., last] if USAGE_OPTIONS.contains(last) => {
            topics.len() <= 2 && topics.iter().all(plain)
        }
        ["version"] => true,
        ["help", topics @ ..] => topics.len() <= 2 && topics.iter().all(plain),
        _ => false,
    }
}

/// Whether the words of an undescribed program only ask it to show something: a word that says so,
/// behind at most two nouns, and at most one name behind it (`tool remote list`, `tool info x`).
pub(super) fn only_looks(inv: &Invocation<'_, '_>) -> bool {
    // `xml2-config --libs` prints settings for a compiler.
    let config = inv.args.first().is_some_and(|arg| arg.text.ends_with("-config"));
    let prints = |at: &u16| {
        inv.arg(*at).is_some_and(|arg| CONFIG_OPTIONS.binary_search(&arg.text.as_ref()).is_ok())
    };
    if config && inv.operands.is_empty() && inv.options.iter().all(prints) {
        return true;
    }
    let words = inv.args.iter().skip(1).map(|arg| arg.text.as_ref());
    let words: Vec<&str> = words.filter(|word| !LOOK_OPTIONS.contains(word)).collect();
    let plain = |word: &&str| {
        !word.starts_with('-')
            && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    let is_noun = |word: &str| LOOK_NOUNS.contains(&word);
    let rest = match words.as_slice() {
        [look, rest @ ..] if LOOK_SUBCOMMANDS.contains(look) => rest,
        [noun, look, rest @ ..] if is_noun(noun) && LOOK_SUBCOMMANDS.contains(look) => rest,
        [first, second, look, rest @ ..]
            if is_noun(first) && is_noun(second) && LOOK_SUBCOMMANDS.contains(look) =>
        {
            rest
        }
        _ => return false,
    };
    rest.len() <= 1 && rest.iter().all(plain)
}

/// Whether a rule that asks a person holds, whatever else is written.
pub(super) fn grave(rules: &[&'static Rule], inv: &Invocation<'_, '_>, stdin: bool) -> bool {
    rules.iter().any(|r| r.tier >= Tier::Medium && !r.home && inv.fits(r, stdin, true))
}
