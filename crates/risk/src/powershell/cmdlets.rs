//! Cmdlets that run text, start programs, set names or say where files are.

use super::cmdlet_call::{CmdletArgument, CmdletCall};
use super::run::Evaluator;
use super::value::{Kind, PsValue, type_name};
use crate::command_tables as tables;
use crate::flow::{Flow, Taint};
use crate::paths::windows_path;
use crate::shell::CommandWord;
use countersign_shell::UNKNOWN;

impl Evaluator<'_, '_, '_, '_> {
    /// What a cmdlet gives that is more than its rules say; none for all others.
    pub fn followed(&mut self, call: CmdletCall<'_>) -> Option<PsValue> {
        match call.name.text.as_str() {
            "invoke-expression" => {
                let code = call.argument("-command");
                let code = code.unwrap_or_else(|| call.input.clone());
                Some(self.run_text(&code, call.span))
            }
            "foreach-object" => Some(self.for_each_object(call)),
            "start-process" => {
                self.bound(call);
                Some(self.start_process(call))
            }
            "set-location" | "push-location" => {
                self.enter_folder(call);
                Some(PsValue::nothing())
            }
            "pop-location" => {
                self.assessor.program(
                    &[CommandWord::new("popd", call.span)],
                    &Flow::none(),
                    call.span,
                );
                Some(PsValue::nothing())
            }
            "set-alias" | "new-alias" => {
                let alias = call.argument("-name")?.string().to_ascii_lowercase();
                let target = call.argument("-value")?.string();
                self.alias(alias, target);
                Some(PsValue::nothing())
            }
            "set-variable" | "new-variable" => {
                let variable = call.argument("-name")?.string().to_ascii_lowercase();
                let value = call.argument("-value").unwrap_or_else(|| call.input.clone());
                self.set_variable(&variable, value, call.span);
                Some(PsValue::nothing())
            }
            "write-output" => Some(written_output(call)),
            "get-location" => Some(PsValue::text(".")),
            "join-path" => Some(join_path(call)),
            "split-path" => Some(split_path(call)),
            _ => self.followed_files(call),
        }
    }

    /// The same for cmdlets that make objects, pack files, talk to servers or run blocks.
    pub(super) fn followed_objects(&mut self, call: CmdletCall<'_>) -> Option<PsValue> {
        match call.name.text.as_str() {
            "new-object" => {
                self.bound(call);
                let kind = call.argument("-typename");
                let com = call.argument("-comobject").map(|c| c.string());
                let kind = match (com, kind) {
                    (Some(com), _) => format!("com:{}", com.to_ascii_lowercase()),
                    (None, Some(kind)) => type_name(&kind.string()),
                    (None, None) => UNKNOWN.to_string(),
                };
                let mut taint = Taint::default();
                for one in call.given {
                    taint = taint.and(one.value.origins());
                }
                Some(PsValue::of(Kind::Object(kind), taint))
            }
            "copy-item" | "move-item" | "compress-archive" => {
                let output = self.bound(call);
                self.copied(call, output.taint);
                Some(PsValue::nothing())
            }
            "invoke-webrequest" | "invoke-restmethod" => {
                let output = self.bound(call);
                self.uploaded(call);
                Some(output)
            }
            "invoke-command" | "start-job" | "start-threadjob" | "measure-command" => {
                let mut output = self.bound(call);
                for one in call.given {
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
    fn enter_folder(&mut self, call: CmdletCall<'_>) {
        let path = call.argument("-path");
        let path = path.map_or_else(|| "~".to_owned(), |p| p.string());
        let path = windows_path::normalize(&path, self.assessor.context().cwd).into_owned();
        let words = [CommandWord::new("cd", call.span), CommandWord::new(path, call.span)];
        self.assessor.program(&words, &Flow::none(), call.span);
    }

    /// Remembers an alias.
    pub fn alias(&mut self, alias: String, target: String) {
        if self.state.aliases.len() < 256 {
            self.state.aliases.push((alias, target));
        } else {
            let span = self.assessor.span(0, 0);
            self.not_read(span);
        }
    }

    /// `ForEach-Object { … }`, or a method of each item: `% Delete`.
    fn for_each_object(&mut self, call: CmdletCall<'_>) -> PsValue {
        let mut output = PsValue::nothing();
        for one in call.given {
            if let Kind::Block(block) = &one.value.kind {
                output = output.then((*block.output).clone());
            }
        }
        // A member's name, or a block in a variable.
        if let Some(member) = call.argument("-process")
            && !matches!(member.kind, Kind::Block(_))
        {
            let values: Vec<PsValue> = call
                .given
                .iter()
                .skip(1)
                .filter(|g| g.argument.parameter.is_none())
                .map(|g| g.value.clone())
                .collect();
            output = self.call(call.input, &member.string(), false, &values, call.span);
        }
        if output.is_nothing() { PsValue::nothing() } else { output.tainted(call.input.origins()) }
    }

    /// `Start-Process PROGRAM -ArgumentList …` runs the program.
    fn start_process(&mut self, call: CmdletCall<'_>) -> PsValue {
        let Some(program) = call.argument("-filepath") else {
            return PsValue::nothing();
        };
        let arguments = call.argument("-argumentlist").unwrap_or_default();
        let verb = call.argument("-verb").map(|v| v.string());
        let root = verb.is_some_and(|v| v.eq_ignore_ascii_case("runas"));
        let text = program.string();
        if text.contains("://") {
            self.assessor.net(&text);
            return PsValue::nothing();
        }
        let mut inner = Vec::new();
        for item in arguments.items() {
            // One text holds all arguments, with quotes as the program reads them.
            let whole = item.string();
            for part in split_arguments(&whole) {
                let value = PsValue::of(Kind::Text(part), item.origins());
                inner.push(CmdletArgument::of(value, true, false, call.span));
            }
        }
        let name = CommandWord { text, span: call.span, taint: program.origins(), glob: false };
        let keep = self.assessor.elevate(root);
        let output = self.native(&name, &inner, &PsValue::nothing(), call.span);
        self.assessor.restore_rights(keep);
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
fn written_output(call: CmdletCall<'_>) -> PsValue {
    let mut output = PsValue::nothing();
    for one in call.given.iter().filter(|g| g.argument.parameter.is_none()) {
        output = output.then(one.value.clone());
    }
    if output.is_nothing() { call.input.clone() } else { output }
}

fn join_path(call: CmdletCall<'_>) -> PsValue {
    let parent = call.argument("-path").unwrap_or_default();
    let child = call.argument("-childpath").unwrap_or_default();
    let taint = parent.origins().and(child.origins());
    let (parent, child) = (parent.string(), child.string());
    let text = format!("{}/{child}", parent.trim_end_matches(['/', '\\']));
    PsValue::of(Kind::Text(text), taint)
}

fn split_path(call: CmdletCall<'_>) -> PsValue {
    let path = call.argument("-path").unwrap_or_default();
    let leaf = call.has_switch("-leafbase", 4);
    let taint = path.origins();
    let text = path.string().replace('\\', "/");
    let text = match text.trim_end_matches('/').rsplit_once('/') {
        Some((_, last)) if leaf => last.to_owned(),
        Some((parent, _)) => parent.to_owned(),
        None if leaf => text,
        None => ".".to_owned(),
    };
    PsValue::of(Kind::Text(text), taint)
}

/// Whether a program of this name is described as a cmdlet.
pub fn is_cmdlet(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    tables::spec(&lower).is_some_and(|(spec, ..)| spec.cmdlet)
}
