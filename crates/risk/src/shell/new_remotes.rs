//! Remotes of a repository that a call sets itself: a push to one of them goes to an address that
//! nobody has reviewed.

use super::evaluator::Evaluator;
use super::invocation::Invocation;
use super::net_access::{host_of, is_local};
use super::state::EvalState;
use crate::finding::Span;
use crate::paths::last_part;
use crate::structural_findings;
use countersign_shell::UNKNOWN;

/// Stands for every remote, where a setting decides which one is used.
const ANY: &str = "*";
/// The remote of a push that names none.
const DEFAULT: &str = "origin";

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Notes the remote that a command sets, and reports a push to one that the call has set.
    pub(super) fn new_remotes(&mut self, inv: &Invocation<'_, 't>, span: Span) {
        let words = inv.operands.iter().filter_map(|index| inv.arg(*index));
        let words: Vec<&str> = words.map(|arg| arg.text.as_ref()).collect();
        let program = inv.args.first().map(|arg| last_part(&arg.text));
        let ((Some("git" | "hub"), words) | (Some("jj"), ["git", words @ ..])) =
            (program, words.as_slice())
        else {
            return;
        };
        if let ["push", rest @ ..] = words {
            let named = inv.values.iter().find(|(name, _)| matches!(*name, "--repo" | "--remote"));
            let remote = named.map(|(_, value)| value.text).or(rest.first().copied());
            if self.shared.is_new_remote(remote.unwrap_or(DEFAULT)) {
                self.shared.report(&structural_findings::PUSH_NEW_REMOTE, Some(span));
            }
        } else if let Some(name) = set_remote(words) {
            self.shared.note_new_remote(name);
        }
    }
}

/// The remote whose address these words set, unless the address is on this machine.
fn set_remote<'w>(words: &[&'w str]) -> Option<&'w str> {
    match words {
        ["remote", "add" | "set-url", name, address, ..] => leaves(address).then_some(*name),
        ["remote", "rename", _, name, ..] => Some(*name),
        ["config", "set", key, value] | ["config", key, value] => {
            let (section, rest) = key.split_once('.')?;
            let (name, setting) = rest.rsplit_once('.').unwrap_or(("", rest));
            let setting = setting.to_ascii_lowercase();
            match (section.to_ascii_lowercase().as_str(), setting.as_str()) {
                ("remote", "url" | "pushurl") => leaves(value).then_some(name),
                ("remote", "pushdefault") | ("branch", "remote" | "pushremote") => Some(DEFAULT),
                ("url", "insteadof" | "pushinsteadof") => Some(ANY),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether an address is on another machine.
fn leaves(address: &str) -> bool {
    let is_path = address.starts_with(['/', '.', '~']) || address.starts_with("file:");
    address.contains(UNKNOWN) || !is_path && address.contains(':') && !is_local(host_of(address))
}

impl EvalState<'_, '_> {
    fn note_new_remote(&mut self, name: &str) {
        let name = if name.contains(UNKNOWN) { ANY } else { name };
        if !self.new_remotes.iter().any(|known| known == name) {
            self.new_remotes.push(name.to_owned());
            self.forget_assessed();
        }
    }

    fn is_new_remote(&self, name: &str) -> bool {
        let any = name.contains(UNKNOWN) && !self.new_remotes.is_empty();
        any || self.new_remotes.iter().any(|known| known == name || known == ANY)
    }
}
