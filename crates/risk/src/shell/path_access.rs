//! What happens to a path, a host or a file that leaves: cost, effect, impact.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::invocation::Invocation;
use crate::command_tables::{PathClass, REBUILT, REBUILT_IN_PROJECT, Spec, Touch};
use crate::context::Environment;
use crate::effect::Effect;
use crate::finding::{Finding, Span};
use crate::flow::{Flow, Taint};
use crate::limit;
use crate::paths::{Act, guard, last_part};
use crate::structural_findings;
use countersign_shell::UNKNOWN;
use countersign_text::file_url;
use countersign_types::tier::Tier;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Notes what a command does to one of its words; returns what reading it would bring.
    pub(super) fn touch(&mut self, touch: Touch, arg: &Arg<'t>, recursive: bool) -> Taint {
        match touch {
            Touch::Read => self.on_path(Act::Read, arg),
            Touch::Named => self.on_named(arg),
            // Adding to a file elsewhere loses nothing.
            Touch::Append if self.shared.class_for(Act::Write, &arg.text).id == "elsewhere" => {
                self.shared.out.effect(Effect::Write);
                self.shared.out.impact.writes.add(&arg.text.replace(UNKNOWN, "…"));
                self.shared.sign(&structural_findings::ADDS_ELSEWHERE, Some(arg.span));
                Taint::default()
            }
            Touch::Write | Touch::Append => self.on_path(Act::Write, arg),
            Touch::Build => {
                self.written(&arg.text, false, &Flow::unknown(Taint::BUILT));
                self.on_path(Act::Write, arg)
            }
            Touch::Delete if recursive => {
                self.above_guarded(Act::DeleteTree, arg);
                self.on_path(Act::DeleteTree, arg)
            }
            Touch::Delete => self.on_path(Act::Delete, arg),
            Touch::Change if recursive => {
                self.above_guarded(Act::ChangeTree, arg);
                self.on_path(Act::ChangeTree, arg)
            }
            Touch::Change => self.on_path(Act::Change, arg),
            Touch::Move => {
                self.above_guarded(Act::Change, arg);
                self.on_path(Act::Change, arg)
            }
            // `curl file:///etc/shadow` fetches nothing: it reads.
            Touch::Net if file_url::file(&arg.text).is_some() => self.on_path(Act::Read, arg),
            Touch::Net => {
                let taint = self.on_net(&arg.text);
                // `https://host/?d=$(cat file)`: the address carries what was read.
                let host = host_of(&arg.text);
                let away = taint.has(Taint::NET) && !host.is_empty() && !host.contains(UNKNOWN);
                if away && arg.taint.has(Taint::SECRET) {
                    self.shared.out.effect(Effect::NetOut);
                    self.shared.sign(&structural_findings::EXFILTRATION, Some(arg.span));
                } else if away && arg.taint.has(Taint::FILE) {
                    self.shared.out.effect(Effect::NetOut);
                    self.shared.sign(&structural_findings::UPLOAD, Some(arg.span));
                }
                taint
            }
            Touch::Upload => self.on_upload(arg),
            Touch::Skip | Touch::Run | Touch::Shell | Touch::Bang | Touch::Code | Touch::Sql => {
                Taint::default()
            }
        }
    }

    /// The same for a path that stands inside a word.
    pub(super) fn touch_text(&mut self, touch: Touch, path: &str, span: Span) -> Taint {
        let text = Cow::Owned(path.to_owned());
        self.touch(touch, &Arg { text, span, taint: Taint::default(), glob: false }, false)
    }

    /// Files that a program writes for itself beside what it runs: `strace -o file command`.
    pub(super) fn option_writes(&mut self, spec: &Spec, inv: &Invocation<'_, 't>, dry: bool) {
        for (name, value) in inv.values.iter().filter(|_| !dry) {
            let touch = spec.touches.iter().find(|(n, _)| n == name).map(|(_, touch)| *touch);
            let Some(touch @ (Touch::Write | Touch::Build | Touch::Append | Touch::Delete)) = touch
            else {
                continue;
            };
            let Some(word) = inv.args.get(value.word) else { continue };
            let arg = Arg { text: Cow::Owned(value.text.to_owned()), ..word.clone() };
            self.touch(touch, &arg, false);
        }
    }

    /// A word whose part in the command nobody described. A program that is handed the system's
    /// passwords or somebody's keys reads them, whatever else it does.
    fn on_named(&mut self, arg: &Arg<'t>) -> Taint {
        if !arg.text.starts_with(['/', '~']) && file_url::file(&arg.text).is_none() {
            return Taint::default();
        }
        let class = self.shared.class_for(Act::Read, &on_its_host(&arg.text));
        if class.read < Tier::High {
            return Taint::default();
        }
        self.on_path(Act::Read, arg)
    }

    /// A folder that is taken away takes what Countersign needs with it.
    fn above_guarded(&mut self, act: Act, arg: &Arg<'t>) {
        let path: &str = &on_its_host(&arg.text);
        if act != Act::DeleteTree && self.shared.ctx.environment.is_disposable() {
            // An image gives a home folder to its user.
            return;
        }
        if self.shared.class_for(act, path).cost(act) == Tier::Critical {
            // Grave enough as it is, and said in better words.
            return;
        }
        let names = self.shared.names_of(path);
        let Some(class) = names.iter().find_map(|name| guard::guarded_below(name)) else { return };
        self.shared.out.effect(Effect::SelfChange);
        let shown = path.replace(UNKNOWN, "…");
        let message = format!("Changes, moves or deletes {shown}, which holds {}.", class.name);
        let mut finding = Finding::pattern("path.above-protected", Tier::Critical, message);
        finding.span = Some(arg.span);
        self.shared.out.add(finding);
    }

    /// What the act costs here: by class, by environment, by how wide the name reaches.
    fn cost(&self, act: Act, class: &PathClass, path: &str, glob: bool) -> Tier {
        let mut tier = class.cost(act);
        let disposable = disposable(self.shared.ctx.environment, class.id, act);
        if disposable {
            tier = tier.min(Tier::Low);
        }
        // A session clears away its own temporary folders. Without a project nobody knows whose
        // they are.
        if self.shared.workspace.is_known()
            && class.id == "temporary"
            && matches!(act, Act::Delete | Act::DeleteTree)
            && !path.contains(['*', '?', '[', UNKNOWN])
        {
            tier = tier.min(Tier::Low);
        }
        let deletes = matches!(act, Act::Delete | Act::DeleteTree);
        if deletes && matches!(class.id, "project" | "project-whole") && self.is_rebuilt(path) {
            tier = tier.min(Tier::Low);
        }
        // What this session made it may take away again.
        if act == Act::Delete && tier > Tier::Low && !glob && !path.contains(UNKNOWN) {
            let made = self.shared.remembered(path).is_some_and(|(_, file)| !file.is_partial());
            if made {
                tier = class.cost(Act::Write).max(Tier::Low);
            }
        }
        let far = matches!(class.id, "home" | "home-whole" | "elsewhere");
        if glob && !disposable && (act == Act::Delete || act == Act::Change && far) {
            tier = tier.max(Tier::Medium);
        }
        // A variable that may be empty: `$DIR/*` can be `/*`.
        if act == Act::DeleteTree && path.starts_with("\0/") && path.len() <= 3 {
            tier = tier.max(Tier::High);
        }
        tier
    }

    /// Whether a path is a folder that the project's own tools make again.
    fn is_rebuilt(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let name = last_part(path.strip_suffix("/*").unwrap_or(path));
        REBUILT.binary_search(&name).is_ok()
            || self.shared.workspace.is_known() && REBUILT_IN_PROJECT.contains(&name)
    }

    /// A project's own settings with secrets: one yes to read them holds for the session. That
    /// their content leaves is another question.
    fn is_approved_secret(&mut self, act: Act, class: &PathClass, path: &str, tier: Tier) -> bool {
        let approved = act == Act::Read
            && tier == Tier::Medium
            && class.id == "env-file"
            && !path.contains(['*', '?', '[', UNKNOWN])
            && self.shared.is_approved(|shared| shared.kind_of_path("read", path));
        if approved {
            self.shared.out.effect(Effect::Secret);
        }
        approved
    }

    fn on_path(&mut self, act: Act, arg: &Arg<'t>) -> Taint {
        let path: &str = &on_its_host(&arg.text);
        if arg.taint.has(Taint::LOST) {
            limit::report_lost(self.shared.out, Some(arg.span));
        }
        let class = self.shared.class_for(act, path);
        let class = self.shared.class_by_facts(act, path, class);
        let mut tier = self.cost(act, class, path, arg.glob);
        let deletes = matches!(act, Act::Delete | Act::DeleteTree);
        if deletes && tier > Tier::Low && class.id == "project" && self.loses_nothing(path) {
            tier = Tier::Low;
        }
        if self.is_approved_secret(act, class, path, tier) {
            tier = Tier::Low;
        }
        let out = &mut *self.shared.out;
        if act == Act::Read && tier < Tier::Medium {
            out.effect(Effect::Read);
            let secret = tier == Tier::Low && class.read == Tier::Medium;
            return if secret { Taint::FILE.and(Taint::SECRET) } else { Taint::FILE };
        }
        let shown: &str = &shown(path);
        let (code, verb) = match act {
            Act::Read => {
                out.effect(Effect::Read);
                out.effect(Effect::Secret);
                out.impact.secrets.add(shown);
                ("path.read", "Reads")
            }
            Act::Write => {
                if tier == Tier::Safe {
                    return Taint::default();
                }
                out.effect(Effect::Write);
                out.impact.writes.add(shown);
                ("path.write", "Writes")
            }
            Act::Delete | Act::DeleteTree => {
                out.effect(Effect::Delete);
                out.impact.deletes.add(shown);
                // A whole folder is gone for good, even one that a session may clear away.
                if tier >= Tier::Medium || act == Act::DeleteTree && class.id == "temporary" {
                    out.irreversible();
                }
                if act == Act::Delete {
                    ("path.delete", "Deletes")
                } else {
                    ("path.delete-tree", "Deletes everything in")
                }
            }
            Act::Change | Act::ChangeTree => {
                out.effect(Effect::Privilege);
                out.impact.writes.add(shown);
                ("path.change", "Changes")
            }
        };
        if matches!(class.id, "autostart" | "shell-startup" | "git-hooks") && act == Act::Write {
            out.effect(Effect::Persist);
        }
        let ours = matches!(class.id, "countersign" | "countersign-keys" | "countersign-program");
        let agent = matches!(class.id, "agent-hooks" | "agent-control" | "agent-instructions");
        if (ours || agent) && act != Act::Read {
            out.effect(Effect::SelfChange);
        }
        let message = if class.id == "project" {
            [verb, " ", shown, "."].concat()
        } else {
            [verb, " ", shown, " (", class.name, ")."].concat()
        };
        let mut finding = Finding::pattern(code, tier, message);
        finding.span = Some(arg.span);
        out.add(finding);
        if act == Act::Read { Taint::SECRET.and(Taint::FILE) } else { Taint::default() }
    }

    /// A URL or host.
    pub(super) fn on_net(&mut self, target: &str) -> Taint {
        let host = host_of(target);
        self.shared.out.effect(Effect::NetIn);
        if host.is_empty() || host.contains(UNKNOWN) {
            return Taint::NET;
        }
        if !host.is_ascii() {
            self.shared.sign(&structural_findings::STRANGE_HOST, None);
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

    /// `@file`, `name=@file` or a bare path that is sent out.
    fn on_upload(&mut self, arg: &Arg<'t>) -> Taint {
        let text: &str = &arg.text;
        // `@file`, `name=@file`, `name@file`; in any other text the sign stands for itself.
        let names = |before: &str| {
            before.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-[]".contains(&b))
        };
        let path = match text.split_once('@') {
            Some((before, path)) if before.ends_with('=') || names(before) => path,
            _ if text.starts_with(['/', '~', '.']) => text,
            _ => return Taint::default(),
        };
        let path = path.split(';').next().unwrap_or(path);
        if path == "-" {
            return Taint::default();
        }
        self.shared.out.effect(Effect::NetOut);
        let class = self.shared.class_for(Act::Read, path);
        let class = self.shared.class_by_facts(Act::Read, path, class);
        let held = self.shared.known_file(path).is_some_and(|f| f.taint.has(Taint::SECRET));
        let secret = held || class.read >= Tier::Medium || class.id == "access-control";
        let sign =
            if secret { &structural_findings::EXFILTRATION } else { &structural_findings::UPLOAD };
        self.shared.sign(sign, Some(arg.span));
        Taint::FILE
    }
}

/// A path as people see it.
fn shown(path: &str) -> Cow<'_, str> {
    if path.contains(UNKNOWN) {
        Cow::Owned(path.replace(UNKNOWN, "…"))
    } else {
        Cow::Borrowed(path)
    }
}

/// `user@host:/etc/x` is `/etc/x` there; `file:x?mode=ro` is `x`.
fn on_its_host(text: &str) -> Cow<'_, str> {
    if let Some(path) = file_url::file(text) {
        return path;
    }
    let path = match text.split_once(':') {
        Some((host, path))
            if host.len() > 1 && path.starts_with(['/', '~']) && !path.starts_with("//") =>
        {
            let named = host.bytes().all(|b| b.is_ascii_alphanumeric() || b"@._-".contains(&b));
            if named { path } else { text }
        }
        _ => text,
    };
    Cow::Borrowed(path)
}

/// Whether a throw-away file system makes this act ordinary: what belongs to the
/// build may go, and in a container the system's own files are the build.
fn disposable(environment: Environment, class: &str, act: Act) -> bool {
    let own = matches!(
        class,
        "project"
            | "project-whole"
            | "temporary"
            | "package-caches"
            | "elsewhere"
            | "shared-data"
            | "beside"
    );
    let changes = matches!(act, Act::Write | Act::Change | Act::ChangeTree | Act::Delete);
    match environment {
        Environment::Workstation | Environment::Production => false,
        Environment::Ci => {
            own || (changes && matches!(class, "system" | "system-whole" | "home-whole"))
        }
        Environment::Container => {
            own || (changes
                && !matches!(class, "countersign" | "countersign-keys" | "countersign-program")
                && !matches!(class, "agent-hooks" | "device" | "memory" | "root" | "kernel"))
        }
    }
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
    matches!(host, "localhost" | "::1" | "0.0.0.0" | "host.docker.internal")
        || host.starts_with("127.")
        || host.ends_with(".localhost")
}
