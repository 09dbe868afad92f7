//! Files that earlier calls of the session wrote: what this call adds to them, and what they do when
//! this call runs them.

use std::borrow::Cow;

use super::evaluator::{EvalState, Evaluator};
use super::expand::Arg;
use super::flow::{Flow, Taint};
use super::structural_findings::{self, Sign};
use super::tables::Speech;
use crate::effect::Effect;
use crate::finding::{Finding, Findings, Span};
use crate::paths::normal;
use crate::session::{ContentChange, FileOrigin, FileWrite, RememberedFile};
use countersign_types::tier::Tier;

impl<'c> EvalState<'c, '_> {
    /// The names under which the session may know a path.
    fn identities(&self, path: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let mut add = |name: String| {
            if !names.contains(&name) {
                names.push(name);
            }
        };
        for place in self.folders.each() {
            let name = normal(path, place);
            add(self.workspace.identity(&name, self.ctx.cwd));
            // A folder of the workspace is named from its root.
            if place.is_some() && self.ctx.project.is_some() {
                add(self.workspace.identity(&name, self.ctx.project));
            }
        }
        names
    }

    /// Notes for the session what a file now holds.
    pub(super) fn note_write(&mut self, path: &str, append: bool, flow: &Flow) {
        if self.ctx.session.is_none() || self.elsewhere || path == "/dev/null" {
            return;
        }
        let text = flow.text.clone();
        let change =
            if append { ContentChange::Append(text) } else { ContentChange::Whole(text) };
        let origin = FileOrigin {
            network: flow.taint.has(Taint::NET),
            unprotected: flow.taint.has(Taint::NET_OPEN),
            decoded: flow.taint.has(Taint::DECODED),
            built: flow.taint.has(Taint::BUILT),
        };
        for path in self.identities(path) {
            self.out.wrote(FileWrite { path, change: change.clone(), origin });
        }
    }

    /// A file that an earlier call of the session wrote, with its name there.
    pub(super) fn remembered(&self, path: &str) -> Option<(String, &'c RememberedFile)> {
        let session = self.ctx.session.filter(|session| !session.is_empty())?;
        if self.elsewhere {
            return None;
        }
        self.identities(path).into_iter().find_map(|name| {
            let file = session.file(&name)?;
            Some((name, file))
        })
    }
}

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// A program or script that a person should see once: asks, unless somebody said yes to it in
    /// this session.
    pub(super) fn first_use(&mut self, sign: &Sign, path: &str, span: Span) {
        let Some(session) = self.shared.ctx.session.filter(|_| !self.shared.elsewhere) else {
            self.shared.sign(sign, Some(span));
            return;
        };
        let name = self.shared.identities(path).swap_remove(0);
        let kind = format!("run {name}");
        if session.is_approved(&kind) {
            self.shared.sign(&Sign { tier: Tier::Low, ..*sign }, Some(span));
        } else {
            self.shared.out.first_of_kind(kind);
            self.shared.sign(sign, Some(span));
        }
    }

    /// Runs a file of the session. None if the session does not know what is in it.
    pub(super) fn run_remembered(
        &mut self,
        speech: Option<Speech>,
        path: &str,
        stdin: &Flow,
        span: Span,
    ) -> Option<Flow> {
        let (name, file) = self.shared.remembered(path)?;
        self.shared.out.effect(Effect::Exec);
        let origin = file.origin;
        if origin.network {
            let open = if origin.unprotected { Taint::NET_OPEN } else { Taint::default() };
            let sign = self.remote_sign(Taint::NET.and(open));
            self.shared.sign(sign, Some(span));
        } else if origin.decoded {
            self.shared.sign(&structural_findings::DECODED_CODE, Some(span));
        } else if file.is_forgotten() {
            self.shared.sign(&structural_findings::UNSEEN_CODE, Some(span));
        } else if file.texts().is_empty() && !origin.built {
            return None;
        }
        let flow = Flow::unknown(stdin.taint);
        if self.shared.scripts_read.contains(&name) {
            return Some(flow);
        }
        self.shared.scripts_read.push(name);
        for text in file.texts() {
            let speech = script_language(path, text).or(speech).unwrap_or(Speech::Shell);
            let speech = if origin.built { Speech::Other } else { speech };
            self.read_script(speech, text, file.is_partial(), span);
        }
        Some(flow)
    }

    /// Judges a script by its text. Of a part of a file only what is dangerous by itself counts:
    /// without the rest it need not be readable.
    fn read_script(&mut self, speech: Speech, text: &str, partial: bool, span: Span) {
        let outer = std::mem::take(self.shared.out);
        let arg =
            Arg { text: Cow::Owned(text.to_owned()), span, taint: Taint::default(), glob: false };
        let fixed = self.shared.fixed.replace(span);
        self.speech(speech, &arg, &Flow::none());
        self.shared.fixed = fixed;
        let inner = std::mem::replace(self.shared.out, outer);
        if partial {
            let mut grave = Findings::default();
            grave.absorb_reading(inner, false, |found| found.weight.tier() >= Tier::High);
            self.shared.out.absorb(grave, |found| found);
        } else {
            self.shared.out.absorb(inner, |found| Finding { span: Some(span), ..found });
        }
    }
}

/// The language that a script's first line or its name says.
fn script_language(path: &str, text: &str) -> Option<Speech> {
    let first = text.lines().next().unwrap_or_default();
    let named = first.strip_prefix("#!").map(|line| {
        let mut words = line.split_whitespace();
        let program = words.next().unwrap_or_default();
        let last = program.rsplit('/').next().unwrap_or_default();
        if last == "env" {
            words.find(|w| !w.starts_with('-') && !w.contains('=')).unwrap_or_default()
        } else {
            last
        }
    });
    let name = named.unwrap_or_else(|| path.rsplit('.').next().unwrap_or_default());
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some(match name {
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" => Speech::Shell,
        "python" | "py" => Speech::Python,
        "node" | "bun" | "deno" | "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" | "tsx" => {
            Speech::JavaScript
        }
        "perl" | "pl" => Speech::Perl,
        "ruby" | "rb" => Speech::Ruby,
        "php" => Speech::Php,
        "pwsh" | "powershell" | "ps" => Speech::PowerShell,
        "bat" | "cmd" => Speech::Cmd,
        "awk" | "gawk" => Speech::Awk,
        _ => return None,
    })
}
