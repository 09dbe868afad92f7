//! Cmdlets that list, read, write, copy or send files, and what they give.

use super::given::{Given, argument, is_pattern};
use super::run::Evaluator;
use super::state::Named;
use super::value::{Kind, Value};
use crate::command_tables::Spec;
use crate::finding::Span;
use crate::flow::{Flow, Taint};
use crate::paths::{Act, windows_path};
use crate::shell::CommandWord;
use countersign_shell::UNKNOWN;
use countersign_types::tier::Tier;

impl Evaluator<'_, '_, '_, '_> {
    /// What a cmdlet gives that is more than its rules say, for those that list, read, write or send files.
    pub(super) fn followed_files(
        &mut self,
        spec: &'static Spec,
        name: &CommandWord,
        given: &[Given],
        input: &Value,
        span: Span,
    ) -> Option<Value> {
        match name.text.as_str() {
            "get-childitem" => {
                let mut output = self.bound(spec, name, given, input, span);
                let path = argument(spec, given, "-path");
                let path = path.map_or_else(|| ".".to_owned(), |p| p.string());
                let path = windows_path::normalize(&path, self.judge.context().cwd).into_owned();
                let folder = match path.rsplit_once('/') {
                    Some((folder, last)) if is_pattern(last) => folder.to_owned(),
                    None if is_pattern(&path) => ".".to_owned(),
                    _ => path,
                };
                output.kind = Kind::Text(UNKNOWN.to_string());
                output.place = Some(folder);
                Some(output)
            }
            "get-item" | "resolve-path" | "convert-path" => {
                let path = argument(spec, given, "-path").unwrap_or_else(|| input.clone());
                let output = self.bound(spec, name, given, input, span);
                Some(path.tainted(output.taint))
            }
            "get-command" | "get-alias" => {
                let wanted = argument(spec, given, "-name")?.string();
                Some(if is_pattern(&wanted) {
                    Value::unknown(Taint::default())
                } else {
                    Value::text(wanted)
                })
            }
            "get-content" => {
                let output = self.bound(spec, name, given, input, span);
                let path = argument(spec, given, "-path").unwrap_or_else(|| input.clone());
                let path = path.string();
                let path = windows_path::normalize(&path, self.judge.context().cwd).into_owned();
                let held = self.judge.known_file(&path).map(Value::from_flow);
                Some(held.map_or(output.clone(), |v| v.tainted(output.taint)))
            }
            "set-content" | "add-content" | "out-file" | "tee-object" => {
                Some(self.write_content(spec, name, given, input, span))
            }
            "set-item" | "new-item" => self.drive_item(spec, name, given, input, span),
            _ => self.followed_objects(spec, name, given, input, span),
        }
    }

    /// `Set-Content`, `Out-File` and their kin: what the file holds afterwards.
    fn write_content(
        &mut self,
        spec: &'static Spec,
        name: &CommandWord,
        given: &[Given],
        input: &Value,
        span: Span,
    ) -> Value {
        self.bound(spec, name, given, input, span);
        let content = match name.text.as_str() {
            "set-content" | "add-content" => argument(spec, given, "-value"),
            _ => None,
        };
        let content = content.unwrap_or_else(|| input.clone());
        let append = name.text == "add-content"
            || given.iter().any(|g| {
                g.argument
                    .parameter
                    .as_ref()
                    .is_some_and(|p| p.len() > 1 && "-append".starts_with(p))
            });
        let path = argument(spec, given, "-path").unwrap_or_default();
        for word in path.words(span, true) {
            if windows_path::share_host(&word.text).is_some() {
                self.judge.sent(content.origins().has(Taint::SECRET), span);
            }
            let text = windows_path::normalize(&word.text, self.judge.context().cwd).into_owned();
            self.judge.written(&text, append, &content.flow());
        }
        if name.text == "tee-object" {
            if let Some(variable) = argument(spec, given, "-variable") {
                let variable = variable.string().to_ascii_lowercase();
                self.set_variable(&variable, input.clone(), span);
            }
            return input.clone();
        }
        Value::nothing()
    }

    /// `Set-Item Env:X value`, `New-Item alias:x …`: items of drives that are not files.
    fn drive_item(
        &mut self,
        spec: &'static Spec,
        name: &CommandWord,
        given: &[Given],
        input: &Value,
        span: Span,
    ) -> Option<Value> {
        let path = argument(spec, given, "-path")?.string();
        let value = argument(spec, given, "-value").unwrap_or_default();
        let (drive, item) = path.split_once(':')?;
        let item = item.trim_start_matches([':', '\\', '/']).to_ascii_lowercase();
        match drive.to_ascii_lowercase().as_str() {
            "alias" => self.alias(item, value.string()),
            "env" => self.set_variable(&format!("env:{item}"), value, span),
            "variable" => self.set_variable(&item, value, span),
            "function" => {
                let source = value.string();
                self.run_text(&value, span);
                self.state.functions.push(Named { name: item, parameters: Vec::new(), source });
            }
            _ => return Some(self.bound(spec, name, given, input, span)),
        }
        Some(Value::nothing())
    }

    /// A copy holds what its source holds.
    pub(super) fn copied(&mut self, spec: &'static Spec, given: &[Given], taint: Taint) {
        let Some(from) = argument(spec, given, "-path") else { return };
        let to = argument(spec, given, "-destination");
        let to = to.or_else(|| argument(spec, given, "-destinationpath"));
        let Some(to) = to else { return };
        let cwd = self.judge.context().cwd;
        let to = windows_path::normalize(&to.string(), cwd).into_owned();
        let from = windows_path::normalize(&from.string(), cwd).into_owned();
        let flow = match self.judge.known_file(&from) {
            Some(flow) => flow,
            None if taint.has(Taint::SECRET) => Flow::unknown(taint),
            None => return,
        };
        let last = from.rsplit('/').next().unwrap_or_default();
        self.judge.written(&format!("{}/{last}", to.trim_end_matches('/')), false, &flow);
        self.judge.written(&to, false, &flow);
    }

    /// What a request sends: a file, or text that came from one.
    pub(super) fn uploaded(
        &mut self,
        spec: &'static Spec,
        given: &[Given],
        input: &Value,
        span: Span,
    ) {
        let mut taint = input.origins();
        for name in ["-body", "-form", "-headers"] {
            if let Some(value) = argument(spec, given, name) {
                taint = taint.and(value.origins());
            }
        }
        // A secret in the address leaves as well.
        if let Some(uri) = argument(spec, given, "-uri") {
            let from = uri.origins();
            taint =
                taint.and(if from.has(Taint::SECRET) { Taint::SECRET } else { Taint::default() });
        }
        if let Some(file) = argument(spec, given, "-infile") {
            taint = taint.and(Taint::FILE);
            let path =
                windows_path::normalize(&file.string(), self.judge.context().cwd).into_owned();
            let held = self.judge.known_file(&path).is_some_and(|f| f.taint.has(Taint::SECRET));
            if held || self.judge.class(Act::Read, &path).read >= Tier::Medium {
                taint = taint.and(Taint::SECRET);
            }
        }
        if taint.has(Taint::SECRET) || taint.has(Taint::FILE) {
            self.judge.sent(taint.has(Taint::SECRET), span);
        }
    }
}
