//! Functions that decode a text: base64, hexadecimal, character codes.

use crate::code::table::{Op, TAINT_DECODED};
use crate::code::text;
use crate::code::value::Value;

/// The text that a decoding function returns.
pub(super) fn decoded<'a>(op: Op, text: Option<&str>, args: &[Value<'a>]) -> Option<Value<'a>> {
    let decoded = |t: String| Value::of_text(t, TAINT_DECODED);
    let first = args.first();
    match op {
        Op::Chr => text::from_codes(args.iter()).map(decoded),
        Op::Bytes => match first?.items() {
            [] => first.cloned(),
            items => text::from_codes(items.iter()).map(decoded).or_else(|| first.cloned()),
        },
        Op::Base64 => text::base64(text?).map(decoded),
        Op::Hex => text::hex(text?).map(decoded),
        Op::Unquote => text::unquote(text?).map(decoded),
        Op::Rot13 => match args.get(1).and_then(|v| v.text()) {
            Some("base64" | "base_64") => text::base64(text?).map(decoded),
            Some("hex" | "hex_codec") => text::hex(text?).map(decoded),
            _ => Some(decoded(text::rot13(text?))),
        },
        Op::Buffer => match args.get(1).and_then(|v| v.text()) {
            Some("base64" | "base64url") => text::base64(text?).map(decoded),
            Some("hex") => text::hex(text?).map(decoded),
            _ => first.cloned(),
        },
        _ => None,
    }
}
