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
        for arg in inv.args {
            // `git -c remote.origin.pushurl=…` sets it for this command.
            if let Some((key, value)) = arg.text.split_once('=')
                && let Some(name) = set_by_key(key, value)
            {
                self.shared.note_new_remote(name);
            }
        }
        if let ["push", rest @ ..] = words {
            let named = inv.values.iter().find(|(name, _)| matches!(*name, "--repo" | "--remote"));
            let remote = named.map(|(_, value)| value.text).or(rest.first().copied());
            if self.shared.is_new_remote(remote.unwrap_or(DEFAULT)) {
                self.shared.report(&structural_findings::PUSH_NEW_REMOTE, Some(span));
            }
        } else {
            for name in set_remotes(words) {
                self.shared.note_new_remote(name);
            }
        }
    }
}

/// The remotes whose address these words set, unless the address is on this machine. A word may be
/// the value of an option that is not described, so every word before the address may be a name.
fn set_remotes<'w>(words: &[&'w str]) -> Vec<&'w str> {
    match words {
        ["remote", "add" | "set-url", rest @ ..] if rest.iter().any(|word| leaves(word)) => {
            rest.iter().copied().filter(|word| word.contains(UNKNOWN) || !leaves(word)).collect()
        }
        ["remote", "rename", _, name, ..] => vec![*name],
        ["config", rest @ ..] => {
            let pairs = rest.iter().zip(rest.iter().skip(1));
            pairs.filter_map(|(key, value)| set_by_key(key, value)).collect()
        }
        _ => Vec::new(),
    }
}

/// The remote whose address a setting changes.
fn set_by_key<'w>(key: &'w str, value: &str) -> Option<&'w str> {
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
