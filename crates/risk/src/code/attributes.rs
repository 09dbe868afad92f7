//! Attributes and elements of a value.

use crate::code::reader::Reader;
use crate::code::table::{Op, TAINT_ENV, id};
use crate::code::token::K;
use crate::code::value::{Shape, TEXT, Value, lost};

impl<'a> Reader<'a, '_> {
    /// `value.name`.
    pub(super) fn attribute(&mut self, value: Value<'a>, name: &'a str, end: u32) -> Value<'a> {
        if value.shape == Shape::AnyOf && value.node == 0 {
            let all = value.items().to_vec();
            let items = all.into_iter().map(|v| self.attribute(v, name, end)).collect();
            let any = Value::of_items(items, Shape::AnyOf);
            return Value { at: (value.at.0, end), name, taint: any.taint | value.taint, ..any };
        }
        let child = if value.node == 0 { None } else { self.table.child(value.node, name) };
        if child.is_none()
            && value.node == 0
            && let Some(field) = self.attrs.get(&id(name))
        {
            return Value { name, at: (value.at.0, end), ..field.clone() };
        }
        let any = || self.table.child(0, "*").and_then(|star| self.table.child(star, name));
        let node = child.or_else(any).unwrap_or(0);
        let module = matches!(
            name,
            "__dict__"
                | "__builtins__"
                | "default"
                | "prototype"
                | "send"
                | "public_send"
                | "__send__"
        );
        let node = if module && node == 0 { value.node } else { node };
        let at = if value.at.1 == 0 { (end, end) } else { (value.at.0, end) };
        let new = Value { node, name, at, ..value };
        self.read_of(&new);
        let gives = self.table.node(node).map_or(0, |n| if node == 0 { 0 } else { n.gives });
        let reading = self.table.node(node).is_some_and(|n| !n.reads.is_empty());
        Value { taint: new.taint | if reading { gives } else { 0 }, ..new }
    }

    /// `value[...]`; the bracket is open.
    pub(super) fn subscript(&mut self, value: &Value<'a>) -> Value<'a> {
        let reversed = self.is(0, K::Dot) && self.tok(1).is_some_and(|t| t.mark == b'-');
        let (keys, _) = self.list(b'[');
        if reversed {
            return Self::reversed(value);
        }
        let Some(key) = keys.first() else { return value.clone() };
        if let Some(name) = key.latest().whole() {
            if let Some(found) = self.named_part(value, name) {
                return found;
            }
            let entry = value.items().iter().find(|v| v.key == name && !name.is_empty());
            let taint = value.taint & !TAINT_ENV;
            return entry.cloned().unwrap_or_else(|| Value::unknown(taint));
        }
        if let Some(n) = key.num.and_then(|n| usize::try_from(n).ok())
            && let Some(item) = value.items().get(n)
        {
            return item.clone();
        }
        Value { node: value.node, at: value.at, ..value.element() }
    }

    fn reversed(value: &Value<'a>) -> Value<'a> {
        match value.latest().text() {
            Some(text) => {
                let cut = lost(TEXT.check(text.len()));
                Value::of_text(text.chars().rev().collect(), value.taint | cut)
            }
            None => value.clone(),
        }
    }

    /// A name given as text, on a module, on all names, or on nothing.
    pub(super) fn named_part(&self, value: &Value<'a>, name: &str) -> Option<Value<'a>> {
        let globals = self.table.node(value.node).is_some_and(|n| n.op == Op::Globals);
        if value.node != 0 && globals {
            if let Some(bound) = self.env.get(&id(name)) {
                return Some(bound.clone());
            }
            let node = self.table.dotted(name)?;
            return Some(Value { node, at: value.at, ..Value::default() });
        }
        let node = if value.node == 0 { None } else { self.table.child(value.node, name) };
        node.map(|node| Value { node, at: value.at, taint: value.taint, ..Value::default() })
    }
}
