//! cmd commands in order: what each of them is, and the words that the rules know it by.

use super::options::slash_options;
use super::scope::CmdScope;
use super::words::{condition, is_echo, start_options, without_suffix};
use crate::command_tables as tables;
use crate::command_tables::ArgumentUse;
use crate::finding::Span;
use crate::flow::{Flow, Taint};
use crate::name_lists::CMD_COPYING_COMMANDS;
use crate::paths::windows_path;
use crate::shell::{CommandAssessor, CommandWord};
use crate::structural_findings;
use countersign_shell::UNKNOWN;
use countersign_shell::cmd::{CmdCommand, CmdWord, Lexer, Separator};

/// How many variables are followed.
const MAX_VARIABLES: usize = 128;
/// How deep commands may be inside each other (`if … if …`, `call call …`).
const MAX_INNER: u8 = 16;

/// Reads and walks a text; returns what its last command writes.
pub fn run(assessor: &mut CommandAssessor<'_, '_, '_>, text: &str, stdin: &Flow) -> Flow {
    if !assessor.begin_text(text.len()) {
        return Flow::unknown(Taint::default());
    }
    let mut runner = Runner { assessor, scope: CmdScope::default(), inner: 0 };
    let mut lexer = Lexer::new(text);
    let mut flow = stdin.clone();
    while let Some(command) = lexer.next(&mut runner.scope) {
        if !runner.assessor.spend() {
            break;
        }
        let output = runner.command(&command, &flow);
        flow = if command.separator == Separator::Pipe { output } else { Flow::none() };
    }
    if let Some(at) = runner.scope.unread {
        let span = runner.assessor.span(at.min(text.len()), text.len());
        not_read(runner.assessor, span);
    }
    assessor.end_text();
    flow
}

/// A part of the text is not understood.
pub(super) fn not_read(assessor: &mut CommandAssessor<'_, '_, '_>, span: Span) {
    assessor.out().doubt(crate::finding::Doubt::Unreadable);
    assessor.report(&structural_findings::UNREADABLE_CMD, span);
}

/// Walks the commands of a text.
pub(super) struct Runner<'a, 's, 'c, 'o> {
    pub(super) assessor: &'a mut CommandAssessor<'s, 'c, 'o>,
    pub(super) scope: CmdScope,
    inner: u8,
}

impl Runner<'_, '_, '_, '_> {
    fn command(&mut self, command: &CmdCommand, stdin: &Flow) -> Flow {
        let span = self.assessor.span(command.start, command.end);
        let mut stdin = stdin.clone();
        for word in &command.reads {
            let word = self.path(word);
            let taint = self.assessor.touch(ArgumentUse::Read, &word, false);
            stdin = Flow::unknown(taint.and(Taint::FILE));
        }
        let flow = self.words(&command.words, &stdin, span);
        let mut kept = flow.clone();
        for (word, append, output) in &command.writes {
            let lower = word.text.to_ascii_lowercase();
            if *output {
                kept = Flow::none();
            }
            if matches!(lower.trim_end_matches(':'), "nul" | "con") {
                continue;
            }
            let path = self.path(word);
            if windows_path::share_host(&word.text).is_some() {
                self.assessor.sent(flow.taint.has(Taint::SECRET), span);
            }
            self.assessor.touch(
                if *append { ArgumentUse::Append } else { ArgumentUse::Write },
                &path,
                false,
            );
            if *output {
                self.assessor.written(&path.text, *append, &flow);
            }
        }
        kept
    }

    /// A word as a path.
    fn path(&mut self, word: &CmdWord) -> CommandWord {
        let span = self.assessor.span(word.start, word.end);
        let text = self.scope.values(word).into_iter().next().unwrap_or_default();
        let text = windows_path::normalize(&text, self.assessor.context().cwd).into_owned();
        let glob = text.contains(['*', '?']);
        CommandWord { text, span, taint: Taint::default(), glob }
    }

    pub(super) fn words(&mut self, words: &[CmdWord], stdin: &Flow, span: Span) -> Flow {
        let Some(first) = words.first() else { return stdin.clone() };
        if self.inner >= MAX_INNER {
            self.assessor.too_deep(Some(span));
            return Flow::unknown(Taint::default());
        }
        self.inner += 1;
        let flow = self.one(first, words, stdin, span);
        self.inner -= 1;
        flow
    }

    fn one(&mut self, first: &CmdWord, words: &[CmdWord], stdin: &Flow, span: Span) -> Flow {
        let name = first.text.trim_start_matches('@').to_ascii_lowercase();
        let rest = words.get(1..).unwrap_or_default();
        match name.as_str() {
            "if" => {
                let skip = condition(rest);
                self.words(rest.get(skip..).unwrap_or_default(), stdin, span)
            }
            "for" => self.for_loop(rest, stdin, span),
            "call" if rest.first().is_some_and(|w| w.text.starts_with(':')) => Flow::none(),
            "" | "else" | "call" => self.words(rest, stdin, span),
            "start" => {
                let skip = start_options(rest);
                self.words(rest.get(skip..).unwrap_or_default(), stdin, span)
            }
            "set" => {
                self.set(rest, span);
                Flow::none()
            }
            "cd" | "chdir" | "pushd" | "popd" => {
                self.enter(&name, rest, span);
                Flow::none()
            }
            _ if name.starts_with(':') => Flow::none(),
            // `echo.` and `echo:` print an empty line.
            _ if name.starts_with("echo") && !name.starts_with("echo-") && is_echo(&name) => {
                let text: Vec<&str> = rest.iter().map(|w| w.text.as_str()).collect();
                let text = text.join(" ").replace('\u{2}', "");
                if text.contains(UNKNOWN) {
                    Flow::unknown(Taint::default())
                } else {
                    Flow::text(text)
                }
            }
            _ => self.program(first, &name, rest, stdin, span),
        }
    }

    fn set(&mut self, rest: &[CmdWord], span: Span) {
        let text: Vec<String> = rest
            .iter()
            .map(|w| self.scope.values(w).into_iter().next().unwrap_or_default())
            .collect();
        let text = text.join(" ");
        let text = text.trim_matches('"');
        let (text, open) = match text.get(..3) {
            Some(option)
                if option.eq_ignore_ascii_case("/a ") || option.eq_ignore_ascii_case("/p ") =>
            {
                (text.get(3..).unwrap_or_default().trim_matches('"'), true)
            }
            _ => (text, false),
        };
        let Some((name, value)) = text.split_once('=') else { return };
        let value = if open { UNKNOWN.to_string() } else { value.to_owned() };
        self.assessor.assigned(&name.to_ascii_uppercase(), &value, span);
        if self.scope.variables.len() >= MAX_VARIABLES {
            not_read(self.assessor, span);
            return;
        }
        self.scope.variables.push((name.trim().to_ascii_lowercase(), value));
    }

    fn enter(&mut self, name: &str, rest: &[CmdWord], span: Span) {
        if name == "popd" {
            self.assessor.program(&[CommandWord::new("popd", span)], &Flow::none(), span);
            return;
        }
        let target = rest.iter().find(|w| !w.text.eq_ignore_ascii_case("/d"));
        let Some(target) = target else { return };
        let path = self.path(target);
        self.assessor.program(&[CommandWord::new("cd", span), path], &Flow::none(), span);
    }

    fn program(
        &mut self,
        first: &CmdWord,
        name: &str,
        rest: &[CmdWord],
        stdin: &Flow,
        span: Span,
    ) -> Flow {
        // `del/s/q`: the first option may follow without a blank.
        let (name, glued) = match name.split_once('/') {
            Some((name, options)) if tables::spec(&format!("cmd:{name}")).is_some() => {
                (name, format!("/{options}"))
            }
            _ => (name, String::new()),
        };
        let place = self.assessor.span(first.start, first.end);
        let mut words: Vec<CommandWord> = Vec::new();
        if !glued.is_empty() {
            words.push(CommandWord::new(glued, place));
        }
        let builtin = format!("cmd:{}", name.trim_end_matches(".exe"));
        let own = tables::spec(&builtin).is_some();
        self.add_operands(rest, own, &mut words);
        if windows_path::share_host(&first.text).is_some() {
            self.assessor.unseen_code(Taint::NET.and(Taint::NET_OPEN), span);
        }
        let reads_share = words.last().is_some_and(|w| windows_path::share_host(&w.text).is_some());
        let flow = if own {
            let mut all = vec![CommandWord::new(builtin, place)];
            all.extend(slash_options(&words));
            self.assessor.described(&all, stdin, span)
        } else {
            let cwd = self.assessor.context().cwd;
            let text = self.scope.values(first).into_iter().next().unwrap_or_default();
            let text = windows_path::program(text.trim_start_matches('@'), cwd);
            let text = without_suffix(&text).to_owned();
            let mut all = vec![CommandWord::new(text, place)];
            all.extend(words.iter().cloned());
            self.assessor.program(&all, stdin, span)
        };
        if reads_share && own && CMD_COPYING_COMMANDS.contains(&name) {
            let secret = flow.taint.has(Taint::SECRET);
            self.assessor.sent(secret, span);
        }
        flow
    }

    /// Adds the words behind the program; paths in the form that the rules know. `own`: the
    /// program is a command of cmd itself, whose words are paths.
    fn add_operands(&mut self, rest: &[CmdWord], own: bool, words: &mut Vec<CommandWord>) {
        let cwd = self.assessor.context().cwd;
        for word in rest {
            let span = self.assessor.span(word.start, word.end);
            for text in self.scope.values(word) {
                let path = own && !text.starts_with('/') || windows_path::is_windows(&text);
                let glob = text.contains(['*', '?']);
                let text =
                    if path { windows_path::normalize(&text, cwd).into_owned() } else { text };
                words.push(CommandWord { text, span, taint: Taint::default(), glob });
            }
        }
    }
}
