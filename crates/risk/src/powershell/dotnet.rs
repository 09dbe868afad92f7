//! .NET types and methods: described ones are held against rules, constants are computed.

use super::run::Evaluator;
use super::value::{Block, Kind, PsValue, type_name};
use crate::command_tables as tables;
use crate::finding::Span;
use crate::flow::{Flow, Taint};
use crate::paths::windows_path;
use crate::shell::CommandWord;
use crate::structural_findings;

/// How long a text may be to be taken apart into characters.
const MAX_CHARS: usize = 4096;

impl Evaluator<'_, '_, '_, '_> {
    /// `[type]value`.
    pub fn cast(&mut self, kind: &str, value: PsValue) -> PsValue {
        let taint = value.origins();
        match kind {
            "char" => match value.known().as_deref().and_then(code_point) {
                Some(c) => PsValue::of(Kind::Text(c.to_string()), taint),
                None => value,
            },
            "char[]" => {
                let items: Vec<PsValue> = match &value.kind {
                    Kind::Text(text) if text.len() > MAX_CHARS => return PsValue::unknown(taint),
                    Kind::Text(text) => {
                        text.chars().map(|c| PsValue::text(c.to_string())).collect()
                    }
                    _ => value
                        .items()
                        .iter()
                        .map(|v| match v.known().as_deref().and_then(code_point) {
                            Some(c) => PsValue::text(c.to_string()),
                            None => v.clone(),
                        })
                        .collect(),
                };
                PsValue::of(Kind::List(items), taint)
            }
            "string" => PsValue::of(Kind::Text(value.string()), taint),
            "scriptblock" => {
                let span = self.assessor.span(0, 0);
                self.script_block_of(&value, span)
            }
            "type" => PsValue::of(Kind::Type(type_name(&value.string())), taint),
            "wmiclass" | "wmi" | "adsi" | "adsisearcher" | "wmisearcher" => {
                PsValue::of(Kind::Object(kind.to_owned()), taint)
            }
            _ => value,
        }
    }

    /// A script block made from a text.
    pub(super) fn script_block_of(&mut self, value: &PsValue, span: Span) -> PsValue {
        let output = Box::new(self.run_text(value, span));
        let block = Block { source: value.string(), parameters: Vec::new(), output };
        PsValue::of(Kind::Block(block), value.origins())
    }

    /// `value.name( … )` or `[type]::name( … )`.
    pub fn call(
        &mut self,
        base: &PsValue,
        name: &str,
        is_static: bool,
        arguments: &[PsValue],
        span: Span,
    ) -> PsValue {
        let lower = name.to_ascii_lowercase();
        let mut taint = base.origins();
        for argument in arguments {
            taint = taint.and(argument.origins());
        }
        if let (true, Kind::Type(kind)) = (is_static, &base.kind) {
            let kind = kind.clone();
            return self.static_call(&kind, &lower, arguments, taint, span);
        }
        if is_static {
            // The type itself is only known at run time.
            self.unknown_call(span);
            return PsValue::unknown(taint);
        }
        let known = self
            .code_method(base, &lower, arguments, span)
            .or_else(|| self.text_method(base, &lower, arguments, taint));
        if let Some(value) = known {
            return value;
        }
        let program = format!(".{lower}");
        let flow = self.described_call(&program, base, arguments, span);
        if let Some(flow) = flow {
            PsValue::from_flow(flow.or(&Flow::unknown(taint)))
        } else {
            self.unknown_call(span);
            PsValue::unknown(taint)
        }
    }

    /// Methods that run a script block or a text; none for all others.
    fn code_method(
        &mut self,
        base: &PsValue,
        name: &str,
        arguments: &[PsValue],
        span: Span,
    ) -> Option<PsValue> {
        if let Kind::Block(block) = &base.kind
            && name.starts_with("invoke")
        {
            let block = block.clone();
            return Some(self.call_block(&block, &[], span));
        }
        match name {
            "invokescript" | "addscript" | "newscriptblock" => {
                let code = arguments.first().cloned().unwrap_or_default();
                Some(self.run_text(&code, span))
            }
            "foreach" | "where" => {
                let mut output = base.clone();
                for argument in arguments {
                    if let Kind::Block(block) = &argument.kind {
                        output = output.then((*block.output).clone());
                    }
                }
                Some(output)
            }
            _ => None,
        }
    }

    fn unknown_call(&mut self, span: Span) {
        self.assessor.report(&structural_findings::DOTNET_CALL, span);
    }

    /// Holds the rules against a call; none if it is not described.
    fn described_call(
        &mut self,
        program: &str,
        base: &PsValue,
        arguments: &[PsValue],
        span: Span,
    ) -> Option<Flow> {
        let (spec, ..) = tables::spec(program)?;
        let cwd = self.assessor.context().cwd;
        let mut words = vec![CommandWord::new(program, span)];
        if spec.input_paths {
            // A method of a file works on that file.
            for mut word in base.words(span, true) {
                word.text = windows_path::normalize(&word.text, cwd).into_owned();
                words.push(word);
            }
        }
        for argument in arguments {
            if let Kind::Bool(value) = argument.kind {
                words.push(CommandWord::new(if value { "-true" } else { "-false" }, span));
                continue;
            }
            for mut word in argument.words(span, false) {
                word.text = windows_path::normalize(&word.text, cwd).into_owned();
                if word.text.starts_with('-') {
                    word.text.insert_str(0, "./");
                }
                words.push(word);
            }
        }
        let stdin = Flow::unknown(base.origins());
        let flow = self.assessor.described(&words, &stdin, span);
        let sends = spec.effects.contains(&crate::effect::Effect::NetOut);
        let taint = words.iter().fold(base.origins().and(flow.taint), |t, w| t.and(w.taint));
        if sends && taint.has(Taint::SECRET) {
            self.assessor.sent(true, span);
        }
        Some(flow)
    }

    fn static_call(
        &mut self,
        kind: &str,
        name: &str,
        arguments: &[PsValue],
        taint: Taint,
        span: Span,
    ) -> PsValue {
        if let Some(value) = self.known_static(kind, name, arguments, taint, span) {
            return value;
        }
        let whole = format!("[{kind}]::{name}");
        let family = format!("[{kind}]::*");
        for program in [&whole, &family] {
            if let Some(flow) = self.described_call(program, &PsValue::nothing(), arguments, span) {
                if name == "new" {
                    return PsValue::of(Kind::Object(kind.to_owned()), taint);
                }
                return PsValue::from_flow(flow.or(&Flow::unknown(taint)));
            }
        }
        if name == "new" {
            // Making an object does nothing yet; its methods are looked at when they are called.
            return PsValue::of(Kind::Object(kind.to_owned()), taint);
        }
        self.unknown_call(span);
        PsValue::unknown(taint)
    }
}

/// A character by its number, decimal or hexadecimal, or by itself.
fn code_point(text: &str) -> Option<char> {
    let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    let mut chars = text.chars();
    match number {
        Some(number) => char::from_u32(number).filter(|c| *c != '\0'),
        None => chars.next().filter(|_| chars.next().is_none()),
    }
}
