//! Which facts would help to assess a call.
//!
//! Only plain words are read: a question about a computed path could not be answered before the
//! call runs.

use std::borrow::Cow;

use super::{FactQuery, RemoteSystem};
use crate::assess::Assessment;
use crate::call::Call;
use countersign_json::Value;
use countersign_shell::posix::ast::{List, Node, Redirect, Simple, Stage};
use countersign_shell::posix::{parse, unquoted};

/// The most questions about one call.
pub const MAX_QUERIES: usize = 16;

/// How deep `sh -c '…'` inside `sh -c '…'` is followed.
const MAX_DEPTH: u8 = 3;
/// Arguments that hold a command line.
const COMMAND_ARGUMENTS: [&str; 4] = ["command", "cmd", "script", "commandLine"];

/// What a program does with its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProgramKind {
    /// Runs the command behind it.
    Prefix,
    /// Runs shell text, from a file or after `-c`.
    Shell,
    /// Runs the file that is its first operand.
    Interpreter,
    /// Runs the file that its option `-f` names, or its standard input.
    Database,
    /// Runs scripts of `package.json`.
    PackageManager,
    Make,
    Git,
    /// Acts on what its configuration names.
    Remote(RemoteSystem),
}

const PROGRAMS: [(&[&str], ProgramKind); 11] = [
    (&["sudo", "env", "nohup", "time", "command", "exec", "nice", "doas"], ProgramKind::Prefix),
    (&["sh", "bash", "zsh", "dash", "ksh", "source", "."], ProgramKind::Shell),
    (
        &[
            "python",
            "python3",
            "node",
            "ruby",
            "perl",
            "php",
            "deno",
            "bun",
            "tsx",
            "ts-node",
            "lua",
            "Rscript",
            "osascript",
            "tclsh",
        ],
        ProgramKind::Interpreter,
    ),
    (&["psql", "mysql", "mariadb", "sqlite3", "clickhouse-client"], ProgramKind::Database),
    (&["npm", "pnpm", "yarn"], ProgramKind::PackageManager),
    (&["make", "gmake"], ProgramKind::Make),
    (&["git"], ProgramKind::Git),
    (&["kubectl", "helm", "k9s", "helmfile"], ProgramKind::Remote(RemoteSystem::Kubernetes)),
    (&["docker", "docker-compose"], ProgramKind::Remote(RemoteSystem::Docker)),
    (&["aws", "eksctl", "sam"], ProgramKind::Remote(RemoteSystem::Aws)),
    (&["gcloud", "gsutil", "bq"], ProgramKind::Remote(RemoteSystem::GoogleCloud)),
];

/// The facts that would help to assess a call, without repetition.
pub fn queries(call: &Call<'_>, assessment: &Assessment) -> Vec<FactQuery> {
    let mut questions = Questions::default();
    let impact = &assessment.impact;
    for path in impact.deletes.listed.iter().chain(&impact.writes.listed) {
        questions.add(FactQuery::Path { path: path.clone() });
    }
    for name in COMMAND_ARGUMENTS {
        match call.arguments.get(name) {
            Some(Value::String(text)) => questions.read_text(text, ".", 0),
            Some(Value::Array(words)) => {
                let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                questions.read_words(&words, ".", 0);
            }
            _ => {}
        }
    }
    questions.found
}

#[derive(Default)]
struct Questions {
    found: Vec<FactQuery>,
}

impl Questions {
    fn add(&mut self, query: FactQuery) {
        if self.found.len() < MAX_QUERIES && !self.found.contains(&query) {
            self.found.push(query);
        }
    }

    fn read_text(&mut self, text: &str, folder: &str, depth: u8) {
        if depth <= MAX_DEPTH {
            let mut folder = folder.to_owned();
            self.read_list(&parse(text).list, &mut folder, depth);
        }
    }

    fn read_list(&mut self, list: &List<'_>, folder: &mut String, depth: u8) {
        for stage in list.iter().flat_map(|pipeline| &pipeline.stages) {
            self.read_stage(stage, folder, depth);
        }
    }

    fn read_stage(&mut self, stage: &Stage<'_>, folder: &mut String, depth: u8) {
        match &stage.node {
            Node::Simple(simple) => self.read_simple(simple, stage, folder, depth),
            Node::Group(_, list) | Node::For { body: list, .. } => {
                self.read_list(list, &mut folder.clone(), depth);
            }
            Node::Case { arms, .. } => {
                for arm in arms {
                    self.read_list(arm, &mut folder.clone(), depth);
                }
            }
            Node::Function { body, .. } => self.read_stage(body, &mut folder.clone(), depth),
            Node::Test(_) => {}
        }
    }

    fn read_simple(
        &mut self,
        simple: &Simple<'_>,
        stage: &Stage<'_>,
        folder: &mut String,
        depth: u8,
    ) {
        // What follows a computed word may be anything, so reading ends there.
        let words: Vec<Cow<'_, str>> = simple.words.iter().map_while(unquoted).collect();
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        if let ["cd", target] = words.as_slice() {
            *folder = joined(folder, target);
            return;
        }
        let program = self.read_words(&words, folder, depth);
        let reads_input = matches!(
            program,
            Some(ProgramKind::Shell | ProgramKind::Interpreter | ProgramKind::Database)
        );
        for redirection in stage.redirections.iter().filter(|_| reads_input) {
            if let Redirect::Read(word) = &redirection.kind
                && let Some(path) = unquoted(word)
            {
                self.add(FactQuery::Script { path: joined(folder, &path) });
            }
        }
    }

    /// Reads the words of one command, and says what its program is.
    fn read_words(&mut self, words: &[&str], folder: &str, depth: u8) -> Option<ProgramKind> {
        let (program, rest) = words.split_first()?;
        let name = program.rsplit('/').next().unwrap_or(program);
        let known = PROGRAMS.iter().find(|(names, _)| names.contains(&name));
        let Some(&(_, kind)) = known else {
            if program.contains('/') {
                self.add(FactQuery::Script { path: joined(folder, program) });
            }
            return None;
        };
        match kind {
            ProgramKind::Prefix => {
                let is_setting = |word: &&&str| word.starts_with('-') || word.contains('=');
                let start = rest.iter().take_while(is_setting).count();
                return self.read_words(rest.get(start..).unwrap_or_default(), folder, depth);
            }
            ProgramKind::Shell => self.read_shell(rest, folder, depth),
            ProgramKind::Interpreter => {
                if let Some(first) = rest.first().filter(|word| !word.starts_with('-')) {
                    let first = if *first == "run" { rest.get(1).unwrap_or(first) } else { first };
                    self.add(FactQuery::Script { path: joined(folder, first) });
                }
            }
            ProgramKind::Database => {
                for path in option_values(rest, &["-f", "--file"]) {
                    self.add(FactQuery::Script { path: joined(folder, path) });
                }
            }
            ProgramKind::PackageManager => self.read_package_manager(rest, folder),
            ProgramKind::Make => self.read_make(rest, folder),
            ProgramKind::Git => self.read_git(rest, folder),
            ProgramKind::Remote(system) => self.add(FactQuery::Current { system }),
        }
        Some(kind)
    }

    fn read_shell(&mut self, words: &[&str], folder: &str, depth: u8) {
        let is_inline =
            |word: &&&str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
        let options = words.iter().take_while(|word| word.starts_with('-'));
        let inline = options.clone().any(|word| is_inline(&word));
        let Some(first) = words.get(options.count()) else { return };
        if inline {
            self.read_text(first, folder, depth + 1);
        } else {
            self.add(FactQuery::Script { path: joined(folder, first) });
        }
    }

    fn read_package_manager(&mut self, words: &[&str], folder: &str) {
        let mut operands = words.iter().copied().filter(|word| !word.starts_with('-'));
        let name = match operands.next() {
            Some("run" | "run-script") => operands.next(),
            Some("t" | "tst") => Some("test"),
            other => other,
        };
        if let Some(name) = name {
            let (folder, name) = (folder.to_owned(), name.to_owned());
            self.add(FactQuery::PackageScript { folder, name });
        }
    }

    fn read_make(&mut self, words: &[&str], folder: &str) {
        let folder = option_values(words, &["-C", "--directory"])
            .fold(folder.to_owned(), |folder, inner| joined(&folder, inner));
        let file = option_values(words, &["-f", "--file", "--makefile"]).next();
        let takes_value = |word: &str| ["-C", "-f", "--file", "--makefile", "-j"].contains(&word);
        let mut before = "";
        let mut targets = Vec::new();
        for word in words.iter().copied() {
            if !word.starts_with('-') && !word.contains('=') && !takes_value(before) {
                targets.push(word);
            }
            before = word;
        }
        let mut ask = |target: Option<&str>| {
            self.add(FactQuery::MakeTarget {
                folder: folder.clone(),
                file: file.map(ToOwned::to_owned),
                target: target.map(ToOwned::to_owned),
            });
        };
        if targets.is_empty() {
            ask(None);
        }
        for target in targets {
            ask(Some(target));
        }
    }

    fn read_git(&mut self, words: &[&str], folder: &str) {
        let Some(at) = words.iter().position(|word| *word == "push") else { return };
        let (before, after) = words.split_at(at);
        let folder = option_values(before, &["-C"])
            .fold(folder.to_owned(), |folder, inner| joined(&folder, inner));
        let mut operands = after.iter().skip(1).filter(|word| !word.starts_with('-'));
        let remote = operands.next().map(|word| (*word).to_owned());
        self.add(FactQuery::GitRemote { folder, remote });
    }
}

/// The values of an option, written as the next word or behind `=`.
fn option_values<'w>(words: &'w [&'w str], names: &'w [&str]) -> impl Iterator<Item = &'w str> {
    words.iter().enumerate().filter_map(|(at, word)| match word.split_once('=') {
        Some((name, value)) if names.contains(&name) => Some(value),
        _ if names.contains(word) => words.get(at + 1).copied(),
        _ => None,
    })
}

/// A path as seen from a folder.
fn joined(folder: &str, path: &str) -> String {
    let is_whole = path.starts_with(['/', '~']) || folder == ".";
    if is_whole { path.to_owned() } else { format!("{}/{path}", folder.trim_end_matches('/')) }
}
