//! Hosts that a command reaches, and files that leave this machine.

use super::arg::Arg;
use super::evaluator::Evaluator;
use crate::command_tables::ArgumentUse;
use crate::effect::Effect;
use crate::finding::Span;
use crate::flow::Taint;
use crate::name_lists::THIS_MACHINE;
use crate::paths::PathAction;
use crate::structural_findings;
use countersign_shell::UNKNOWN;
use countersign_types::tier::Tier;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// A URL or host.
    pub(super) fn on_net(&mut self, target: &str) -> Taint {
        let host = host_of(target);
        self.shared.out.effect(Effect::NetIn);
        if host.is_empty() || host.contains(UNKNOWN) {
            self.shared.out.trace.reaches_unknown_host = true;
            return Taint::NET;
        }
        if !host.is_ascii() {
            self.shared.report(&structural_findings::STRANGE_HOST, None);
        }
        if is_local(host) {
            return Taint::default();
        }
        self.shared.out.impact.hosts.add(host);
        let bare = host.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b':');
        if target.starts_with("http://") || target.starts_with("ftp://") || bare {
            Taint::NET.and(Taint::NET_OPEN)
        } else {
            Taint::NET
        }
    }

    /// A word that names a host or a URL, which may carry what was read.
    pub(super) fn on_address(&mut self, arg: &Arg<'t>) -> Taint {
        let taint = self.on_net(&arg.text);
        // `https://host/?d=$(cat file)`: the address carries what was read.
        let host = host_of(&arg.text);
        // `$(hostname).evil.org`: the name itself carries it.
        let named = !host.contains(UNKNOWN)
            || host.contains('.') && !host.to_ascii_lowercase().ends_with(".local");
        let away = taint.has(Taint::NET) && !host.is_empty() && named;
        if away && arg.taint.has(Taint::SECRET) {
            self.shared.out.effect(Effect::NetOut);
            self.shared.report(&structural_findings::EXFILTRATION, Some(arg.span));
        } else if away && arg.taint.has(Taint::FILE) {
            self.shared.out.effect(Effect::NetOut);
            self.shared.report(&structural_findings::UPLOAD, Some(arg.span));
        }
        taint
    }

    /// Text that is sent along and came from a file. A key has its place in a header; that it was
    /// read is a finding of its own.
    pub(super) fn sent_along(&mut self, arg: &Arg<'t>) {
        if arg.taint.has(Taint::FILE) && !arg.taint.has(Taint::SECRET) {
            self.shared.out.effect(Effect::NetOut);
            self.shared.report(&structural_findings::UPLOAD, Some(arg.span));
        }
    }

    /// The same for a service on this machine: the file is read, and stays here.
    pub(super) fn on_local_upload(&mut self, arg: &Arg<'t>) -> Taint {
        let Some(path) = uploaded_path(&arg.text) else { return Taint::default() };
        self.touch_text(ArgumentUse::Read, path, arg.span)
    }

    /// `@file`, `name=@file` or a bare path that is sent out.
    pub(super) fn on_upload(&mut self, arg: &Arg<'t>) -> Taint {
        self.sent_along(arg);
        let Some(path) = uploaded_path(&arg.text) else { return Taint::default() };
        self.on_uploaded_file(path, arg.span)
    }

    /// A file that is sent out.
    pub(super) fn on_uploaded_file(&mut self, path: &str, span: Span) -> Taint {
        self.shared.out.effect(Effect::NetOut);
        let class = self.shared.class_for(PathAction::Read, path);
        let class = self.shared.class_by_facts(PathAction::Read, path, class);
        let held = self.shared.file_content(path).is_some_and(|f| f.taint.has(Taint::SECRET));
        let secret = held || class.read >= Tier::Medium || class.id == "access-control";
        let sign =
            if secret { &structural_findings::EXFILTRATION } else { &structural_findings::UPLOAD };
        self.shared.report(sign, Some(span));
        Taint::FILE
    }
}

/// The file of an option that uploads: `@file`, `name=@file`, `name@file` or a bare path; in any
/// other text the sign stands for itself.
fn uploaded_path(text: &str) -> Option<&str> {
    let names =
        |before: &str| before.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-[]".contains(&b));
    let path = match text.split_once('@') {
        Some((before, path)) if before.ends_with('=') || names(before) => path,
        _ if text.starts_with(['/', '~', '.']) => text,
        _ => return None,
    };
    let path = path.split(';').next().unwrap_or(path);
    (path != "-").then_some(path)
}

/// The host part of a URL or `user@host:path`.
pub(super) fn host_of(target: &str) -> &str {
    let rest = target.split_once("://").map_or(target, |(_, rest)| rest);
    let rest = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    if rest.starts_with('[') {
        return rest.split(']').next().unwrap_or(rest).trim_start_matches('[');
    }
    rest.split(':').next().unwrap_or(rest)
}

/// This machine itself.
pub(super) fn is_local(host: &str) -> bool {
    let is_number = |rest: &str| rest.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    THIS_MACHINE.contains(&host)
        || host.strip_prefix("127.").is_some_and(is_number)
        || host.ends_with(".localhost")
}
