//! What operators, attributes, subscripts and calls make of values.

use crate::code::decoding::decoded;
use crate::code::reader::Reader;
use crate::code::table::{Op, SIGN_FOREVER, TAINT_MANY, id};
use crate::code::token::K;
use crate::code::value::{HOLE, Shape, Text, Value};
use crate::code::{Language, text};
use crate::limit::Limit;

/// Functions that one call may mean.
const CALLEES: Limit = Limit::new("functions that a call may mean", 64);

impl<'a> Reader<'a, '_> {
    /// A call; gives what is known of its result.
    pub(super) fn call(
        &mut self,
        callee: &Value<'a>,
        args: &[Value<'a>],
        at: (u32, u32),
    ) -> Value<'a> {
        if let Some(value) = self.call_through(callee, args, at) {
            return value;
        }
        let taint = args.iter().fold(callee.taint, |t, a| t | a.taint);
        let mut node = callee.node;
        if node == 0 && self.lang == Language::Php {
            node = callee.whole().and_then(|name| self.table.dotted(name)).unwrap_or(0);
        }
        if node == 0 {
            return self.call_unknown(callee, args, taint, at);
        }
        let Some(entry) = self.table.node(node) else { return Value::unknown(taint) };
        for &rule in entry.calls {
            if let Some(rule) = self.table.rule(rule) {
                self.act(rule, callee, args, at);
            }
        }
        let made = self.operate(entry.op, callee, args, at);
        let is = if entry.is == 0 { self.table.child(node, "()").unwrap_or(0) } else { entry.is };
        let mut result = made.unwrap_or_default();
        let known = result.node != 0 || result.text.is_some() || result.items.is_some();
        if !known && entry.op == Op::None {
            if let Some(value) = text::method(callee.name, callee, args) {
                result = value;
            } else if is != 0 {
                result.text = args.first().and_then(|a| a.latest().text.clone());
            }
        }
        if result.node == 0 {
            result.node = is;
        }
        result.taint |= taint | entry.gives;
        result.at = at;
        result.key = "";
        result
    }

    /// A call of one of several functions, of the last of a list, or of a method named by a text.
    fn call_through(
        &mut self,
        callee: &Value<'a>,
        args: &[Value<'a>],
        at: (u32, u32),
    ) -> Option<Value<'a>> {
        let unnamed = callee.node == 0 && callee.name.is_empty();
        if callee.shape == Shape::AnyOf && (unnamed || callee.items().iter().any(|v| v.node != 0)) {
            return Some(self.call_any(callee, args, at));
        }
        // `(0, eval)(x)` calls the last of the list.
        if callee.shape == Shape::List
            && callee.node == 0
            && self.lang == Language::JavaScript
            && let Some(last) = callee.items().last().filter(|v| v.node != 0)
        {
            let last = last.clone();
            return Some(self.call(&last, args, at));
        }
        let sends = matches!(callee.name, "send" | "public_send" | "__send__");
        (self.lang == Language::Ruby && sends).then(|| self.sent(callee, args, at))
    }

    fn call_any(&mut self, callee: &Value<'a>, args: &[Value<'a>], at: (u32, u32)) -> Value<'a> {
        let mut result = Value::unknown(callee.taint);
        let mut choices: Vec<&Value<'a>> = callee.items().iter().collect();
        let whole = self.span((0, 0));
        CALLEES.cut(&mut choices, self.out, Some(whole));
        for choice in choices {
            let one = self.call(choice, args, at);
            result = result.or(one);
        }
        result
    }

    /// Ruby's `object.send(:name, …)`.
    fn sent(&mut self, callee: &Value<'a>, args: &[Value<'a>], at: (u32, u32)) -> Value<'a> {
        let Some((name, rest)) = args.split_first() else { return Value::default() };
        let word = name.latest().whole().unwrap_or(name.name);
        let own = if callee.node == 0 { None } else { self.table.child(callee.node, word) };
        let node = own.or_else(|| self.table.child(0, word)).unwrap_or(0);
        let target = Value { node, name: "", ..callee.clone() };
        self.call(&target, rest, at)
    }

    fn call_unknown(
        &mut self,
        callee: &Value<'a>,
        args: &[Value<'a>],
        taint: u32,
        at: (u32, u32),
    ) -> Value<'a> {
        let cost = callee.text().map_or(0, str::len);
        if (callee.text.is_some() || callee.items.is_some())
            && self.pay(cost)
            && let Some(value) = text::method(callee.name, callee, args)
        {
            return Value { at, taint: value.taint | taint, ..value };
        }
        if let Some(function) = self.funcs.get(&id(callee.name)) {
            let returns = function.returns.clone();
            if self.endless.is_some() && function.forks {
                self.signs |= SIGN_FOREVER;
            }
            let names = function.params.clone();
            for (name, arg) in names.iter().zip(args.iter().filter(|a| a.key.is_empty())) {
                self.bind_more(name, Value { key: "", ..arg.clone() });
            }
            for arg in args.iter().filter(|a| !a.key.is_empty()) {
                self.bind_more(arg.key, Value { key: "", ..arg.clone() });
            }
            return Value { taint: taint | returns.taint, key: "", ..returns };
        }
        // A function given to somebody who may call it.
        if let Some((first, rest)) = args.split_first() {
            let callable =
                first.node != 0 && self.table.node(first.node).is_some_and(|n| !n.calls.is_empty());
            if callable && !rest.is_empty() {
                return self.call(first, rest, at);
            }
        }
        self.unknown_call(callee.name, at);
        Value::unknown(taint & !TAINT_MANY)
    }

    fn operate(
        &mut self,
        op: Op,
        callee: &Value<'a>,
        args: &[Value<'a>],
        at: (u32, u32),
    ) -> Option<Value<'a>> {
        let first = args.first();
        let text = first.and_then(|v| v.latest().text());
        if !self.pay(text.map_or(0, str::len)) {
            return None;
        }
        match op {
            Op::None => None,
            Op::Import => {
                let name = text?.trim_start_matches("node:");
                Some(Value { node: self.table.dotted(name)?, ..Value::default() })
            }
            Op::Getattr => self.named_part(first?, args.get(1)?.latest().whole()?),
            Op::Globals => Some(Value { node: callee.node, ..Value::default() }),
            Op::Chr | Op::Bytes | Op::Base64 | Op::Hex | Op::Unquote | Op::Rot13 | Op::Buffer => {
                decoded(op, text, args)
            }
            Op::Same => first.cloned().map(|v| Value { node: 0, name: "", ..v }),
            Op::Join => {
                let mut pieces = args.to_vec();
                if callee.text.is_some() {
                    pieces.insert(0, callee.clone());
                }
                Some(self.joined(&pieces))
            }
            Op::Map => Some(self.mapped(args, at)),
            Op::Home => Some(Value::of_text("~".to_owned(), 0)),
            Op::Parent => Some(Value { node: 0, name: "", ..callee.clone() }),
            Op::Iter => {
                let from = if callee.text.is_some() { Some(callee) } else { first };
                from.map(|v| Value { node: 0, name: "", taint: TAINT_MANY, ..v.clone() })
            }
            Op::Call => {
                let target = Value::keyed(args, "target").or(first)?.clone();
                let keyed = Value::keyed(args, "args").map(|v| v.items().to_vec());
                let rest = keyed.unwrap_or_else(|| args.get(1..).unwrap_or_default().to_vec());
                Some(self.call(&target, &rest, at))
            }
            Op::Split => Some(Value::of_items(text::split(text?, None, 0), Shape::List)),
        }
    }

    /// `map(f, list)`.
    fn mapped(&mut self, args: &[Value<'a>], at: (u32, u32)) -> Value<'a> {
        let (Some(function), Some(list)) = (args.first(), args.get(1)) else {
            return Value::default();
        };
        let mut items = Vec::new();
        for item in list.items() {
            items.push(self.call(function, std::slice::from_ref(item), at));
        }
        if items.is_empty() {
            return self.call(function, std::slice::from_ref(&list.element()), at);
        }
        Value::of_items(items, Shape::List)
    }

    /// A text that is a command between backticks.
    pub(super) fn backticks(&mut self, value: &Value<'a>) {
        let node = self.table.child(0, "`").unwrap_or(0);
        let callee = Value { node, at: value.at, ..Value::default() };
        if node != 0 {
            drop(self.call(&callee, std::slice::from_ref(value), value.at));
        }
    }

    /// Something is read just by naming it.
    pub(super) fn read_of(&mut self, value: &Value<'a>) {
        let Some(entry) = self.table.node(value.node) else { return };
        if value.node == 0 || entry.reads.is_empty() || self.member {
            return;
        }
        // One entry of the environment is ordinary; all of it is not.
        let perl = self.lang == Language::Perl;
        if self.is(0, K::Dot) || self.opens(0, b'[') || (perl && self.opens(0, b'{')) {
            return;
        }
        for &rule in entry.reads {
            if let Some(rule) = self.table.rule(rule) {
                self.act(rule, value, &[], value.at);
            }
        }
    }

    /// `target[...] = value`, `a.b.c = value`.
    pub(super) fn assigned(&mut self, target: &Value<'a>, value: &Value<'a>) {
        let star = self.table.child(target.node, "=").unwrap_or(0);
        if target.node != 0 && star != 0 {
            let callee = Value { node: star, ..target.clone() };
            drop(self.call(&callee, std::slice::from_ref(value), target.at));
        } else if !target.name.is_empty() {
            let old = self.attrs.remove(&id(target.name)).unwrap_or_default();
            self.attrs.insert(id(target.name), old.or(Value { key: "", ..value.clone() }));
        }
    }
}

/// The words of a command line given as one value.
pub(super) fn words(value: &Value<'_>, into: &mut Vec<String>) {
    let push = |v: &Value<'_>, into: &mut Vec<String>| match v.latest().text.as_ref() {
        Some(text) => into.push(Text::as_str(text).replace(HOLE, "$_")),
        None => into.push("$_".to_owned()),
    };
    if value.shape == Shape::List {
        value.items().iter().for_each(|v| push(v, into));
    } else {
        push(value, into);
    }
}
