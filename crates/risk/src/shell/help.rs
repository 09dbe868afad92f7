//! Calls that only print how a program is used.

use super::invocation::Invocation;
use crate::command_tables::{Rule, Spec};
use countersign_types::tier::Tier;

/// `--help` and `--version` of a program that only works by itself and takes no value there.
pub(super) fn asks_for_help(spec: &Spec, inv: &Invocation<'_, '_>) -> bool {
    spec.interpreter.is_none()
        && inv.has_long()
        && ["--help", "--version"].iter().any(|f| inv.has(f) && !spec.values.contains(f))
}

/// Whether there is no other option: one might take `--help` for its value.
pub(super) fn only_help(inv: &Invocation<'_, '_>) -> bool {
    let mut options = inv.options.iter().filter_map(|at| inv.arg(*at));
    !inv.operands.is_empty() && options.all(|arg| arg.text == "--help")
}

/// Options with which nearly every program prints how it is used, and does nothing else.
const USAGE: [&str; 7] = ["--help", "--version", "-?", "-V", "-h", "-help", "-version"];

/// Whether the words of an undescribed program only ask how it is used: one such option behind at
/// most two plain words (`tool remote --help`), or `help` and a topic.
pub(super) fn only_prints_usage(inv: &Invocation<'_, '_>) -> bool {
    let words: Vec<&str> = inv.args.iter().skip(1).map(|arg| arg.text.as_ref()).collect();
    let plain = |word: &&str| {
        word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
            && !word.starts_with('-')
    };
    match words.as_slice() {
        [topics @ .., last] if USAGE.contains(last) => {
            topics.len() <= 2 && topics.iter().all(plain)
        }
        ["version"] => true,
        ["help", topics @ ..] => topics.len() <= 2 && topics.iter().all(plain),
        _ => false,
    }
}

/// Whether a rule that asks a person holds, whatever else is written.
pub(super) fn grave(rules: &[&'static Rule], inv: &Invocation<'_, '_>, stdin: bool) -> bool {
    rules.iter().any(|r| r.tier >= Tier::Medium && !r.home && inv.fits(r, stdin, true))
}
