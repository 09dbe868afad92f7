//! Where data comes from and goes to: redirections, here-documents, files written on the way.

use super::arg::Arg;
use super::evaluator::Evaluator;
use crate::command_tables::ArgumentUse;
use crate::effect::Effect;
use crate::finding::Doubt;
use crate::flow::{Flow, Taint};
use crate::structural_findings;
use countersign_shell::UNKNOWN;
use countersign_shell::posix::ast::{
    Node, Part, Parts, Redirect, Redirection, Simple, Stage, Word,
};

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// One stage of a pipeline with its redirections; returns what it would write.
    pub(super) fn stage(&mut self, stage: &'t Stage<'t>, stdin: Flow) -> Flow {
        if !self.shared.budget.spend_command() {
            self.shared.report(&structural_findings::TOO_MANY, None);
            self.shared.out.doubt(Doubt::Unreadable);
            return Flow::unknown(Taint::default());
        }
        let mut stdin = stdin;
        let mut sink: Option<(String, bool)> = None;
        for redirection in &stage.redirections {
            match &redirection.kind {
                Redirect::Text(word) | Redirect::Here(word) => stdin = self.word_flow(word),
                Redirect::Read(word) => stdin = self.file_flow(word),
                Redirect::Write(word) | Redirect::Append(word) | Redirect::Both(word) => {
                    let append = matches!(redirection.kind, Redirect::Append(_));
                    let target = self.redirect_target(word, append, &stdin);
                    let execs = matches!(&stage.node, Node::Simple(s) if is_exec(s));
                    if redirection.number.is_none_or(|n| n == 1) && !execs {
                        sink = target.map(|t| (t, append));
                    } else if let Some(target) = target {
                        // Later commands write there by the number of the descriptor.
                        self.written(&target, append, &Flow::unknown(Taint::default()));
                    }
                }
                Redirect::Duplicate(word) => {
                    if let Some(target) = self.duplicate(word) {
                        sink = Some((target, false));
                    }
                }
            }
        }
        if sink.as_ref().is_some_and(|(_, append)| !append) && empties(&stage.node) {
            self.emptied(&stage.redirections);
        }
        self.shared.folders.set_failed(None);
        let flow = self.node(stage, stdin);
        match sink {
            None => flow,
            Some((path, append)) => {
                self.written(&path, append, &flow);
                Flow::none()
            }
        }
    }

    /// `: > file`: what was in it is gone, as if it had been deleted.
    fn emptied(&mut self, redirections: &'t [Redirection<'t>]) {
        for redirection in redirections {
            if let Redirect::Write(word) = &redirection.kind {
                let mut args = Vec::new();
                self.expand(word, &mut args);
                for arg in args.iter().filter(|a| !a.text.starts_with("/dev/")) {
                    self.touch(ArgumentUse::Delete, arg, false);
                }
            }
        }
    }

    fn word_flow(&mut self, word: &'t Word<'t>) -> Flow {
        let mut taint = Taint::default();
        let mut text = match &word.parts {
            // A here-document is one text, never split.
            Parts::Many(parts) if parts.iter().all(|p| matches!(p, Part::Quoted(_))) => parts
                .iter()
                .map(|p| if let Part::Quoted(t) = p { t.as_ref() } else { "" })
                .collect(),
            _ => self.joined(word, &mut taint),
        };
        if !text.ends_with('\n') {
            text.push('\n');
        }
        // Unknown parts become a blank variable, so that the rest can still be read.
        let text = text.replace(UNKNOWN, "$_");
        Flow { present: true, text: Some(text), taint, ..Flow::default() }
    }

    fn file_flow(&mut self, word: &'t Word<'t>) -> Flow {
        let mut args = Vec::new();
        self.expand(word, &mut args);
        let Some(arg) = args.first() else { return Flow::unknown(Taint::default()) };
        if let Some(flow) = self.shared.processes.take(&arg.text) {
            return flow;
        }
        if is_socket(&arg.text) {
            self.socket(arg);
            return Flow::unknown(Taint::NET.and(Taint::NET_OPEN));
        }
        if let Some(flow) = self.file_content(&arg.text) {
            return flow;
        }
        if arg.text == "/dev/null" {
            return Flow::text(String::new());
        }
        let taint = self.touch(ArgumentUse::Read, arg, false);
        Flow::unknown(taint.and(Taint::FILE))
    }

    fn redirect_target(
        &mut self,
        word: &'t Word<'t>,
        append: bool,
        stdin: &Flow,
    ) -> Option<String> {
        let mut args = Vec::new();
        self.expand(word, &mut args);
        let arg = args.into_iter().next()?;
        if is_socket(&arg.text) {
            self.socket(&arg);
            if stdin.taint.has(Taint::SECRET) {
                self.shared.report(&structural_findings::EXFILTRATION, Some(arg.span));
            }
            return Some(arg.text.into_owned());
        }
        self.touch(if append { ArgumentUse::Append } else { ArgumentUse::Write }, &arg, false);
        Some(arg.text.into_owned())
    }

    /// `2>&1` names a number; `>& file` names a file.
    fn duplicate(&mut self, word: &'t Word<'t>) -> Option<String> {
        let mut args = Vec::new();
        self.expand(word, &mut args);
        let arg = args.into_iter().next()?;
        let number = arg.text.trim_end_matches('-');
        if number.is_empty() || number.bytes().all(|b| b.is_ascii_digit()) || arg.is_unknown() {
            return None;
        }
        if is_socket(&arg.text) {
            self.socket(&arg);
        } else {
            self.touch(ArgumentUse::Write, &arg, false);
        }
        Some(arg.text.into_owned())
    }

    fn socket(&mut self, arg: &Arg<'t>) {
        self.shared.out.effect(Effect::NetOut);
        self.shared.out.impact.hosts.add(arg.text.trim_start_matches("/dev/"));
        self.shared.report(&structural_findings::RAW_SOCKET, Some(arg.span));
    }

    /// Remembers what a file now holds, and notes secrets or shells that meet a socket.
    pub(super) fn written(&mut self, path: &str, append: bool, flow: &Flow) {
        if is_socket(path) {
            if flow.taint.has(Taint::SECRET) {
                self.shared.report(&structural_findings::EXFILTRATION, None);
            }
            return;
        }
        self.shared.note_write(path, append, flow);
        self.shared.write_file(path, append, flow);
    }

    /// What a file holds that this text or an earlier call of the session wrote.
    pub(super) fn file_content(&mut self, path: &str) -> Option<Flow> {
        self.shared.file_content(path)
    }

    /// What this text wrote into a file before.
    pub(super) fn known_file(&mut self, path: &str) -> Option<Flow> {
        self.shared.known_file(path)
    }
}

/// `exec > file`: from now on.
fn is_exec(simple: &Simple<'_>) -> bool {
    let [word] = simple.words.as_slice() else { return false };
    countersign_shell::posix::unquoted(word).is_some_and(|w| w == "exec")
}

/// `/dev/tcp/host/port`
pub(super) fn is_socket(path: &str) -> bool {
    path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")
}

/// Whether a command writes nothing, so that a redirection only empties its file.
fn empties(node: &Node<'_>) -> bool {
    let Node::Simple(simple) = node else { return false };
    let words: Vec<_> =
        simple.words.iter().filter_map(countersign_shell::posix::unquoted).collect();
    match words.as_slice() {
        [] => simple.words.is_empty(),
        [one] => matches!(one.as_ref(), ":" | "true" | "echo"),
        [first, second] => {
            (first == "cat" && second == "/dev/null")
                || (matches!(first.as_ref(), "echo" | "printf")
                    && (second.is_empty() || second == "-n"))
        }
        _ => false,
    }
}
