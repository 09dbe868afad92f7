//! Cmdlets that list, read, write, copy or send files, and what they give.

use super::cmdlet_call::{CmdletCall, is_pattern};
use super::run::Evaluator;
use super::state::DefinedFunction;
use super::value::{Kind, PsValue};
use crate::flow::{Flow, Taint};
use crate::paths::{PathAction, windows_path};
use countersign_shell::UNKNOWN;
use countersign_types::tier::Tier;

impl Evaluator<'_, '_, '_, '_> {
    /// What a cmdlet gives that is more than its rules say, for those that list, read, write or
    /// send files.
    pub(super) fn followed_files(&mut self, call: CmdletCall<'_>) -> Option<PsValue> {
        match call.name.text.as_str() {
            "get-childitem" => {
                let mut output = self.bound(call);
                let path = call.argument("-path");
                let path = path.map_or_else(|| ".".to_owned(), |p| p.string());
                let path = windows_path::normalize(&path, self.assessor.context().cwd).into_owned();
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
                let path = call.argument("-path").unwrap_or_else(|| call.input.clone());
                let output = self.bound(call);
                Some(path.tainted(output.taint))
            }
            "get-command" | "get-alias" => {
                let wanted = call.argument("-name")?.string();
                Some(if is_pattern(&wanted) {
                    PsValue::unknown(Taint::default())
                } else {
                    PsValue::text(wanted)
                })
            }
            "get-content" => {
                let output = self.bound(call);
                let path = call.argument("-path").unwrap_or_else(|| call.input.clone());
                let path = path.string();
                let path = windows_path::normalize(&path, self.assessor.context().cwd).into_owned();
                let held = self.assessor.known_file(&path).map(PsValue::from_flow);
                Some(held.map_or(output.clone(), |v| v.tainted(output.taint)))
            }
            "set-content" | "add-content" | "out-file" | "tee-object" => {
                Some(self.write_content(call))
            }
            "set-item" | "new-item" => self.drive_item(call),
            _ => self.followed_objects(call),
        }
    }

    /// `Set-Content`, `Out-File` and their kin: what the file holds afterwards.
    fn write_content(&mut self, call: CmdletCall<'_>) -> PsValue {
        self.bound(call);
        let content = match call.name.text.as_str() {
            "set-content" | "add-content" => call.argument("-value"),
            _ => None,
        };
        let content = content.unwrap_or_else(|| call.input.clone());
        let append = call.name.text == "add-content" || call.has_switch("-append", 2);
        let path = call.argument("-path").unwrap_or_default();
        for word in path.words(call.span, true) {
            if windows_path::share_host(&word.text).is_some() {
                self.assessor.sent(content.origins().has(Taint::SECRET), call.span);
            }
            let text =
                windows_path::normalize(&word.text, self.assessor.context().cwd).into_owned();
            self.assessor.written(&text, append, &content.flow());
        }
        if call.name.text == "tee-object" {
            if let Some(variable) = call.argument("-variable") {
                let variable = variable.string().to_ascii_lowercase();
                self.set_variable(&variable, call.input.clone(), call.span);
            }
            return call.input.clone();
        }
        PsValue::nothing()
    }

    /// `Set-Item Env:X value`, `New-Item alias:x …`: items of drives that are not files.
    fn drive_item(&mut self, call: CmdletCall<'_>) -> Option<PsValue> {
        let path = call.argument("-path")?.string();
        let value = call.argument("-value").unwrap_or_default();
        let (drive, item) = path.split_once(':')?;
        let item = item.trim_start_matches([':', '\\', '/']).to_ascii_lowercase();
        match drive.to_ascii_lowercase().as_str() {
            "alias" => self.alias(item, value.string()),
            "env" => self.set_variable(&format!("env:{item}"), value, call.span),
            "variable" => self.set_variable(&item, value, call.span),
            "function" => {
                let source = value.string();
                self.run_text(&value, call.span);
                self.state.functions.push(DefinedFunction {
                    name: item,
                    parameters: Vec::new(),
                    source,
                });
            }
            _ => return Some(self.bound(call)),
        }
        Some(PsValue::nothing())
    }

    /// A copy holds what its source holds.
    pub(super) fn copied(&mut self, call: CmdletCall<'_>, taint: Taint) {
        let Some(from) = call.argument("-path") else { return };
        let to = call.argument("-destination");
        let to = to.or_else(|| call.argument("-destinationpath"));
        let Some(to) = to else { return };
        let cwd = self.assessor.context().cwd;
        let to = windows_path::normalize(&to.string(), cwd).into_owned();
        let from = windows_path::normalize(&from.string(), cwd).into_owned();
        let flow = match self.assessor.known_file(&from) {
            Some(flow) => flow,
            None if taint.has(Taint::SECRET) => Flow::unknown(taint),
            None => return,
        };
        let last = from.rsplit('/').next().unwrap_or_default();
        self.assessor.written(&format!("{}/{last}", to.trim_end_matches('/')), false, &flow);
        self.assessor.written(&to, false, &flow);
    }

    /// What a request sends: a file, or text that came from one.
    pub(super) fn uploaded(&mut self, call: CmdletCall<'_>) {
        let mut taint = call.input.origins();
        for name in ["-body", "-form", "-headers"] {
            if let Some(value) = call.argument(name) {
                taint = taint.and(value.origins());
            }
        }
        // A secret in the address leaves as well.
        if let Some(uri) = call.argument("-uri") {
            let from = uri.origins();
            taint =
                taint.and(if from.has(Taint::SECRET) { Taint::SECRET } else { Taint::default() });
        }
        if let Some(file) = call.argument("-infile") {
            taint = taint.and(Taint::FILE);
            let path =
                windows_path::normalize(&file.string(), self.assessor.context().cwd).into_owned();
            let held = self.assessor.known_file(&path).is_some_and(|f| f.taint.has(Taint::SECRET));
            if held || self.assessor.class(PathAction::Read, &path).read >= Tier::Medium {
                taint = taint.and(Taint::SECRET);
            }
        }
        if taint.has(Taint::SECRET) || taint.has(Taint::FILE) {
            self.assessor.sent(taint.has(Taint::SECRET), call.span);
        }
    }
}
