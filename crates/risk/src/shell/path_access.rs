//! What happens to a path: effect and impact.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::invocation::Invocation;
use crate::command_tables::{ArgumentUse, PathClass, Spec};
use crate::effect::Effect;
use crate::finding::{Finding, Findings, Span};
use crate::flow::{Flow, Taint};
use crate::limit;
use crate::paths::{PathAction, guard};
use crate::structural_findings;
use countersign_shell::UNKNOWN;
use countersign_text::file_url;
use countersign_types::tier::Tier;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Notes what a command does to one of its words; returns what reading it would bring.
    pub(super) fn touch(&mut self, touch: ArgumentUse, arg: &Arg<'t>, recursive: bool) -> Taint {
        match touch {
            ArgumentUse::Read => self.on_path(PathAction::Read, arg),
            ArgumentUse::Named => self.on_named(arg),
            ArgumentUse::MayWrite => {
                let class = self.shared.class_for(PathAction::Write, &on_its_host(&arg.text));
                let grave = class.write >= Tier::High;
                self.on_path(if grave { PathAction::Write } else { PathAction::Read }, arg)
            }
            // Adding to a file elsewhere loses nothing.
            ArgumentUse::Append
                if self.shared.class_for(PathAction::Write, &arg.text).id == "elsewhere" =>
            {
                self.shared.out.effect(Effect::Write);
                self.shared.out.impact.writes.add(&arg.text.replace(UNKNOWN, "…"));
                self.shared.report(&structural_findings::ADDS_ELSEWHERE, Some(arg.span));
                Taint::default()
            }
            ArgumentUse::Write | ArgumentUse::Append => self.on_path(PathAction::Write, arg),
            ArgumentUse::Build => {
                self.written(&arg.text, false, &Flow::unknown(Taint::BUILT));
                self.on_path(PathAction::Write, arg)
            }
            ArgumentUse::Delete if recursive => {
                self.above_guarded(PathAction::DeleteTree, arg);
                self.on_path(PathAction::DeleteTree, arg)
            }
            ArgumentUse::Delete => self.on_path(PathAction::Delete, arg),
            ArgumentUse::Change if recursive => {
                self.above_guarded(PathAction::ChangeTree, arg);
                self.on_path(PathAction::ChangeTree, arg)
            }
            ArgumentUse::Change => self.on_path(PathAction::Change, arg),
            ArgumentUse::Move => self.on_move(arg),
            // `curl file:///etc/shadow` fetches nothing: it reads.
            ArgumentUse::Net if file_url::file(&arg.text).is_some() => {
                self.on_path(PathAction::Read, arg)
            }
            ArgumentUse::Net => self.on_address(arg),
            ArgumentUse::Upload => self.on_upload(arg),
            ArgumentUse::UploadFile => self.on_uploaded_file(&arg.text, arg.span),
            ArgumentUse::Sent => {
                self.sent_along(arg);
                Taint::default()
            }
            ArgumentUse::Skip
            | ArgumentUse::Run
            | ArgumentUse::Shell
            | ArgumentUse::Bang
            | ArgumentUse::Code
            | ArgumentUse::Sql => Taint::default(),
        }
    }

    fn on_move(&mut self, arg: &Arg<'t>) -> Taint {
        self.above_guarded(PathAction::Change, arg);
        let class = self.shared.class_for(PathAction::Read, &on_its_host(&arg.text));
        if class.read >= Tier::High {
            // A key that is moved can be read in its new place.
            self.on_path(PathAction::Read, arg);
        }
        // Files that `find` names are below the folder.
        let is_one = !arg.text.contains([UNKNOWN, '*', '?']);
        if is_one && self.shared.class_for(PathAction::DeleteTree, &arg.text).id == "project-whole"
        {
            self.shared.report(&structural_findings::MOVES_PROJECT, Some(arg.span));
        }
        self.on_path(PathAction::Change, arg)
    }

    /// The same for a path that stands inside a word.
    pub(super) fn touch_text(&mut self, touch: ArgumentUse, path: &str, span: Span) -> Taint {
        let text = Cow::Owned(path.to_owned());
        self.touch(touch, &Arg { text, span, taint: Taint::default(), glob: false }, false)
    }

    /// Files that a program writes for itself beside what it runs: `strace -o file command`.
    pub(super) fn option_writes(
        &mut self,
        spec: &'static Spec,
        inv: &Invocation<'_, 't>,
        dry: bool,
    ) {
        self.changed_in_place(spec, inv);
        for (name, value) in inv.values.iter().filter(|_| !dry) {
            let touch = spec.touches.iter().find(|(n, _)| n == name).map(|(_, touch)| *touch);
            let Some(
                touch @ (ArgumentUse::Write
                | ArgumentUse::Build
                | ArgumentUse::Append
                | ArgumentUse::Delete),
            ) = touch
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
        let class = self.shared.class_for(PathAction::Read, &on_its_host(&arg.text));
        if class.read < Tier::High {
            return Taint::default();
        }
        self.on_path(PathAction::Read, arg)
    }

    /// A folder that is taken away takes what Countersign needs with it.
    fn above_guarded(&mut self, act: PathAction, arg: &Arg<'t>) {
        let path: &str = &on_its_host(&arg.text);
        if act != PathAction::DeleteTree && self.shared.ctx.environment.is_disposable() {
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

    fn on_path(&mut self, act: PathAction, arg: &Arg<'t>) -> Taint {
        let path: &str = &on_its_host(&arg.text);
        if arg.taint.has(Taint::LOST) {
            limit::report_lost(self.shared.out, Some(arg.span));
        }
        let class = self.shared.class_for(act, path);
        let class = self.shared.class_by_facts(act, path, class);
        let mut tier = self.cost(act, class, path, arg.glob);
        let deletes = matches!(act, PathAction::Delete | PathAction::DeleteTree);
        if deletes && tier > Tier::Low && class.id == "project" && self.loses_nothing(path) {
            tier = Tier::Low;
        }
        if act == PathAction::Read && tier < Tier::Medium {
            self.shared.out.effect(Effect::Read);
            let secret = tier == Tier::Low && class.read == Tier::Medium;
            return if secret { Taint::FILE.and(Taint::SECRET) } else { Taint::FILE };
        }
        if act == PathAction::Write && tier == Tier::Safe {
            return Taint::default();
        }
        let shown: &str = &shown(path);
        let out = &mut *self.shared.out;
        let (code, verb) = note_act(act, class, tier, shown, out);
        let message = if class.id == "project" {
            [verb, " ", shown, "."].concat()
        } else {
            [verb, " ", shown, " (", class.name, ")."].concat()
        };
        let finding = Finding::pattern(code, tier, message).at(arg.span);
        let (subject, wider) = self.shared.path_subject(act, path).unzip();
        let wider = wider.unwrap_or_default();
        self.shared.out.add_about(finding, subject.as_deref(), &wider);
        if act == PathAction::Read { Taint::SECRET.and(Taint::FILE) } else { Taint::default() }
    }
}

/// Notes the effects of an act on a path; returns the code and the verb of its finding.
fn note_act(
    act: PathAction,
    class: &PathClass,
    tier: Tier,
    shown: &str,
    out: &mut Findings,
) -> (&'static str, &'static str) {
    if matches!(class.id, "autostart" | "shell-startup" | "git-hooks") && act == PathAction::Write {
        out.effect(Effect::Persist);
    }
    let ours = class.id.starts_with("countersign");
    let agent = matches!(class.id, "agent-hooks" | "agent-control" | "agent-instructions");
    if (ours || agent) && act != PathAction::Read {
        out.effect(Effect::SelfChange);
    }
    match act {
        PathAction::Read => {
            out.effect(Effect::Read);
            out.effect(Effect::Secret);
            out.impact.secrets.add(shown);
            out.trace.shows_secret(shown);
            ("path.read", "Reads")
        }
        PathAction::Write => {
            out.effect(Effect::Write);
            out.impact.writes.add(shown);
            ("path.write", "Writes")
        }
        PathAction::Delete | PathAction::DeleteTree => {
            out.effect(Effect::Delete);
            out.impact.deletes.add(shown);
            // A whole folder is gone for good, even one that a session may clear away.
            if tier >= Tier::Medium || act == PathAction::DeleteTree && class.id == "temporary" {
                out.irreversible();
            }
            if act == PathAction::Delete {
                ("path.delete", "Deletes")
            } else {
                ("path.delete-tree", "Deletes everything in")
            }
        }
        PathAction::Change | PathAction::ChangeTree => {
            out.effect(Effect::Privilege);
            out.impact.writes.add(shown);
            ("path.change", "Changes")
        }
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
