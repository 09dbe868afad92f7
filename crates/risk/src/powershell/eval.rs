//! Expressions: constants are computed as far as they are known.

use std::borrow::Cow;

use super::run::{Evaluator, plain_name};
use super::value::{Block, Kind, MAX_ITEMS, MAX_TEXT, Value, list_of, type_name};
use crate::flow::Taint;
use crate::paths::windows_path;
use countersign_shell::UNKNOWN;
use countersign_shell::powershell::ast::{PsAccess, PsExpr, PsStatement};

/// How many bytes of text one call may make.
const MAX_MADE: usize = 1024 * 1024;

impl Evaluator<'_, '_, '_, '_> {
    /// The value of an expression; commands inside it are judged on the way.
    pub fn value(&mut self, expr: &PsExpr<'_>) -> Value {
        match expr {
            PsExpr::Text { text, .. } => Value::text(text.as_ref()),
            PsExpr::Number(number) => Value::text(*number),
            PsExpr::Pieces { pieces, .. } => self.pieces(pieces),
            PsExpr::Variable(name) => {
                let name = name.to_ascii_lowercase();
                self.variable(&name).unwrap_or_else(|| Value::unknown(Taint::default()))
            }
            PsExpr::Statements(list) => self.statements(list),
            PsExpr::Table(members) => self.table(members),
            PsExpr::Block(block) => {
                let output = self.maybe(|e| e.statements(&block.body));
                let parameters = block.parameters.iter().map(|p| p.to_ascii_lowercase()).collect();
                let (source, output) = (block.source.to_owned(), Box::new(output));
                let block = Block { source, parameters, output };
                Value::of(Kind::Block(block), Taint::default())
            }
            PsExpr::Type(name) => Value::of(Kind::Type(type_name(name)), Taint::default()),
            PsExpr::Cast(name, inner) => {
                let value = self.value(inner);
                self.cast(&type_name(name), value)
            }
            PsExpr::Unary(operator, inner) => {
                let value = self.value(inner);
                self.unary(operator, value)
            }
            PsExpr::Binary(first, rest) => self.binary(first, rest),
            PsExpr::List(list) => {
                let mut items = Vec::new();
                let mut taint = Taint::default();
                if list.len() > MAX_ITEMS {
                    let span = self.judge.span(0, 0);
                    self.not_read(span);
                }
                for expr in list.iter().take(MAX_ITEMS) {
                    let value = self.value(expr);
                    taint = taint.and(value.taint);
                    items.push(value);
                }
                Value::of(Kind::List(items), taint)
            }
            PsExpr::Postfix(base, steps) => self.postfix(base, steps, false),
        }
    }

    /// Text that was made is counted, so that doubling ends.
    fn made(&mut self, text: String, taint: Taint) -> Value {
        self.state.made += text.len();
        if text.len() > MAX_TEXT || self.state.made > MAX_MADE {
            return Value::unknown(taint);
        }
        Value::of(Kind::Text(text), taint)
    }

    fn pieces(&mut self, pieces: &[PsExpr<'_>]) -> Value {
        let mut text = String::new();
        let mut taint = Taint::default();
        let mut place = None;
        for (at, piece) in pieces.iter().enumerate() {
            let value = self.value(piece);
            taint = taint.and(value.origins());
            if at == 0 {
                place.clone_from(&value.place);
            }
            text.push_str(&value.string());
            if text.len() > MAX_TEXT {
                return Value::unknown(taint);
            }
        }
        let mut value = self.made(text, taint);
        value.place = place.filter(|_| pieces.len() == 1);
        value
    }

    fn table(&mut self, members: &[(PsExpr<'_>, PsStatement<'_>)]) -> Value {
        let mut table = Vec::new();
        for (key, value) in members {
            let key = self.value(key).string().to_ascii_lowercase();
            let value = self.statement(value);
            if table.len() < MAX_ITEMS {
                table.push((key, value));
            }
        }
        Value::of(Kind::Table(table), Taint::default())
    }

    /// A variable by its name in lower case.
    pub fn variable(&mut self, name: &str) -> Option<Value> {
        let plain = plain_name(name);
        if let Some(value) = self.state.get(plain) {
            return Some(value);
        }
        if let Some(variable) = plain.strip_prefix("env:") {
            let taint = if is_secret_name(variable) { Taint::SECRET } else { Taint::default() };
            return Some(match windows_path::environment(variable) {
                Some(known) => Value::text(known),
                None => Value::unknown(taint),
            });
        }
        Some(match plain {
            "home" | "env:home" => Value::text("~"),
            "null" => Value::nothing(),
            "true" => Value::of(Kind::Bool(true), Taint::default()),
            "false" => Value::of(Kind::Bool(false), Taint::default()),
            "pwd" | "psscriptroot" => Value::text("."),
            "pshome" => Value::text("C:/Windows/System32/WindowsPowerShell/v1.0"),
            "profile" => Value::text(PROFILE),
            "args" | "input" => Value::unknown(Taint::default()),
            // Characters of these spell commands in hidden texts: `$pshome[4]`.
            "shellid" => Value::text("Microsoft.PowerShell"),
            "verbosepreference" => Value::text("SilentlyContinue"),
            _ => return None,
        })
    }

    fn unary(&mut self, operator: &str, value: Value) -> Value {
        match operator {
            "join" => {
                let items: Vec<String> = value.items().iter().map(Value::string).collect();
                let taint = value.origins();
                self.made(items.concat(), taint)
            }
            "split" => match value.known() {
                Some(text) => list_of(text.split_whitespace(), value.origins()),
                None => value,
            },
            "+" => value,
            "not" | "bnot" => Value::unknown(Taint::default()),
            "-" => match value.known() {
                Some(number) => Value::text(format!("-{number}")),
                None => value,
            },
            _ => Value::unknown(value.origins()),
        }
    }

    /// `a + b`.
    pub fn add(&mut self, a: Value, b: Value) -> Value {
        match (&a.kind, &b.kind) {
            (Kind::List(_), _) | (_, Kind::List(_)) => a.then(b),
            (Kind::Nothing, _) => b,
            (Kind::Table(_) | Kind::Object(_), _) => a.tainted(b.origins()),
            _ => {
                let taint = a.origins().and(b.origins());
                let (left, right) = (a.string(), b.string());
                // The sum of two numbers is not their texts; neither names anything.
                self.made(format!("{left}{right}"), taint)
            }
        }
    }

    /// Operators by precedence: `-f`, `..`, `*`, `+`, then all others from the left.
    fn binary(&mut self, first: &PsExpr<'_>, rest: &[(Cow<'_, str>, PsExpr<'_>)]) -> Value {
        let mut values = vec![self.value(first)];
        let mut operators: Vec<&str> = Vec::new();
        for (operator, expr) in rest {
            operators.push(operator);
            let value = self.value(expr);
            values.push(value);
        }
        for level in [&["f"][..], &[".."], &["*", "/", "%"], &["+", "-"], &[]] {
            let mut done: Vec<Value> = Vec::with_capacity(values.len());
            let mut left: Vec<&str> = Vec::new();
            let mut values_left = values.into_iter();
            done.extend(values_left.next());
            for (operator, right) in operators.iter().zip(values_left) {
                let here = level.is_empty() || level.contains(operator);
                let left_value = if here { done.pop() } else { None };
                if let Some(value) = left_value {
                    let value = self.operate(operator, value, right);
                    done.push(value);
                } else {
                    left.push(operator);
                    done.push(right);
                }
            }
            values = done;
            operators = left;
            if operators.is_empty() {
                break;
            }
        }
        values.pop().unwrap_or_default()
    }

    fn operate(&mut self, operator: &str, a: Value, b: Value) -> Value {
        let taint = a.origins().and(b.origins());
        match operator {
            "+" => self.add(a, b),
            "f" => {
                let items = b.items();
                let text = a.known().and_then(|format| formatted(&format, &items));
                match text {
                    Some(text) => self.made(text, taint),
                    None => Value::unknown(taint),
                }
            }
            "join" => {
                let items: Vec<String> = a.items().iter().map(Value::string).collect();
                let between = b.string();
                let size =
                    items.iter().map(String::len).sum::<usize>() + between.len() * items.len();
                if size > MAX_TEXT {
                    return Value::unknown(taint);
                }
                self.made(items.join(&between), taint)
            }
            "split" | "csplit" => match (a.known(), b.known()) {
                (Some(text), Some(by)) if is_literal(&by) && !by.is_empty() => {
                    list_of(text.split(by.as_str()), taint)
                }
                _ => Value::unknown(taint),
            },
            "replace" | "creplace" => {
                let items = b.items();
                let by = |at: usize| items.get(at).map_or(Some(String::new()), Value::known);
                match (a.known(), by(0), by(1)) {
                    (Some(text), Some(from), Some(to))
                        if is_literal(&from) && !from.is_empty() && !to.contains('$') =>
                    {
                        let text = replaced(&text, &from, &to);
                        self.made(text, taint)
                    }
                    (Some(text), Some(from), Some(to)) if from == "\\\\" => {
                        self.made(text.replace('\\', &to), taint)
                    }
                    _ => Value { place: a.place.clone(), ..Value::unknown(taint) },
                }
            }
            ".." => match (a.known(), b.known()) {
                (Some(from), Some(to)) => range(&from, &to, taint),
                _ => Value::unknown(taint),
            },
            "*" => match (a.known(), b.known().and_then(|n| n.parse::<usize>().ok())) {
                (Some(text), Some(times)) if text.len().saturating_mul(times) <= MAX_TEXT => {
                    self.made(text.repeat(times), taint)
                }
                _ => Value::unknown(taint),
            },
            // The second of two values where the first is none: both are possible.
            "??" | "?:" => a.then(b),
            "as" => a,
            "and" | "or" | "xor" | "eq" | "ne" | "gt" | "ge" | "lt" | "le" | "like" | "notlike"
            | "notmatch" | "contains" | "notcontains" | "in" | "notin" | "is" | "isnot" => {
                Value::unknown(Taint::default())
            }
            // On a list, `-match` gives the items that fit.
            _ => Value { place: a.place.clone(), ..Value::unknown(taint) },
        }
    }

    /// `base.member( … )[0]`; `stored` where the last member gets a value.
    pub fn postfix(&mut self, base: &PsExpr<'_>, steps: &[PsAccess<'_>], stored: bool) -> Value {
        let mut value = self.value(base);
        for (at, step) in steps.iter().enumerate() {
            value = match step {
                PsAccess::Index(index) => {
                    let index = self.value(index);
                    index_of(&value, &index)
                }
                PsAccess::Member { name, is_static, arguments, start, end } => {
                    let span = self.judge.span(*start, *end);
                    let name = self.value(name);
                    let arguments = arguments.as_ref().map(|list| {
                        list.iter().map(|argument| self.value(argument)).collect::<Vec<_>>()
                    });
                    let last = stored && at + 1 == steps.len();
                    match arguments {
                        Some(arguments) => {
                            self.call(&value, &name.string(), *is_static, &arguments, span)
                        }
                        None if last => value,
                        None => member_of(&value, &name.string()),
                    }
                }
            };
        }
        value
    }
}

/// The file that PowerShell runs whenever it starts.
pub const PROFILE: &str = "~/Documents/PowerShell/Microsoft.PowerShell_profile.ps1";

/// Members of files, paths and texts that are the same thing again.
fn is_path_member(name: &str) -> bool {
    matches!(
        name,
        "fullname"
            | "name"
            | "path"
            | "pspath"
            | "value"
            | "content"
            | "line"
            | "basename"
            | "directoryname"
            | "directory"
            | "providerpath"
            | "source"
            | "definition"
            | "currentuserallhosts"
            | "alluserscurrenthost"
            | "allusersallhosts"
            | "currentusercurrenthost"
            | "rawcontent"
    )
}

/// Variables that by their name hold a password, key or token.
fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["secret", "password", "passwd", "token", "api_key", "apikey", "private_key", "access_key"]
        .iter()
        .any(|sign| name.contains(sign))
}

/// Whether a regular expression stands for its own text.
fn is_literal(pattern: &str) -> bool {
    !pattern.contains(['\\', '^', '$', '.', '|', '?', '*', '+', '(', ')', '[', '{'])
}

/// Replaces without regard to case, as `-replace` does.
fn replaced(text: &str, from: &str, to: &str) -> String {
    if !text.is_ascii() || !from.is_ascii() {
        return text.replace(from, to);
    }
    let (lower, from) = (text.to_ascii_lowercase(), from.to_ascii_lowercase());
    let mut out = String::new();
    let mut at = 0;
    while let Some(found) = lower.get(at..).and_then(|rest| rest.find(&from)) {
        out.push_str(text.get(at..at + found).unwrap_or_default());
        out.push_str(to);
        at += found + from.len();
        if out.len() > MAX_TEXT {
            return UNKNOWN.to_string();
        }
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

fn range(from: &str, to: &str, taint: Taint) -> Value {
    let (Ok(from), Ok(to)) = (from.parse::<i64>(), to.parse::<i64>()) else {
        return Value::unknown(taint);
    };
    let short = usize::try_from(from.abs_diff(to)).is_ok_and(|n| n < MAX_ITEMS);
    if !short {
        return Value::unknown(taint);
    }
    let number = |n: i64| Value::text(n.to_string());
    let items: Vec<Value> = if from <= to {
        (from..=to).map(number).collect()
    } else {
        (to..=from).rev().map(number).collect()
    };
    Value::of(Kind::List(items), taint)
}

/// `"{1}{0}" -f a, b`; unknown parts stay unknown.
fn formatted(format: &str, items: &[Value]) -> Option<String> {
    let mut out = String::new();
    let mut rest = format;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(rest.get(..at)?);
        let brace = rest.get(at..=at)?;
        rest = rest.get(at + 1..)?;
        if rest.starts_with(brace) {
            out.push_str(brace);
            rest = rest.get(1..)?;
            continue;
        }
        if brace == "}" {
            return None;
        }
        let end = rest.find('}')?;
        let inside = rest.get(..end)?;
        let number = inside.split([',', ':']).next()?.trim();
        out.push_str(
            &items.get(number.parse::<usize>().ok()?).map(Value::string).unwrap_or_default(),
        );
        rest = rest.get(end + 1..)?;
        if out.len() > MAX_TEXT {
            return None;
        }
    }
    out.push_str(rest);
    Some(out)
}

/// `value[index]`.
fn index_of(value: &Value, index: &Value) -> Value {
    let taint = value.origins();
    let numbers: Option<Vec<i64>> =
        index.items().iter().map(|i| i.known().and_then(|n| n.parse().ok())).collect();
    if let (Kind::Table(members), Some(key)) = (&value.kind, index.known()) {
        let key = key.to_ascii_lowercase();
        let found = members.iter().find(|(name, _)| *name == key);
        return found.map_or_else(Value::nothing, |(_, value)| value.clone());
    }
    let Some(numbers) = numbers.filter(|n| n.len() <= MAX_ITEMS) else {
        // Any of its items.
        return Value { place: value.place.clone(), ..value.clone() };
    };
    let pick = |count: usize, n: i64| {
        let at = if n < 0 { i64::try_from(count).unwrap_or(0) + n } else { n };
        usize::try_from(at).ok().filter(|at| *at < count)
    };
    let mut picked = Vec::new();
    match &value.kind {
        Kind::List(list) => {
            for n in numbers {
                picked.extend(pick(list.len(), n).and_then(|at| list.get(at)).cloned());
            }
        }
        Kind::Text(text) if !text.contains(UNKNOWN) && text.len() <= MAX_TEXT => {
            let chars: Vec<char> = text.chars().collect();
            for n in numbers {
                let found = pick(chars.len(), n).and_then(|at| chars.get(at));
                picked.extend(found.map(|c| Value::text(c.to_string())));
            }
        }
        _ => return Value { place: value.place.clone(), ..Value::unknown(taint) },
    }
    match picked.len() {
        1 => picked.pop().unwrap_or_default().tainted(taint),
        _ => Value::of(Kind::List(picked), taint),
    }
}

/// `value.name` without arguments.
fn member_of(value: &Value, name: &str) -> Value {
    let name = name.to_ascii_lowercase();
    let taint = value.origins();
    match &value.kind {
        Kind::Table(members) => match members.iter().find(|(n, _)| *n == name) {
            Some((_, value)) => value.clone(),
            None => Value::unknown(taint),
        },
        // `[Text.Encoding]::Unicode`, `[Environment]::UserName`.
        Kind::Type(kind) => Value::of(Kind::Object(format!("{kind}.{name}")), taint),
        // Where a profile lies beside `$PROFILE` itself.
        Kind::Text(text) if text == PROFILE => value.clone(),
        _ if matches!(name.as_str(), "length" | "count") => Value::unknown(Taint::default()),
        Kind::Text(_) | Kind::List(_) if value.place.is_some() => Value {
            place: value.place.clone().filter(|_| is_path_member(&name)),
            ..Value::unknown(taint)
        },
        Kind::Text(_) | Kind::List(_) if is_path_member(&name) => value.clone(),
        _ => Value::unknown(taint),
    }
}
