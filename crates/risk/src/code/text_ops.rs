//! Operators that put texts together.

use crate::code::reader::Reader;
use crate::code::table::SIGN_BIG;
use crate::code::text;
use crate::code::value::{HOLE, Shape, TAINT_LOST, TEXT, Value};

impl<'a> Reader<'a, '_> {
    /// Two texts one after the other; two lists likewise.
    pub(super) fn concat(&mut self, left: &Value<'a>, right: &Value<'a>) -> Value<'a> {
        let right = right.latest();
        let taint = left.taint | right.taint;
        if left.shape == Shape::List && right.shape == Shape::List {
            let items = left.items().iter().chain(right.items()).cloned().collect();
            return Value::of_items(items, Shape::List);
        }
        if left.text.is_none() && right.text.is_none() {
            let num = left.num.zip(right.num).and_then(|(a, b)| a.checked_add(b));
            return Value { num, ..Value::unknown(taint) };
        }
        let size = left.text().map_or(1, str::len) + right.text().map_or(1, str::len);
        if TEXT.check(size).is_err() || !self.pay(size) {
            return Value::unknown(taint | TAINT_LOST);
        }
        let mut out = String::with_capacity(size);
        for side in [left, right] {
            match side.text() {
                Some(text) => out.push_str(text),
                None => out.push(HOLE),
            }
        }
        let at = (left.at.0, right.at.1.max(left.at.1));
        Value { at, node: left.node, ..Value::of_text(out, taint) }
    }

    pub(super) fn formatted(&mut self, left: &Value<'a>, right: &Value<'a>) -> Value<'a> {
        let taint = left.taint | right.taint;
        let Some(text) = left.text() else { return Value::unknown(taint) };
        let args =
            if right.shape == Shape::List { right.items() } else { std::slice::from_ref(right) };
        let new = text::fill(text, args);
        if self.pay(new.len()) { Value::of_text(new, taint) } else { Value::unknown(taint) }
    }

    /// `path / "name"`.
    pub(super) fn slashed(&mut self, left: &Value<'a>, right: &Value<'a>) -> Value<'a> {
        if left.node == 0 {
            return Value::unknown(left.taint | right.taint);
        }
        let joined = self.joined(&[left.clone(), right.clone()]);
        Value { node: left.node, at: left.at, ..joined }
    }

    /// Path pieces; an absolute piece starts again, and `..` is resolved by the path reader.
    pub(super) fn joined(&mut self, pieces: &[Value<'a>]) -> Value<'a> {
        let (mut out, mut taint) = (String::new(), 0);
        for piece in pieces {
            taint |= piece.taint;
            let text = piece.latest().text().unwrap_or("\u{1a}");
            if text.starts_with('/') {
                out.clear();
            } else if !out.is_empty() && !out.ends_with('/') {
                out.push('/');
            }
            if TEXT.check(out.len() + text.len()).is_err() || !self.pay(text.len()) {
                return Value::unknown(taint | TAINT_LOST);
            }
            out.push_str(text);
        }
        Value::of_text(out, taint)
    }

    pub(super) fn times(&mut self, left: &Value<'a>, right: &Value<'a>, power: bool) -> Value<'a> {
        let taint = left.taint | right.taint;
        let num = left.num.zip(right.num).and_then(|(a, b)| {
            if power {
                u32::try_from(b).ok().and_then(|b| a.checked_pow(b))
            } else {
                a.checked_mul(b)
            }
        });
        let sequence = left.text.is_some() || left.shape == Shape::List;
        let huge = right.num.is_some_and(|n| n >= 1 << 30);
        if sequence && huge {
            self.signs |= SIGN_BIG;
        }
        let text = left.text.clone().filter(|_| right.num.is_some_and(|n| n < 1024));
        Value { num, text: text.filter(|_| left.num.is_none()), ..Value::unknown(taint) }
    }
}
