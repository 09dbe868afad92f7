//! Where data comes from and goes to: redirections, here-documents, files written on the way.

use super::evaluator::Evaluator;
use super::expand::Arg;
use super::flow::{Flow, Taint};
use super::structural_findings;
use super::tables::Touch;
use crate::effect::Effect;
use countersign_shell::UNKNOWN;
use countersign_shell::posix::ast::{Node, Part, Parts, Redirect, Redirection, Simple, Word};

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// `: > file`: what was in it is gone, as if it had been deleted.
    pub(super) fn emptied(&mut self, redirections: &'t [Redirection<'t>]) {
        for redirection in redirections {
            if let Redirect::Write(word) = &redirection.kind {
                let mut args = Vec::new();
                self.expand(word, &mut args);
                for arg in args.iter().filter(|a| !a.text.starts_with("/dev/")) {
                    self.touch(Touch::Delete, arg, false);
                }
            }
        }
    }

    pub(super) fn word_flow(&mut self, word: &'t Word<'t>) -> Flow {
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
        // What is not known stands as a blank variable so that the rest can still be read.
        let text = text.replace(UNKNOWN, "$_");
        Flow { present: true, text: Some(text), taint, place: None }
    }

    pub(super) fn file_flow(&mut self, word: &'t Word<'t>) -> Flow {
        let mut args = Vec::new();
        self.expand(word, &mut args);
        let Some(arg) = args.first() else { return Flow::unknown(Taint::default()) };
        if let Some(flow) = self.shared.process_of(&arg.text) {
            return flow;
        }
        if is_socket(&arg.text) {
            self.socket(arg);
            return Flow::unknown(Taint::NET.and(Taint::NET_OPEN));
        }
        if let Some(flow) = self.file_content(&arg.text) {
            return flow;
        }
        let taint = self.touch(Touch::Read, arg, false);
        Flow::unknown(taint.and(Taint::FILE))
    }

    pub(super) fn redirect_target(
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
                self.shared.sign(&structural_findings::EXFILTRATION, Some(arg.span));
            }
            return Some(arg.text.into_owned());
        }
        self.touch(if append { Touch::Append } else { Touch::Write }, &arg, false);
        Some(arg.text.into_owned())
    }

    /// `2>&1` names a number; `>& file` names a file.
    pub(super) fn duplicate(&mut self, word: &'t Word<'t>) -> Option<String> {
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
            self.touch(Touch::Write, &arg, false);
        }
        Some(arg.text.into_owned())
    }

    fn socket(&mut self, arg: &Arg<'t>) {
        self.shared.out.effect(Effect::NetOut);
        self.shared.out.impact.hosts.add(arg.text.trim_start_matches("/dev/"));
        self.shared.sign(&structural_findings::RAW_SOCKET, Some(arg.span));
    }

    /// Remembers what a file now holds, and notes secrets or shells that meet a socket.
    pub(super) fn written(&mut self, path: &str, append: bool, flow: &Flow) {
        if is_socket(path) {
            if flow.taint.has(Taint::SECRET) {
                self.shared.sign(&structural_findings::EXFILTRATION, None);
            }
            return;
        }
        self.shared.note_write(path, append, flow);
        self.shared.file_uses += 1;
        for name in self.shared.names_of(path) {
            let old = self.shared.files.iter().find(|(n, _)| *n == name && append);
            let flow = match old {
                // Nothing stays in there: what cannot be told apart is not worth a new state.
                _ if name == "/dev/null" && flow.text.is_none() => {
                    let before = self.shared.files.iter().find(|(n, _)| *n == name);
                    Flow::unknown(before.map_or(flow.taint, |(_, f)| f.taint.and(flow.taint)))
                }
                Some((_, content)) => content.clone().then(flow.clone()),
                None => flow.clone(),
            };
            self.shared.hold(name, flow);
        }
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
pub(super) fn is_exec(simple: &Simple<'_>) -> bool {
    let [word] = simple.words.as_slice() else { return false };
    countersign_shell::posix::unquoted(word).is_some_and(|w| w == "exec")
}

/// `/dev/tcp/host/port`
pub(super) fn is_socket(path: &str) -> bool {
    path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")
}

/// Whether a command writes nothing, so that a redirection only empties its file.
pub(super) fn empties(node: &Node<'_>) -> bool {
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
