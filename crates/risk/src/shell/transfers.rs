//! Data that a command sends or fetches.

use super::evaluator::Evaluator;
use super::invocation::Invocation;
use crate::command_tables::{ArgumentUse, Spec};
use crate::effect::Effect;
use crate::finding::Span;
use crate::flow::{Flow, Taint};
use crate::name_lists::{OUTPUT_FILE_OPTIONS, REMOTE_NAME_OPTIONS, REROUTING_OPTIONS};
use crate::shell::net_access::{host_of, is_local};
use crate::structural_findings;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Data that leaves with this command. What a service on this machine gets has not left it.
    pub(super) fn sent(
        &mut self,
        spec: &Spec,
        inv: &Invocation<'_, 't>,
        (stdin, all): (Taint, Taint),
        span: Span,
    ) {
        if all.has(Taint::SECRET) {
            self.shared.out.effect(Effect::NetOut);
            self.shared.report(&structural_findings::EXFILTRATION, Some(span));
        } else if stdin.has(Taint::FILE) && !names_only_this_machine(spec, inv) {
            self.shared.out.effect(Effect::NetOut);
            self.shared.report(&structural_findings::UPLOAD, Some(span));
        }
    }

    /// Where a download comes from, by its words.
    pub(super) fn fetched(&mut self, inv: &Invocation<'_, 't>) -> Taint {
        let mut taint = Taint::NET;
        let mut remote = None;
        for index in &inv.operands {
            let Some(arg) = inv.arg(*index) else { continue };
            if arg.text.contains("://") || arg.text.contains('.') {
                taint = taint.and(self.on_net(&arg.text));
                let path = arg.text.split(['?', '#']).next().unwrap_or_default();
                remote = path.rsplit('/').next().filter(|n| !n.is_empty() && n.len() < path.len());
            }
        }
        let named = inv.values.iter().find(|(n, _)| OUTPUT_FILE_OPTIONS.contains(n));
        // Without `-O`, wget keeps the remote name; curl does with it.
        let file = match named {
            Some((_, value)) => Some(value.text),
            None if !inv.args.first().is_some_and(|a| a.text.ends_with("curl")) => remote,
            None if inv.has_one(REMOTE_NAME_OPTIONS) => remote,
            None => None,
        };
        if let Some(file) = file.filter(|f| *f != "-") {
            self.written(file, false, &Flow::unknown(taint));
        }
        taint
    }
}

/// Whether the hosts among the words of a command are all this machine, and there is one.
pub(super) fn names_only_this_machine(spec: &Spec, inv: &Invocation<'_, '_>) -> bool {
    let names_host = |option: &str| {
        spec.touches.iter().any(|(name, touch)| *name == option && *touch == ArgumentUse::Net)
    };
    // Where an option names the host, the other words do not, and `-x` is no proxy.
    let by_option = spec.touches.iter().any(|(_, touch)| *touch == ArgumentUse::Net)
        && spec.operands.rest != ArgumentUse::Net;
    let words = inv.operands.iter().filter(|_| !by_option).filter_map(|index| inv.arg(*index));
    let words = words.map(|arg| arg.text.as_ref());
    let values = inv.values.iter().filter(|(name, _)| names_host(name));
    let hosts = words.chain(values.map(|(_, value)| value.text)).map(host_of);
    let hosts: Vec<&str> = hosts.collect();
    let elsewhere = |host: &&str| !is_local(host) && host.contains(|c: char| !c.is_ascii_digit());
    if !hosts.iter().any(|host| is_local(host)) || hosts.iter().any(elsewhere) {
        return false;
    }
    let leads = |option: &'static str| {
        !names_host(option) && (!by_option || option.starts_with("--")) && inv.has(option)
    };
    !REROUTING_OPTIONS.iter().any(|&option| leads(option))
}
