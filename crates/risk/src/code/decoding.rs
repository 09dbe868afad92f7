//! Functions of code that decode a text: base64, hexadecimal, character codes.

use crate::code::table::{Op, TAINT_DECODED};
use crate::code::text;
use crate::code::value::Value;
use countersign_text::decode;

/// The text that a decoding function returns.
pub(super) fn decoded<'a>(op: Op, text: Option<&str>, args: &[Value<'a>]) -> Option<Value<'a>> {
    let decoded = |t: String| Value::of_text(t, TAINT_DECODED);
    let readable = |bytes: Option<Vec<u8>>| bytes.and_then(decode::utf8).map(decoded);
    let first = args.first();
    match op {
        Op::Chr => text::from_codes(args.iter()).map(decoded),
        Op::Bytes => match first?.items() {
            [] => first.cloned(),
            items => text::from_codes(items.iter()).map(decoded).or_else(|| first.cloned()),
        },
        Op::Base64 => readable(decode::base64(text?)),
        Op::Hex => readable(decode::hex(text?)),
        Op::Unquote => readable(decode::percent(text?)),
        Op::Rot13 => match args.get(1).and_then(|v| v.text()) {
            Some("base64" | "base_64") => readable(decode::base64(text?)),
            Some("hex" | "hex_codec") => readable(decode::hex(text?)),
            _ => Some(decoded(decode::rot13(text?))),
        },
        Op::Buffer => match args.get(1).and_then(|v| v.text()) {
            Some("base64" | "base64url") => readable(decode::base64(text?)),
            Some("hex") => readable(decode::hex(text?)),
            _ => first.cloned(),
        },
        _ => None,
    }
}
