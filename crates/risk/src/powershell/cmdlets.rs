//! Cmdlets that run text, start programs, set names or say where files are.

use super::given::{Given, argument};
use super::run::Evaluator;
use super::value::{Kind, Value, type_name};
use crate::command_tables as tables;
use crate::command_tables::Spec;
use crate::finding::Span;
use crate::flow::{Flow, Taint};
use crate::paths::windows_path;
use crate::shell::CommandWord;
use countersign_shell::UNKNOWN;

impl Evaluator<'_, '_, '_, '_> {
    /// What a cmdlet gives that is more than its rules say; none for all others.
    pub fn followed(
        &mut self,
        spec: &'static Spec,
        name: &CommandWord,
        given: &[Given],
        input: &Value,
        span: Span,
    ) -> Option<Value> {
        match name.text.as_str() {
            "invoke-expression" => {
                let code = argument(spec, given, "-command");
                let code = code.unwrap_or_else(|| input.clone());
                Some(self.run_text(&code, span))
            }
            "foreach-object" => Some(self.for_each_object(spec, given, input, span)),
            "start-process" => {
                self.bound(spec, name, given, input, span);
                Some(self.start_process(spec, given, span))
            }
            "set-location" | "push-location" => {
                self.enter_folder(spec, given, span);
                Some(Value::nothing())
            }
            "pop-location" => {
                self.judge.program(&[CommandWord::new("popd", span)], &Flow::none(), span);
                Some(Value::nothing())
            }
            "set-alias" | "new-alias" => {
                let alias = argument(spec, given, "-name")?.string().to_ascii_lowercase();
                let target = argument(spec, given, "-value")?.string();
                self.alias(alias, target);
                Some(Value::nothing())
            }
            "set-variable" | "new-variable" => {
                let variable = argument(spec, given, "-name")?.string().to_ascii_lowercase();
                let value = argument(spec, given, "-value").unwrap_or_else(|| input.clone());
                self.set_variable(&variable, value, span);
                Some(Value::nothing())
            }
            "write-output" => Some(written_output(given, input)),
            "get-location" => Some(Value::text(".")),
            "join-path" => Some(join_path(spec, given)),
            "split-path" => Some(split_path(spec, given)),
            _ => self.followed_files(spec, name, given, input, span),
        }
    }

    /// The same for cmdlets that make objects, pack files, talk to servers or run blocks.
    pub(super) fn followed_objects(
        &mut self,
        spec: &'static Spec,
        name: &CommandWord,
        given: &[Given],
        input: &Value,
        span: Span,
    ) -> Option<Value> {
        match name.text.as_str() {
            "new-object" => {
                self.bound(spec, name, given, input, span);
                let kind = argument(spec, given, "-typename");
                let com = argument(spec, given, "-comobject").map(|c| c.string());
                let kind = match (com, kind) {
                    (Some(com), _) => format!("com:{}", com.to_ascii_lowercase()),
                    (None, Some(kind)) => type_name(&kind.string()),
                    (None, None) => UNKNOWN.to_string(),
                };
                let mut taint = Taint::default();
                for one in given {
                    taint = taint.and(one.value.origins());
                }
                Some(Value::of(Kind::Object(kind), taint))
            }
            "copy-item" | "move-item" | "compress-archive" => {
                let output = self.bound(spec, name, given, input, span);
                self.copied(spec, given, output.taint);
                Some(Value::nothing())
            }
            "invoke-webrequest" | "invoke-restmethod" => {
                let output = self.bound(spec, name, given, input, span);
                self.uploaded(spec, given, input, span);
                Some(output)
            }
            "invoke-command" | "start-job" | "start-threadjob" | "measure-command" => {
                let mut output = self.bound(spec, name, given, input, span);
                for one in given {
                    if let Kind::Block(block) = &one.value.kind {
                        output = output.then((*block.output).clone());
                    }
                }
                Some(output)
            }
            _ => None,
        }
    }

    /// Enters the folder that the arguments name, or the home folder.
    fn enter_folder(&mut self, spec: &'static Spec, given: &[Given], span: Span) {
        let path = argument(spec, given, "-path");
        let path = path.map_or_else(|| "~".to_owned(), |p| p.string());
        let path = windows_path::normalize(&path, self.judge.context().cwd).into_owned();
        let words = [CommandWord::new("cd", span), CommandWord::new(path, span)];
        self.judge.program(&words, &Flow::none(), span);
    }

    /// Remembers an alias.
    pub fn alias(&mut self, alias: String, target: String) {
        if self.state.aliases.len() < 256 {
            self.state.aliases.push((alias, target));
        } else {
            let span = self.judge.span(0, 0);
            self.not_read(span);
        }
    }

    /// `ForEach-Object { … }`, or a method of each item: `% Delete`.
    fn for_each_object(
        &mut self,
        spec: &'static Spec,
        given: &[Given],
        input: &Value,
        span: Span,
    ) -> Value {
        let mut output = Value::nothing();
        for one in given {
            if let Kind::Block(block) = &one.value.kind {
                output = output.then((*block.output).clone());
            }
        }
        // A member's name, or a block in a variable.
        if let Some(member) = argument(spec, given, "-process")
            && !matches!(member.kind, Kind::Block(_))
        {
            let values: Vec<Value> = given
                .iter()
                .skip(1)
                .filter(|g| g.argument.parameter.is_none())
                .map(|g| g.value.clone())
                .collect();
            output = self.call(input, &member.string(), false, &values, span);
        }
        if output.is_nothing() { Value::nothing() } else { output.tainted(input.origins()) }
    }

    /// `Start-Process PROGRAM -ArgumentList …` runs the program.
    fn start_process(&mut self, spec: &'static Spec, given: &[Given], span: Span) -> Value {
        let Some(program) = argument(spec, given, "-filepath") else {
            return Value::nothing();
        };
        let arguments = argument(spec, given, "-argumentlist").unwrap_or_default();
        let verb = argument(spec, given, "-verb").map(|v| v.string());
        let root = verb.is_some_and(|v| v.eq_ignore_ascii_case("runas"));
        let text = program.string();
        if text.contains("://") {
            self.judge.net(&text);
            return Value::nothing();
        }
        let mut inner = Vec::new();
        for item in arguments.items() {
            // One text holds all arguments, with quotes as the program reads them.
            let whole = item.string();
            for part in split_arguments(&whole) {
                let value = Value::of(Kind::Text(part), item.origins());
                inner.push(Given::of(value, true, false, span));
            }
        }
        let name = CommandWord { text, span, taint: program.origins(), glob: false };
        let keep = self.judge.elevate(root);
        let output = self.native(&name, &inner, &Value::nothing(), span);
        self.judge.restore_rights(keep);
        output
    }
}

/// The arguments in one text, split at blanks outside of double quotes.
pub fn split_arguments(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let (mut quoted, mut any) = (false, false);
    for c in text.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                any = true;
            }
            c if c.is_whitespace() && !quoted => {
                if any || !part.is_empty() {
                    parts.push(std::mem::take(&mut part));
                }
                any = false;
            }
            c => part.push(c),
        }
    }
    if any || !part.is_empty() {
        parts.push(part);
    }
    parts
}

/// What `Write-Output` passes on: its arguments, or its input if it has none.
fn written_output(given: &[Given], input: &Value) -> Value {
    let mut output = Value::nothing();
    for one in given.iter().filter(|g| g.argument.parameter.is_none()) {
        output = output.then(one.value.clone());
    }
    if output.is_nothing() { input.clone() } else { output }
}

fn join_path(spec: &'static Spec, given: &[Given]) -> Value {
    let parent = argument(spec, given, "-path").unwrap_or_default();
    let child = argument(spec, given, "-childpath").unwrap_or_default();
    let taint = parent.origins().and(child.origins());
    let (parent, child) = (parent.string(), child.string());
    let text = format!("{}/{child}", parent.trim_end_matches(['/', '\\']));
    Value::of(Kind::Text(text), taint)
}

fn split_path(spec: &'static Spec, given: &[Given]) -> Value {
    let path = argument(spec, given, "-path").unwrap_or_default();
    let leaf = given.iter().any(|g| {
        g.argument.parameter.as_ref().is_some_and(|p| p.len() > 3 && "-leafbase".starts_with(p))
    });
    let taint = path.origins();
    let text = path.string().replace('\\', "/");
    let text = match text.trim_end_matches('/').rsplit_once('/') {
        Some((_, last)) if leaf => last.to_owned(),
        Some((parent, _)) => parent.to_owned(),
        None if leaf => text,
        None => ".".to_owned(),
    };
    Value::of(Kind::Text(text), taint)
}

/// Whether a program of this name is described as a cmdlet.
pub fn is_cmdlet(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    tables::spec(&lower).is_some_and(|(spec, ..)| spec.cmdlet)
}
