//! Methods of .NET whose result can be computed.

use super::run::Evaluator;
use super::value::{Kind, MAX_TEXT, PsValue, list_of};
use crate::finding::Span;
use crate::flow::Taint;
use countersign_text::decode;

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
    /// Static methods whose result is known; none for all others.
    pub(super) fn known_static(
        &mut self,
        kind: &str,
        name: &str,
        arguments: &[PsValue],
        taint: Taint,
        span: Span,
    ) -> Option<PsValue> {
        let first = || arguments.first().cloned().unwrap_or_default();
        let text = |at: usize| arguments.get(at).map(PsValue::string).unwrap_or_default();
        match (kind, name) {
            ("convert" | "int" | "int32" | "char", _) => {
                self.converted(kind, name, arguments, taint)
            }
            ("string", _) => joined_text(name, arguments, taint),
            ("scriptblock", "create") => Some(self.script_block_of(&first(), span)),
            ("environment", "getfolderpath") => Some(match special_folder(&text(0)) {
                Some(folder) => PsValue::text(folder),
                None => PsValue::unknown(taint),
            }),
            ("environment", "getenvironmentvariable") => {
                let name = format!("env:{}", text(0).to_ascii_lowercase());
                Some(self.variable(&name).unwrap_or_default())
            }
            ("io.path", "combine" | "join") => {
                let parts: Vec<String> = arguments.iter().map(PsValue::string).collect();
                Some(bounded(parts.join("/"), taint))
            }
            ("io.path", "gettemppath") => Some(PsValue::text("~/AppData/Local/Temp")),
            ("io.path", "getfullpath") => Some(first()),
            ("text.encoding", "getencoding") => {
                let wide = matches!(text(0).as_str(), "1200" | "utf-16" | "unicode");
                let name = if wide { "text.encoding.unicode" } else { "text.encoding.utf8" };
                Some(PsValue::of(Kind::Object(name.to_owned()), taint))
            }
            _ => None,
        }
    }

    /// Conversions between texts, numbers and bytes.
    fn converted(
        &mut self,
        kind: &str,
        name: &str,
        arguments: &[PsValue],
        taint: Taint,
    ) -> Option<PsValue> {
        let first = || arguments.first().cloned().unwrap_or_default();
        let text = |at: usize| arguments.get(at).map(PsValue::string).unwrap_or_default();
        match (kind, name) {
            ("convert", "frombase64string") => {
                let bytes = first().known().and_then(|t| decode::base64(&t));
                let taint = taint.and(Taint::DECODED);
                Some(match bytes {
                    Some(bytes) => PsValue::of(Kind::Bytes(bytes), taint),
                    None => PsValue::unknown(taint),
                })
            }
            ("convert" | "int" | "int32", "toint32" | "toint16" | "tobyte" | "parse") => {
                let (digits, radix) = (text(0), text(1).parse().unwrap_or(10));
                let number = (2..=36).contains(&radix).then(|| i64::from_str_radix(&digits, radix));
                Some(match number {
                    Some(Ok(number)) => PsValue::text(number.to_string()),
                    _ => PsValue::unknown(taint),
                })
            }
            ("convert", "tochar") | ("char", "convertfromutf32") => {
                Some(self.cast("char", first()))
            }
            _ => None,
        }
    }

    /// Methods of texts and bytes whose result is known; none for all others.
    pub(super) fn text_method(
        &mut self,
        base: &PsValue,
        name: &str,
        arguments: &[PsValue],
        taint: Taint,
    ) -> Option<PsValue> {
        if let (Kind::Object(kind), "getstring", Some(Kind::Bytes(bytes))) =
            (&base.kind, name, arguments.first().map(|a| &a.kind))
        {
            return Some(match text_in(kind, bytes) {
                Some(text) => PsValue::of(Kind::Text(text), taint),
                None => PsValue::unknown(taint),
            });
        }
        let text = base.known().filter(|_| matches!(base.kind, Kind::Text(_)))?;
        if let Some(text) = edited(&text, name, arguments) {
            return Some(bounded(text, taint));
        }
        match name {
            "tochararray" => Some(self.cast("char[]", PsValue::of(Kind::Text(text), taint))),
            "split" => {
                let by = arguments.first().and_then(PsValue::known)?;
                let parts = text.split(|c: char| by.contains(c));
                Some(list_of(parts, taint))
            }
            _ => None,
        }
    }
}

/// Bytes as text in the encoding that an object stands for.
fn text_in(encoding: &str, bytes: &[u8]) -> Option<String> {
    if encoding.ends_with("unicode") {
        decode::utf16(bytes).filter(|text| !text.contains('\0'))
    } else {
        decode::utf8_without_nul(bytes.to_vec())
    }
}

/// `[string]::Join` and `[string]::Concat`.
fn joined_text(name: &str, arguments: &[PsValue], taint: Taint) -> Option<PsValue> {
    match name {
        "join" => {
            let items: Vec<String> =
                arguments.iter().skip(1).flat_map(PsValue::items).map(|v| v.string()).collect();
            let between = arguments.first().map(PsValue::string).unwrap_or_default();
            if items.len().saturating_mul(between.len() + 1) > MAX_TEXT {
                return Some(PsValue::unknown(taint));
            }
            Some(bounded(items.join(&between), taint))
        }
        "concat" => {
            let items: Vec<String> =
                arguments.iter().flat_map(PsValue::items).map(|v| v.string()).collect();
            Some(bounded(items.concat(), taint))
        }
        _ => None,
    }
}

/// The text that a method of a text returns; none where that is not known.
fn edited(text: &str, name: &str, arguments: &[PsValue]) -> Option<String> {
    let at = |n: usize| arguments.get(n).and_then(PsValue::known);
    let number = |n: usize| at(n).and_then(|t| t.parse::<usize>().ok());
    match name {
        "tolower" | "tolowerinvariant" => Some(text.to_ascii_lowercase()),
        "toupper" | "toupperinvariant" => Some(text.to_ascii_uppercase()),
        "tostring" => Some(text.to_owned()),
        "trim" if arguments.is_empty() => Some(text.trim().to_owned()),
        "replace" => match (at(0), at(1)) {
            (Some(from), Some(to)) if !from.is_empty() => Some(text.replace(&from, &to)),
            _ => None,
        },
        "substring" => {
            let start = number(0)?;
            let length = number(1).unwrap_or(usize::MAX);
            Some(text.chars().skip(start).take(length).collect())
        }
        "insert" => {
            let (place, what) = (number(0)?, at(1)?);
            let mut out: String = text.chars().take(place).collect();
            out.push_str(&what);
            out.extend(text.chars().skip(place));
            Some(out)
        }
        "remove" => {
            let (start, count) = (number(0)?, number(1).unwrap_or(usize::MAX));
            let mut out: String = text.chars().take(start).collect();
            out.extend(text.chars().skip(start.saturating_add(count)));
            Some(out)
        }
        _ => None,
    }
}

/// A text, unknown where it is too long to be followed.
fn bounded(text: String, taint: Taint) -> PsValue {
    if text.len() > MAX_TEXT {
        return PsValue::unknown(taint);
    }
    PsValue::of(Kind::Text(text), taint)
}
