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

/// Whether a rule that asks a person holds, whatever else is written.
pub(super) fn grave(rules: &[&'static Rule], inv: &Invocation<'_, '_>, stdin: bool) -> bool {
    rules.iter().any(|r| r.tier >= Tier::Medium && !r.home && inv.fits(r, stdin, true))
}
