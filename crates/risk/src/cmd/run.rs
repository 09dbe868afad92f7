//! cmd commands in order: what each of them is, and the words that the rules know it by.

use super::options::slash_options;
use crate::command_tables as tables;
use crate::command_tables::Touch;
use crate::finding::Span;
use crate::flow::{Flow, Taint};
use crate::paths::windows_path;
use crate::shell::{CommandJudge, CommandWord};
use crate::structural_findings;
use countersign_shell::UNKNOWN;
use countersign_shell::cmd::{CmdCommand, CmdVariables, CmdWord, Lexer, Separator};

/// How many variables are followed.
const MAX_VARIABLES: usize = 128;
/// How many values of a loop are judged.
const MAX_VALUES: usize = 16;
/// How deep commands may be inside each other (`if … if …`, `call call …`).
const MAX_INNER: u8 = 16;

/// Variables of a text, and what could not be read.
#[derive(Debug, Default)]
pub struct Environment {
    variables: Vec<(String, String)>,
    /// Loop variables and their values.
    loops: Vec<(char, Vec<String>)>,
    unread: Option<usize>,
}

impl CmdVariables for Environment {
    fn value(&mut self, name: &str) -> Option<String> {
        let lower = name.to_ascii_lowercase();
        let own = self.variables.iter().rev().find(|(n, _)| *n == lower);
        if let Some((_, value)) = own {
            return Some(value.clone());
        }
        match lower.as_str() {
            "cd" | "~dp0" => Some(".".to_owned()),
            _ => windows_path::environment(&lower).map(str::to_owned),
        }
    }

    fn not_read(&mut self, at: usize) {
        self.unread.get_or_insert(at);
    }
}

/// Reads and walks a text; returns what its last command writes.
pub fn run(judge: &mut CommandJudge<'_, '_, '_>, text: &str, stdin: &Flow) -> Flow {
    if !judge.begin_text(text.len()) {
        return Flow::unknown(Taint::default());
    }
    let mut runner = Runner { judge, environment: Environment::default(), inner: 0 };
    let mut lexer = Lexer::new(text);
    let mut flow = stdin.clone();
    while let Some(command) = lexer.next(&mut runner.environment) {
        if !runner.judge.spend() {
            break;
        }
        let output = runner.command(&command, &flow);
        flow = if command.separator == Separator::Pipe { output } else { Flow::none() };
    }
    if let Some(at) = runner.environment.unread {
        let span = runner.judge.span(at.min(text.len()), text.len());
        not_read(runner.judge, span);
    }
    judge.end_text();
    flow
}

/// A part of the text is not understood.
fn not_read(judge: &mut CommandJudge<'_, '_, '_>, span: Span) {
    judge.out().doubt(crate::finding::Doubt::Unreadable);
    judge.report(&structural_findings::UNREADABLE_CMD, span);
}

struct Runner<'a, 's, 'c, 'o> {
    judge: &'a mut CommandJudge<'s, 'c, 'o>,
    environment: Environment,
    inner: u8,
}

impl Runner<'_, '_, '_, '_> {
    fn command(&mut self, command: &CmdCommand, stdin: &Flow) -> Flow {
        let span = self.judge.span(command.start, command.end);
        let mut stdin = stdin.clone();
        for word in &command.reads {
            let word = self.path(word);
            let taint = self.judge.touch(Touch::Read, &word, false);
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
                self.judge.sent(flow.taint.has(Taint::SECRET), span);
            }
            self.judge.touch(if *append { Touch::Append } else { Touch::Write }, &path, false);
            if *output {
                self.judge.written(&path.text, *append, &flow);
            }
        }
        kept
    }

    /// A word as a path.
    fn path(&mut self, word: &CmdWord) -> CommandWord {
        let span = self.judge.span(word.start, word.end);
        let text = self.values(word).into_iter().next().unwrap_or_default();
        let text = windows_path::normalize(&text, self.judge.context().cwd).into_owned();
        let glob = text.contains(['*', '?']);
        CommandWord { text, span, taint: Taint::default(), glob }
    }

    /// The texts of a word: one for each value of a loop variable in it.
    fn values(&self, word: &CmdWord) -> Vec<String> {
        if !word.loops {
            return vec![word.text.clone()];
        }
        let mut texts = vec![word.text.clone()];
        for (letter, values) in &self.environment.loops {
            let mark = format!("\u{2}{letter}");
            if !word.text.contains(&mark) {
                continue;
            }
            texts = texts
                .iter()
                .flat_map(|t| values.iter().map(|v| t.replace(&mark, v)))
                .take(MAX_VALUES * MAX_VALUES)
                .collect();
        }
        let unknown = |t: &String| {
            let mut out = String::new();
            let mut chars = t.chars();
            while let Some(c) = chars.next() {
                if c == '\u{2}' {
                    chars.next();
                    out.push(UNKNOWN);
                } else {
                    out.push(c);
                }
            }
            out
        };
        texts.iter().map(unknown).collect()
    }

    fn words(&mut self, words: &[CmdWord], stdin: &Flow, span: Span) -> Flow {
        let Some(first) = words.first() else { return stdin.clone() };
        if self.inner >= MAX_INNER {
            self.judge.too_deep(Some(span));
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

    fn for_loop(&mut self, rest: &[CmdWord], stdin: &Flow, span: Span) -> Flow {
        let at = |word: &str| rest.iter().position(|w| w.text.eq_ignore_ascii_case(word));
        let (Some(set), Some(body)) = (at("in").map(|i| i + 1), at("do").map(|i| i + 1)) else {
            not_read(self.judge, span);
            return Flow::none();
        };
        let letter = rest.iter().take(set).find_map(|w| {
            let (_, after) = w.text.split_once('\u{2}')?;
            after.chars().next()
        });
        let options: Vec<String> =
            rest.iter().take(set).map(|w| w.text.to_ascii_lowercase()).collect();
        let text = rest.get(set).map(|w| w.text.clone()).unwrap_or_default();
        let reads = options.iter().any(|o| o == "/f");
        let trimmed = text.trim();
        let code = trimmed
            .strip_prefix('\'')
            .and_then(|t| t.strip_suffix('\''))
            .or_else(|| trimmed.strip_prefix('`').and_then(|t| t.strip_suffix('`')));
        let mut values: Vec<String> = Vec::new();
        if let Some(code) = code.filter(|_| reads) {
            let old = self.judge.pin(Some(span));
            let output = run(self.judge, code, &Flow::none());
            self.judge.pin(old);
            match output.text {
                Some(text) => {
                    values.extend(text.lines().take(MAX_VALUES).map(str::to_owned));
                    if values.len() == MAX_VALUES {
                        values.push(UNKNOWN.to_string());
                    }
                }
                None => values.push(UNKNOWN.to_string()),
            }
        } else if reads || options.iter().any(|o| o == "/l") {
            values.push(UNKNOWN.to_string());
        } else {
            let items = crate::powershell::split_arguments(trimmed);
            if items.len() > MAX_VALUES {
                not_read(self.judge, span);
            }
            values.extend(items.into_iter().take(MAX_VALUES));
            if options.iter().any(|o| o == "/r") {
                // Every file below the folder that is named behind `/r`.
                let folder = options.iter().position(|o| o == "/r").and_then(|i| rest.get(i + 1));
                let folder = folder.map(|w| w.text.clone()).filter(|t| !t.starts_with('\u{2}'));
                let folder = folder.unwrap_or_else(|| ".".to_owned());
                values = values.iter().map(|v| format!("{folder}\\{v}")).collect();
            }
        }
        if let Some(letter) = letter {
            self.environment.loops.retain(|(l, _)| *l != letter);
            self.environment.loops.push((letter, values));
        }
        // Behind `do (` the body comes as commands of their own.
        self.words(rest.get(body..).unwrap_or_default(), stdin, span)
    }

    fn set(&mut self, rest: &[CmdWord], span: Span) {
        let text: Vec<String> =
            rest.iter().map(|w| self.values(w).into_iter().next().unwrap_or_default()).collect();
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
        self.judge.assigned(&name.to_ascii_uppercase(), &value, span);
        if self.environment.variables.len() >= MAX_VARIABLES {
            not_read(self.judge, span);
            return;
        }
        self.environment.variables.push((name.trim().to_ascii_lowercase(), value));
    }

    fn enter(&mut self, name: &str, rest: &[CmdWord], span: Span) {
        if name == "popd" {
            self.judge.program(&[CommandWord::new("popd", span)], &Flow::none(), span);
            return;
        }
        let target = rest.iter().find(|w| !w.text.eq_ignore_ascii_case("/d"));
        let Some(target) = target else { return };
        let path = self.path(target);
        self.judge.program(&[CommandWord::new("cd", span), path], &Flow::none(), span);
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
        let place = self.judge.span(first.start, first.end);
        let cwd = self.judge.context().cwd;
        let mut words: Vec<CommandWord> = Vec::new();
        if !glued.is_empty() {
            words.push(CommandWord::new(glued, place));
        }
        let builtin = format!("cmd:{}", name.trim_end_matches(".exe"));
        let own = tables::spec(&builtin).is_some();
        for word in rest {
            let span = self.judge.span(word.start, word.end);
            for text in self.values(word) {
                let path = own && !text.starts_with('/') || windows_path::is_windows(&text);
                let glob = text.contains(['*', '?']);
                let text =
                    if path { windows_path::normalize(&text, cwd).into_owned() } else { text };
                words.push(CommandWord { text, span, taint: Taint::default(), glob });
            }
        }
        if windows_path::share_host(&first.text).is_some() {
            self.judge.unseen_code(Taint::NET.and(Taint::NET_OPEN), span);
        }
        let reads_share = words.last().is_some_and(|w| windows_path::share_host(&w.text).is_some());
        let flow = if own {
            let mut all = vec![CommandWord::new(builtin, place)];
            all.extend(slash_options(&words));
            self.judge.described(&all, stdin, span)
        } else {
            let text = self.values(first).into_iter().next().unwrap_or_default();
            let text = windows_path::normalize(text.trim_start_matches('@'), cwd).into_owned();
            let text = without_suffix(&text).to_owned();
            let mut all = vec![CommandWord::new(text, place)];
            all.extend(words.iter().cloned());
            self.judge.program(&all, stdin, span)
        };
        if reads_share && own && matches!(name, "copy" | "move" | "xcopy" | "robocopy") {
            let secret = flow.taint.has(Taint::SECRET);
            self.judge.sent(secret, span);
        }
        flow
    }
}

/// `npm.cmd` is `npm`.
fn without_suffix(program: &str) -> &str {
    for suffix in [".cmd", ".bat", ".com", ".exe"] {
        let Some(at) = program.len().checked_sub(suffix.len()) else { continue };
        let (short, end) = (program.get(..at), program.get(at..));
        if let (Some(short), Some(end)) = (short, end)
            && end.eq_ignore_ascii_case(suffix)
            && crate::shell::described_program(short).is_some()
        {
            return short;
        }
    }
    program
}

fn is_echo(name: &str) -> bool {
    name.len() == 4 || name.as_bytes().get(4).copied().is_some_and(|b| !b.is_ascii_alphanumeric())
}

/// How many words the condition of `if` takes up.
fn condition(words: &[CmdWord]) -> usize {
    let lower = |at: usize| words.get(at).map(|w| w.text.to_ascii_lowercase()).unwrap_or_default();
    let mut at = 0;
    while matches!(lower(at).as_str(), "/i" | "not") {
        at += 1;
    }
    match lower(at).as_str() {
        "exist" | "defined" | "errorlevel" | "cmdextversion" => at + 2,
        _ => {
            let operator = lower(at + 1);
            if matches!(operator.as_str(), "equ" | "neq" | "lss" | "leq" | "gtr" | "geq" | "==") {
                return at + 3;
            }
            if lower(at).ends_with("==") || operator.starts_with("==") {
                return at + 2;
            }
            at + 1
        }
    }
}

/// How many words of `start` come before its command: a title and options.
fn start_options(words: &[CmdWord]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let quoted = word.end - word.start >= word.text.len() + 2;
        let takes = word.text.eq_ignore_ascii_case("/d");
        if word.text.starts_with('/') {
            at += 1 + usize::from(takes);
        } else if at == 0 && quoted && words.len() > 1 {
            at += 1;
        } else {
            break;
        }
    }
    at
}
