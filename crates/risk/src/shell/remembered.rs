//! Files that earlier calls of the session wrote: what this call adds to them, and what they do
//! when this call runs them.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::program::is_standard_place;
use super::state::EvalState;
use crate::command_tables::CodeLanguage;
use crate::effect::Effect;
use crate::finding::{Finding, Findings, Span};
use crate::flow::{Flow, Taint};
use crate::name_lists::{POSIX_SHELLS, UNKNOWN_ONLY_FINDINGS};
use crate::paths::normal;
use crate::session::{ContentChange, FileOrigin, FileWrite, RememberedFile, SessionMemory};
use crate::structural_findings;
use countersign_types::tier::Tier;

/// Marks of data in a text, and what is remembered of them.
const ORIGINS: [(Taint, FileOrigin); 5] = [
    (Taint::SECRET, FileOrigin::SECRET),
    (Taint::NET, FileOrigin::NETWORK),
    (Taint::NET_OPEN, FileOrigin::UNPROTECTED),
    (Taint::DECODED, FileOrigin::DECODED),
    (Taint::BUILT, FileOrigin::BUILT),
];

impl<'c> EvalState<'c, '_> {
    /// The names under which the session may know a path.
    pub(super) fn identities(&self, path: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let mut add = |name: String| {
            if !names.contains(&name) {
                names.push(name);
            }
        };
        for place in self.folders.current().each() {
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
        if self.ctx.session.is_none() || self.rights.elsewhere || path == "/dev/null" {
            return;
        }
        let text = flow.text.clone();
        let change = if append { ContentChange::Append(text) } else { ContentChange::Whole(text) };
        let marks = ORIGINS.iter().filter(|(taint, _)| flow.taint.has(*taint));
        let origin = marks.fold(FileOrigin::default(), |all, (_, origin)| all.and(*origin));
        for path in self.identities(path) {
            self.out.trace.wrote(FileWrite { path, change: change.clone(), origin });
        }
    }

    /// A file that an earlier call of the session wrote, with its name there.
    pub(super) fn remembered(&self, path: &str) -> Option<(String, &'c RememberedFile)> {
        let session = self.ctx.session.filter(|session| !session.is_empty())?;
        if self.rights.elsewhere {
            return None;
        }
        self.identities(path).into_iter().find_map(|name| {
            let file = session.file(&name)?;
            Some((name, file))
        })
    }
}

impl EvalState<'_, '_> {
    /// What a file holds that this text or an earlier call of the session wrote.
    pub(super) fn file_content(&mut self, path: &str) -> Option<Flow> {
        if let Some(flow) = self.known_file(path) {
            return Some(flow);
        }
        let (_, file) = self.remembered(path)?;
        let marks = ORIGINS.iter().filter(|(_, origin)| file.origin.has(*origin));
        let taint = marks.fold(Taint::FILE, |all, (mark, _)| all.and(*mark));
        Some(match file.texts() {
            [text] if !file.is_partial() => Flow { taint, ..Flow::text(text.clone()) },
            _ => Flow::unknown(taint),
        })
    }
}

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Runs a file of the session, the first of these words. None if the session does not know all
    /// that is in it; what it knows is read.
    pub(super) fn run_remembered(
        &mut self,
        language: Option<CodeLanguage>,
        words: &[Arg<'t>],
        stdin: &Flow,
        span: Span,
    ) -> Option<Flow> {
        let path: &str = &words.first()?.text;
        let Some((name, file)) = self.shared.remembered(path) else {
            let lost = self.shared.ctx.session.is_some_and(SessionMemory::is_lost);
            if lost && !is_standard_place(path) {
                // It may be one of the files that were too many to remember.
                self.first_use(&structural_findings::UNSEEN_CODE, path, span);
            }
            return None;
        };
        self.shared.out.effect(Effect::Exec);
        self.shared.report(&structural_findings::SESSION_SCRIPT, Some(span));
        let origin = file.origin;
        if origin.has(FileOrigin::NETWORK) {
            let open = if origin.has(FileOrigin::UNPROTECTED) {
                Taint::NET_OPEN
            } else {
                Taint::default()
            };
            let sign = self.remote_code_rule(Taint::NET.and(open));
            self.shared.report(sign, Some(span));
        } else if origin.has(FileOrigin::DECODED) {
            self.shared.report(&structural_findings::DECODED_CODE, Some(span));
        } else if file.is_forgotten() {
            self.shared.report(&structural_findings::UNSEEN_CODE, Some(span));
        } else if file.texts().is_empty() && !origin.has(FileOrigin::BUILT) {
            return None;
        }
        let given = words.iter().skip(1);
        let read = given.fold(name, |name, word| format!("{name}\0{}", word.text));
        if !self.shared.scripts_read.contains(&read) {
            self.shared.scripts_read.push(read);
            for text in file.texts() {
                let language =
                    script_language(path, text).or(language).unwrap_or(CodeLanguage::Shell);
                let language =
                    if origin.has(FileOrigin::BUILT) { CodeLanguage::Other } else { language };
                self.with_words(words, |w| w.read_script(language, text, file.is_partial(), span));
            }
        }
        // A file that is only partly known is also treated like any other program.
        (!file.is_partial()).then(|| Flow::unknown(stdin.taint))
    }

    /// Assesses a script by its text. Of a part of a file only what is dangerous by itself counts:
    /// without the rest it need not be readable.
    fn read_script(&mut self, language: CodeLanguage, text: &str, partial: bool, span: Span) {
        let subject = self.shared.begin_script(text);
        let outer = self.shared.out.take();
        let arg =
            Arg { text: Cow::Owned(text.to_owned()), span, taint: Taint::default(), glob: false };
        let fixed = self.shared.position.pin(Some(span));
        self.code_text(language, &arg, &Flow::none());
        if partial && language == CodeLanguage::Shell {
            // As a whole it may be no shell; each line may still run.
            for line in text.lines() {
                self.shared.text(line, &Flow::none());
            }
        }
        self.shared.position.pin(fixed);
        let inner = std::mem::replace(self.shared.out, outer);
        self.shared.out.set_subject(subject);
        if partial {
            let mut grave = Findings::default();
            grave.absorb_reading(inner, false, |found| found.weight.tier() >= Tier::High);
            self.shared.out.absorb(grave, |found| found);
        } else {
            let mut seen = Findings::default();
            let only_unknown = |found: &Finding| {
                found.weight.tier() == Tier::Medium
                    && UNKNOWN_ONLY_FINDINGS.contains(&found.code.as_ref())
            };
            seen.absorb_reading(inner, false, |found| !only_unknown(found));
            self.shared.out.absorb(seen, |found| Finding { span: Some(span), ..found });
        }
    }
}

/// The language that a script's first line or its name says.
pub(super) fn script_language(path: &str, text: &str) -> Option<CodeLanguage> {
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
        _ if POSIX_SHELLS.contains(&name) => CodeLanguage::Shell,
        "python" | "py" => CodeLanguage::Python,
        "node" | "bun" | "deno" | "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" | "tsx" => {
            CodeLanguage::JavaScript
        }
        "perl" | "pl" => CodeLanguage::Perl,
        "ruby" | "rb" => CodeLanguage::Ruby,
        "php" => CodeLanguage::Php,
        "pwsh" | "powershell" | "ps" => CodeLanguage::PowerShell,
        "bat" | "cmd" => CodeLanguage::Cmd,
        "awk" | "gawk" => CodeLanguage::Awk,
        _ => return None,
    })
}
