//! .NET types and methods: described ones are held against rules, constants are computed.

use super::run::Evaluator;
use super::value::{Block, Kind, MAX_TEXT, Value, list_of, type_name};
use crate::command_tables as tables;
use crate::finding::Span;
use crate::flow::{Flow, Taint, base64_bytes};
use crate::paths::windows_path;
use crate::shell::CommandWord;
use crate::structural_findings;

/// How long a text may be to be taken apart into characters.
const MAX_CHARS: usize = 4096;

/// A folder that .NET knows by name.
fn special_folder(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "startup" => "~/AppData/Roaming/Microsoft/Windows/Start Menu/Programs/Startup",
        "commonstartup" => "C:/ProgramData/Microsoft/Windows/Start Menu/Programs/Startup",
        "applicationdata" => "~/AppData/Roaming",
        "localapplicationdata" => "~/AppData/Local",
        "userprofile" => "~",
        "mydocuments" | "personal" => "~/Documents",
        "desktop" | "desktopdirectory" => "~/Desktop",
        "windows" => "C:/Windows",
        "system" | "systemx86" => "C:/Windows/System32",
        "programfiles" => "C:/Program Files",
        "commonapplicationdata" => "C:/ProgramData",
        _ => return None,
    })
}

impl Evaluator<'_, '_, '_, '_> {
    /// `[type]value`.
    pub fn cast(&mut self, kind: &str, value: Value) -> Value {
        let taint = value.origins();
        match kind {
            "char" => match value.known().as_deref().and_then(code_point) {
                Some(c) => Value::of(Kind::Text(c.to_string()), taint),
                None => value,
            },
            "char[]" => {
                let items: Vec<Value> = match &value.kind {
                    Kind::Text(text) if text.len() > MAX_CHARS => return Value::unknown(taint),
                    Kind::Text(text) => text.chars().map(|c| Value::text(c.to_string())).collect(),
                    _ => value
                        .items()
                        .iter()
                        .map(|v| match v.known().as_deref().and_then(code_point) {
                            Some(c) => Value::text(c.to_string()),
                            None => v.clone(),
                        })
                        .collect(),
                };
                Value::of(Kind::List(items), taint)
            }
            "string" => Value::of(Kind::Text(value.string()), taint),
            "scriptblock" => {
                let span = self.judge.span(0, 0);
                self.script_block_of(&value, span)
            }
            "type" => Value::of(Kind::Type(type_name(&value.string())), taint),
            "wmiclass" | "wmi" | "adsi" | "adsisearcher" | "wmisearcher" => {
                Value::of(Kind::Object(kind.to_owned()), taint)
            }
            _ => value,
        }
    }

    /// A script block made from a text.
    fn script_block_of(&mut self, value: &Value, span: Span) -> Value {
        let output = Box::new(self.run_text(value, span));
        let block = Block { source: value.string(), parameters: Vec::new(), output };
        Value::of(Kind::Block(block), value.origins())
    }

    /// `value.name( … )` or `[type]::name( … )`.
    pub fn call(
        &mut self,
        base: &Value,
        name: &str,
        is_static: bool,
        arguments: &[Value],
        span: Span,
    ) -> Value {
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
            return Value::unknown(taint);
        }
        if let Kind::Block(block) = &base.kind
            && lower.starts_with("invoke")
        {
            let block = block.clone();
            return self.call_block(&block, &[], span);
        }
        if matches!(lower.as_str(), "invokescript" | "addscript" | "newscriptblock") {
            let code = arguments.first().cloned().unwrap_or_default();
            return self.run_text(&code, span);
        }
        if matches!(lower.as_str(), "foreach" | "where") {
            let mut output = base.clone();
            for argument in arguments {
                if let Kind::Block(block) = &argument.kind {
                    output = output.then((*block.output).clone());
                }
            }
            return output;
        }
        if let Some(value) = self.text_method(base, &lower, arguments, taint) {
            return value;
        }
        let program = format!(".{lower}");
        let flow = self.described_call(&program, base, arguments, span);
        if let Some(flow) = flow {
            Value::from_flow(flow.or(&Flow::unknown(taint)))
        } else {
            self.unknown_call(span);
            Value::unknown(taint)
        }
    }

    fn unknown_call(&mut self, span: Span) {
        self.judge.report(&structural_findings::DOTNET_CALL, span);
    }

    /// Holds the rules against a call; none if it is not described.
    fn described_call(
        &mut self,
        program: &str,
        base: &Value,
        arguments: &[Value],
        span: Span,
    ) -> Option<Flow> {
        let (spec, ..) = tables::spec(program)?;
        let cwd = self.judge.context().cwd;
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
        let flow = self.judge.described(&words, &stdin, span);
        let sends = spec.effects.contains(&crate::effect::Effect::NetOut);
        let taint = words.iter().fold(base.origins().and(flow.taint), |t, w| t.and(w.taint));
        if sends && taint.has(Taint::SECRET) {
            self.judge.sent(true, span);
        }
        Some(flow)
    }

    fn static_call(
        &mut self,
        kind: &str,
        name: &str,
        arguments: &[Value],
        taint: Taint,
        span: Span,
    ) -> Value {
        if let Some(value) = self.known_static(kind, name, arguments, taint, span) {
            return value;
        }
        let whole = format!("[{kind}]::{name}");
        let family = format!("[{kind}]::*");
        for program in [&whole, &family] {
            if let Some(flow) = self.described_call(program, &Value::nothing(), arguments, span) {
                if name == "new" {
                    return Value::of(Kind::Object(kind.to_owned()), taint);
                }
                return Value::from_flow(flow.or(&Flow::unknown(taint)));
            }
        }
        if name == "new" {
            // Making an object does nothing yet; its methods are looked at when they are called.
            return Value::of(Kind::Object(kind.to_owned()), taint);
        }
        self.unknown_call(span);
        Value::unknown(taint)
    }

    /// Static methods whose result is known; none for all others.
    fn known_static(
        &mut self,
        kind: &str,
        name: &str,
        arguments: &[Value],
        taint: Taint,
        span: Span,
    ) -> Option<Value> {
        let first = || arguments.first().cloned().unwrap_or_default();
        let text = |at: usize| arguments.get(at).map(Value::string).unwrap_or_default();
        match (kind, name) {
            ("convert", "frombase64string") => {
                let bytes = first().known().and_then(|t| base64_bytes(&t));
                let taint = taint.and(Taint::DECODED);
                Some(match bytes {
                    Some(bytes) => Value::of(Kind::Bytes(bytes), taint),
                    None => Value::unknown(taint),
                })
            }
            ("convert" | "int" | "int32", "toint32" | "toint16" | "tobyte" | "parse") => {
                let (digits, radix) = (text(0), text(1).parse().unwrap_or(10));
                let number = (2..=36).contains(&radix).then(|| i64::from_str_radix(&digits, radix));
                Some(match number {
                    Some(Ok(number)) => Value::text(number.to_string()),
                    _ => Value::unknown(taint),
                })
            }
            ("convert", "tochar") | ("char", "convertfromutf32") => {
                Some(self.cast("char", first()))
            }
            ("string", "join") => {
                let items: Vec<String> =
                    arguments.iter().skip(1).flat_map(Value::items).map(|v| v.string()).collect();
                let between = text(0);
                if items.len().saturating_mul(between.len() + 1) > MAX_TEXT {
                    return Some(Value::unknown(taint));
                }
                Some(bounded(items.join(&between), taint))
            }
            ("string", "concat") => {
                let items: Vec<String> =
                    arguments.iter().flat_map(Value::items).map(|v| v.string()).collect();
                Some(bounded(items.concat(), taint))
            }
            ("scriptblock", "create") => Some(self.script_block_of(&first(), span)),
            ("environment", "getfolderpath") => Some(match special_folder(&text(0)) {
                Some(folder) => Value::text(folder),
                None => Value::unknown(taint),
            }),
            ("environment", "getenvironmentvariable") => {
                let name = format!("env:{}", text(0).to_ascii_lowercase());
                Some(self.variable(&name).unwrap_or_default())
            }
            ("io.path", "combine" | "join") => {
                let parts: Vec<String> = arguments.iter().map(Value::string).collect();
                Some(bounded(parts.join("/"), taint))
            }
            ("io.path", "gettemppath") => Some(Value::text("~/AppData/Local/Temp")),
            ("io.path", "getfullpath") => Some(first()),
            ("text.encoding", "getencoding") => {
                let wide = matches!(text(0).as_str(), "1200" | "utf-16" | "unicode");
                let name = if wide { "text.encoding.unicode" } else { "text.encoding.utf8" };
                Some(Value::of(Kind::Object(name.to_owned()), taint))
            }
            _ => None,
        }
    }

    /// Methods of texts and bytes whose result is known; none for all others.
    fn text_method(
        &mut self,
        base: &Value,
        name: &str,
        arguments: &[Value],
        taint: Taint,
    ) -> Option<Value> {
        if let (Kind::Object(kind), "getstring", Some(Kind::Bytes(bytes))) =
            (&base.kind, name, arguments.first().map(|a| &a.kind))
        {
            return Some(match decode(kind, bytes) {
                Some(text) => Value::of(Kind::Text(text), taint),
                None => Value::unknown(taint),
            });
        }
        let text = base.known().filter(|_| matches!(base.kind, Kind::Text(_)))?;
        let at = |n: usize| arguments.get(n).and_then(Value::known);
        let number = |n: usize| at(n).and_then(|t| t.parse::<usize>().ok());
        let made = |text: String| {
            let fits = text.len() <= MAX_TEXT;
            Some(if fits { Value::of(Kind::Text(text), taint) } else { Value::unknown(taint) })
        };
        match name {
            "tolower" | "tolowerinvariant" => made(text.to_ascii_lowercase()),
            "toupper" | "toupperinvariant" => made(text.to_ascii_uppercase()),
            "tostring" => made(text),
            "trim" if arguments.is_empty() => made(text.trim().to_owned()),
            "replace" => match (at(0), at(1)) {
                (Some(from), Some(to)) if !from.is_empty() => made(text.replace(&from, &to)),
                _ => None,
            },
            "substring" => {
                let start = number(0)?;
                let length = number(1).unwrap_or(usize::MAX);
                made(text.chars().skip(start).take(length).collect())
            }
            "insert" => {
                let (place, what) = (number(0)?, at(1)?);
                let mut out: String = text.chars().take(place).collect();
                out.push_str(&what);
                out.extend(text.chars().skip(place));
                made(out)
            }
            "remove" => {
                let (start, count) = (number(0)?, number(1).unwrap_or(usize::MAX));
                let mut out: String = text.chars().take(start).collect();
                out.extend(text.chars().skip(start.saturating_add(count)));
                made(out)
            }
            "tochararray" => Some(self.cast("char[]", Value::of(Kind::Text(text), taint))),
            "split" => {
                let by = at(0)?;
                let parts = text.split(|c: char| by.contains(c));
                Some(list_of(parts, taint))
            }
            _ => None,
        }
    }
}

/// A text, unknown where it is too long to be followed.
fn bounded(text: String, taint: Taint) -> Value {
    if text.len() > MAX_TEXT {
        return Value::unknown(taint);
    }
    Value::of(Kind::Text(text), taint)
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

/// Bytes as text in the encoding that an object stands for.
fn decode(encoding: &str, bytes: &[u8]) -> Option<String> {
    let text = if encoding.ends_with("unicode") {
        utf16(bytes)?
    } else {
        String::from_utf8(bytes.to_vec()).ok()?
    };
    (!text.contains('\0')).then_some(text)
}

/// UTF-16 as Windows writes it.
pub fn utf16(bytes: &[u8]) -> Option<String> {
    let units: Vec<u16> = bytes
        .chunks_exact(2)
        .filter_map(|pair| Some(u16::from_le_bytes([*pair.first()?, *pair.get(1)?])))
        .collect();
    let text = String::from_utf16(&units).ok()?;
    Some(text.trim_start_matches('\u{feff}').to_owned())
}
