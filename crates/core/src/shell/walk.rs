//! The walk through the IR: what runs, in what order, with which words, fed by what.

use super::ast::{Assignment, List, Node, Part, Parts, Pipeline, Redirect, Stage, Word};
use super::expand::Arg;
use super::flow::{Flow, Taint};
use super::reader::{self, Problem};
use super::signs::{self, Sign};
use super::tables::{ASSIGNMENTS, Touch};
use crate::context::Context;
use crate::effect::Effect;
use crate::finding::{Doubt, Finding, Findings, Span};
use crate::glob;
use crate::paths::UNKNOWN;

/// How many texts may nest (`sh -c "sh -c …"`).
const MAX_TEXTS: u8 = 12;
/// How many commands are walked in one call.
const MAX_COMMANDS: u32 = 4_000;
/// How many values of a loop variable are tried.
const MAX_VALUES: usize = 6;

/// What all walkers of one call share.
pub(super) struct Shared<'c, 'o> {
    pub ctx: &'c Context<'c>,
    pub out: &'o mut Findings,
    pub variables: Vec<(String, String, Taint)>,
    /// Files written by this text, and what is in them.
    pub files: Vec<(String, Flow)>,
    pub cwd: Option<String>,
    pub budget: u32,
    pub texts: u8,
    pub root: bool,
    /// Inside a container or on another host: not this file system.
    pub elsewhere: bool,
    /// All spans fall on this one while a text inside a word is read.
    pub fixed: Option<Span>,
    pub base: usize,
    /// What the newest `<( … )` holds.
    pub process: Option<Flow>,
    /// Function calls in progress.
    pub calls: u8,
}

impl<'c, 'o> Shared<'c, 'o> {
    pub fn new(ctx: &'c Context<'c>, base: usize, out: &'o mut Findings) -> Shared<'c, 'o> {
        Shared {
            ctx,
            out,
            variables: Vec::new(),
            files: Vec::new(),
            cwd: None,
            budget: MAX_COMMANDS,
            texts: 0,
            root: false,
            elsewhere: false,
            fixed: None,
            base,
            process: None,
            calls: 0,
        }
    }

    /// Reads and walks a text; returns what it would write.
    pub fn text(&mut self, text: &str, stdin: Flow) -> Flow {
        if self.texts >= MAX_TEXTS {
            self.sign(&signs::TOO_DEEP, self.fixed);
            self.out.doubt(Doubt::Unreadable);
            return Flow::unknown(Taint::default());
        }
        self.texts += 1;
        let read = reader::read(text);
        if let Some((problem, at)) = read.problem {
            let sign = match problem {
                Problem::TooLong => signs::TOO_LONG,
                Problem::TooDeep => signs::TOO_DEEP,
                Problem::Unclosed | Problem::Unexpected => signs::UNREADABLE,
            };
            let span = self.fixed.unwrap_or_else(|| Span::new(self.base + at, self.base + text.len()));
            self.sign(&sign, Some(span));
            self.out.doubt(Doubt::Unreadable);
        }
        let mut walker = Walker { shared: self, functions: Vec::new(), defining: None };
        let flow = walker.list(&read.list, stdin);
        self.texts -= 1;
        flow
    }

    /// Adds a structural finding.
    pub fn sign(&mut self, sign: &Sign, span: Option<Span>) {
        let mut finding = Finding::pattern(sign.code, sign.tier, sign.say);
        finding.span = span.or(self.fixed);
        finding.safer = sign.safer.map(Into::into);
        self.out.add(finding);
    }
}

/// Walks one text.
pub(super) struct Walker<'t, 's, 'c, 'o> {
    pub shared: &'s mut Shared<'c, 'o>,
    pub functions: Vec<(&'t str, &'t Stage<'t>)>,
    /// The function whose body is being walked as it is defined.
    pub defining: Option<&'t str>,
}

impl<'t> Walker<'t, '_, '_, '_> {
    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        let base = self.shared.base;
        self.shared.fixed.unwrap_or_else(|| Span::new(base + start, base + end))
    }

    pub(super) fn list(&mut self, list: &'t List<'t>, stdin: Flow) -> Flow {
        let mut flow = Flow::none();
        for pipeline in list {
            let next = self.pipeline(pipeline, stdin.clone());
            flow = flow.then(next);
        }
        flow
    }

    fn pipeline(&mut self, pipeline: &'t Pipeline<'t>, stdin: Flow) -> Flow {
        let mut flow = stdin;
        for stage in &pipeline.stages {
            flow = self.stage(stage, flow);
        }
        flow
    }

    /// A list inside a word: its output becomes the word.
    pub(super) fn nested_list(&mut self, list: &'t List<'t>) -> Flow {
        let mut flow = self.list(list, Flow::none());
        // `$(< file)`
        if !flow.present {
            flow = Flow::unknown(flow.taint);
            flow.text = Some(String::new());
        }
        flow
    }

    /// `>( … )`: the list is fed from outside.
    pub(super) fn fed_list(&mut self, list: &'t List<'t>) -> Flow {
        self.list(list, Flow::unknown(Taint::default()))
    }

    /// Backquotes.
    pub(super) fn nested_text(&mut self, text: &str, start: usize) -> Flow {
        let old = self.shared.fixed;
        self.shared.fixed = Some(self.span(start, start + text.len()));
        let flow = self.shared.text(text, Flow::none());
        self.shared.fixed = old;
        if flow.present { flow } else { Flow { text: Some(String::new()), ..Flow::unknown(flow.taint) } }
    }

    pub(super) fn process_text(&mut self, flow: Flow) {
        self.shared.process = Some(flow);
    }

    fn stage(&mut self, stage: &'t Stage<'t>, stdin: Flow) -> Flow {
        if self.shared.budget == 0 {
            self.shared.sign(&signs::TOO_MANY, None);
            self.shared.out.doubt(Doubt::Unreadable);
            return Flow::unknown(Taint::default());
        }
        self.shared.budget -= 1;
        let mut stdin = stdin;
        let mut sink: Option<(String, bool)> = None;
        for redirection in &stage.redirections {
            match &redirection.kind {
                Redirect::Text(word) | Redirect::Here(word) => stdin = self.word_flow(word),
                Redirect::Read(word) => stdin = self.file_flow(word),
                Redirect::Write(word) | Redirect::Append(word) | Redirect::Both(word) => {
                    let append = matches!(redirection.kind, Redirect::Append(_));
                    let target = self.redirect_target(word, append, &stdin);
                    if redirection.number.is_none_or(|n| n == 1) {
                        sink = target.map(|t| (t, append));
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
        let flow = self.node(stage, stdin);
        match sink {
            None => flow,
            Some((path, append)) => {
                self.written(path, append, flow);
                Flow::none()
            }
        }
    }

    /// `: > file`: what was in it is gone, as if it had been deleted.
    fn emptied(&mut self, redirections: &'t [super::ast::Redirection<'t>]) {
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

    fn word_flow(&mut self, word: &'t Word<'t>) -> Flow {
        let mut taint = Taint::default();
        let mut text = match &word.parts {
            // A here-document is one text, never split.
            Parts::Many(parts) if parts.iter().all(|p| matches!(p, Part::Quoted(_))) => {
                parts.iter().map(|p| if let Part::Quoted(t) = p { t.as_ref() } else { "" }).collect()
            }
            _ => self.joined(word, &mut taint),
        };
        if !text.ends_with('\n') {
            text.push('\n');
        }
        // What is not known stands as a blank variable so that the rest can still be read.
        let text = text.replace(UNKNOWN, "$_");
        Flow { present: true, text: Some(text), taint }
    }

    fn file_flow(&mut self, word: &'t Word<'t>) -> Flow {
        let mut args = Vec::new();
        self.expand(word, &mut args);
        let Some(arg) = args.first() else { return Flow::unknown(Taint::default()) };
        if let Some(flow) = self.shared.process.take().filter(|_| arg.text.starts_with("/dev/fd/")) {
            return flow;
        }
        if is_socket(&arg.text) {
            self.socket(arg);
            return Flow::unknown(Taint::NET.and(Taint::NET_OPEN));
        }
        if let Some(flow) = self.known_file(&arg.text) {
            return flow;
        }
        let taint = self.touch(Touch::Read, arg, false);
        Flow::unknown(taint.and(Taint::FILE))
    }

    fn redirect_target(&mut self, word: &'t Word<'t>, append: bool, stdin: &Flow) -> Option<String> {
        let mut args = Vec::new();
        self.expand(word, &mut args);
        let arg = args.into_iter().next()?;
        if is_socket(&arg.text) {
            self.socket(&arg);
            if stdin.taint.has(Taint::SECRET) {
                self.shared.sign(&signs::EXFILTRATION, Some(arg.span));
            }
            return Some(arg.text.into_owned());
        }
        self.touch(if append { Touch::Append } else { Touch::Write }, &arg, false);
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
            self.touch(Touch::Write, &arg, false);
        }
        Some(arg.text.into_owned())
    }

    fn socket(&mut self, arg: &Arg<'t>) {
        self.shared.out.effect(Effect::NetOut);
        self.shared.out.impact.hosts.add(arg.text.trim_start_matches("/dev/"));
        self.shared.sign(&signs::RAW_SOCKET, Some(arg.span));
    }

    /// Remembers what a file now holds, and notes secrets or shells that meet a socket.
    fn written(&mut self, path: String, append: bool, flow: Flow) {
        if is_socket(&path) {
            if flow.taint.has(Taint::SECRET) {
                self.shared.sign(&signs::EXFILTRATION, None);
            }
            return;
        }
        if self.shared.files.len() >= 64 {
            return;
        }
        let old = self.shared.files.iter_mut().find(|(p, _)| *p == path);
        match old {
            Some((_, content)) if append => *content = std::mem::take(content).then(flow),
            Some((_, content)) => *content = flow,
            None => self.shared.files.push((path, flow)),
        }
    }

    /// What this text wrote into a file before.
    pub(super) fn known_file(&self, path: &str) -> Option<Flow> {
        let plain = path.trim_start_matches("./");
        let found = self.shared.files.iter().find(|(p, _)| p.trim_start_matches("./") == plain);
        found.map(|(_, flow)| flow.clone())
    }

    fn node(&mut self, stage: &'t Stage<'t>, stdin: Flow) -> Flow {
        match &stage.node {
            Node::Simple(simple) => {
                let mut args: Vec<Arg<'t>> = Vec::with_capacity(simple.words.len());
                for word in &simple.words {
                    self.expand(word, &mut args);
                }
                for assignment in &simple.assignments {
                    self.assign(assignment, args.is_empty());
                }
                if args.is_empty() {
                    // `< file` or `> file` alone.
                    return stdin;
                }
                let span = self.span(stage.start, stage.end);
                self.command(&args, stdin, span)
            }
            Node::Group(list) => self.list(list, stdin),
            Node::For { name, words, body } => self.for_loop(name, words, body, stdin),
            Node::Case { word, arms } => {
                let mut args = Vec::new();
                self.expand(word, &mut args);
                let mut flow = Flow::none();
                for arm in arms {
                    flow = flow.then(self.list(arm, stdin.clone()));
                }
                flow
            }
            Node::Function { name, body } => {
                self.define(name, body);
                Flow::none()
            }
            Node::Test(words) => {
                let mut args = Vec::new();
                for word in words {
                    self.expand(word, &mut args);
                }
                Flow::none()
            }
        }
    }

    fn for_loop(
        &mut self,
        name: &str,
        words: &'t [Word<'t>],
        body: &'t List<'t>,
        stdin: Flow,
    ) -> Flow {
        let mut args = Vec::new();
        for word in words {
            self.expand(word, &mut args);
        }
        let mut values: Vec<(String, Taint)> =
            args.into_iter().map(|a| (a.text.into_owned(), a.taint)).collect();
        if values.is_empty() {
            values.push((UNKNOWN.to_string(), Taint::default()));
        }
        let mut flow = Flow::none();
        for (value, taint) in values.into_iter().take(MAX_VALUES) {
            self.set(name, value, taint);
            flow = self.list(body, stdin.clone());
        }
        // Values are not text order any more; only where they come from is kept.
        flow.text = None;
        flow
    }

    fn define(&mut self, name: &'t str, body: &'t Stage<'t>) {
        if bombs(body, name, false) {
            let span = self.span(body.start, body.end);
            self.shared.sign(&signs::FORK_BOMB, Some(span));
            self.shared.out.irreversible();
        }
        self.functions.push((name, body));
        let outer = self.defining.replace(name);
        self.shared.calls += 1;
        if self.shared.calls < 8 {
            self.stage(body, Flow::none());
        }
        self.shared.calls -= 1;
        self.defining = outer;
    }

    /// Calls a function defined in this text, if there is one.
    pub(super) fn call(&mut self, name: &str, args: &[Arg<'t>], stdin: &Flow) -> Option<Flow> {
        let body = self.functions.iter().rev().find(|(n, _)| *n == name).map(|(_, b)| *b)?;
        if self.defining == Some(name) || self.shared.calls >= 8 {
            return Some(Flow::unknown(Taint::default()));
        }
        let keep = self.shared.variables.len();
        let mut all = String::new();
        for (i, arg) in args.iter().enumerate().skip(1) {
            self.shared.variables.push((i.to_string(), arg.text.to_string(), arg.taint));
            if i > 1 {
                all.push(' ');
            }
            all.push_str(&arg.text);
        }
        self.shared.variables.push(("@".to_owned(), all.clone(), Taint::default()));
        self.shared.variables.push(("*".to_owned(), all, Taint::default()));
        self.shared.calls += 1;
        let flow = self.stage(body, stdin.clone());
        self.shared.calls -= 1;
        let positional = |n: &str| n == "@" || n == "*" || n.bytes().all(|b| b.is_ascii_digit());
        let mut at = 0;
        self.shared.variables.retain(|(n, _, _)| {
            at += 1;
            at <= keep || !positional(n)
        });
        Some(flow)
    }

    fn assign(&mut self, assignment: &'t Assignment<'t>, lasting: bool) {
        let mut taint = Taint::default();
        let mut value = String::new();
        for (i, word) in assignment.value.iter().enumerate() {
            if i > 0 {
                value.push(' ');
            }
            value.push_str(&self.joined(word, &mut taint));
        }
        let (start, end) = assignment.value.first().map_or((0, 0), |w| (w.start, w.end));
        let span = self.span(start.saturating_sub(assignment.name.len() + 1), end);
        self.assigned(assignment.name, &value, span);
        if lasting {
            if assignment.append {
                if let Some((old, t)) = self.lookup(assignment.name) {
                    value.insert_str(0, &old);
                    taint = taint.and(t);
                }
            }
            self.set(assignment.name, value, taint);
        }
    }

    /// What setting this variable means, whoever sets it.
    pub(super) fn assigned(&mut self, name: &str, value: &str, span: Span) {
        let (name_bytes, value_bytes) = (glob::bytes_of(name), glob::bytes_of(value));
        for rule in ASSIGNMENTS {
            let named = glob::any(rule.names, name, name_bytes);
            if named && (rule.values.is_empty() || glob::any(rule.values, value, value_bytes)) {
                let mut finding = Finding::pattern(rule.id, rule.tier, rule.say);
                finding.span = Some(span);
                self.shared.out.add(finding);
            }
        }
    }

    pub(super) fn set(&mut self, name: &str, value: String, taint: Taint) {
        let variables = &mut self.shared.variables;
        if let Some(slot) = variables.iter_mut().rev().find(|(n, _, _)| n == name) {
            (slot.1, slot.2) = (value, taint);
        } else if variables.len() < 256 {
            variables.push((name.to_owned(), value, taint));
        }
    }

    pub(super) fn lookup(&self, name: &str) -> Option<(String, Taint)> {
        let found = self.shared.variables.iter().rev().find(|(n, _, _)| n == name);
        if let Some((_, value, taint)) = found {
            return Some((value.clone(), *taint));
        }
        if self.shared.calls == 0 && matches!(name.as_bytes(), [b'1'..=b'9']) {
            // A command line has no arguments of its own: `$9` is nothing.
            return Some((String::new(), Taint::default()));
        }
        let value = match name {
            "HOME" => "~",
            "PWD" => ".",
            "IFS" => " ",
            "TMPDIR" | "TMP" | "TEMP" => "/tmp",
            "0" => "$0",
            "SHELL" => "/bin/sh",
            "BASH" => "/bin/bash",
            "HISTFILE" => "~/.bash_history",
            "XDG_CONFIG_HOME" => "~/.config",
            _ if is_secret_name(name) => return Some((UNKNOWN.to_string(), Taint::SECRET)),
            _ => return None,
        };
        Some((value.to_owned(), Taint::default()))
    }
}

/// Variables that by their name hold a password, key or token.
fn is_secret_name(name: &str) -> bool {
    const SIGNS: [&str; 7] =
        ["SECRET", "PASSWORD", "PASSWD", "TOKEN", "API_KEY", "APIKEY", "PRIVATE_KEY"];
    SIGNS.iter().any(|sign| name.contains(sign))
}

/// `/dev/tcp/host/port`
pub(super) fn is_socket(path: &str) -> bool {
    path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")
}

/// Whether a command writes nothing, so that a redirection only empties its file.
fn empties(node: &Node<'_>) -> bool {
    let Node::Simple(simple) = node else { return false };
    let words: Vec<_> = simple.words.iter().filter_map(super::word::unquoted).collect();
    match words.as_slice() {
        [] => simple.words.is_empty(),
        [one] => matches!(one.as_ref(), ":" | "true" | "echo"),
        [first, second] => {
            (first == "cat" && second == "/dev/null")
                || (matches!(first.as_ref(), "echo" | "printf") && (second.is_empty() || second == "-n"))
        }
        _ => false,
    }
}

/// Whether a function's body starts itself again side by side.
fn bombs(stage: &Stage<'_>, name: &str, beside: bool) -> bool {
    let in_list = |list: &List<'_>, beside: bool| {
        list.iter().any(|p| {
            let beside = beside || p.background || p.stages.len() > 1;
            p.stages.iter().any(|s| bombs(s, name, beside))
        })
    };
    match &stage.node {
        Node::Simple(simple) => {
            let first = simple.words.first().and_then(super::word::unquoted);
            beside && first.is_some_and(|w| w == name)
        }
        Node::Group(list) | Node::For { body: list, .. } => in_list(list, beside),
        Node::Case { arms, .. } => arms.iter().any(|list| in_list(list, beside)),
        Node::Function { .. } | Node::Test(_) => false,
    }
}
