//! Expressions: constants are computed as far as they are known.

use std::borrow::Cow;

use super::run::Evaluator;
use super::text_operations::{formatted, is_literal, range, replaced};
use super::value::{Block, Kind, MAX_ITEMS, MAX_TEXT, PsValue, list_of, type_name};
use crate::flow::Taint;
use countersign_shell::powershell::ast::{PsExpr, PsStatement};

/// How many bytes of text one call may make.
const MAX_MADE: usize = 1024 * 1024;

impl Evaluator<'_, '_, '_, '_> {
    /// The value of an expression; commands inside it are assessed on the way.
    pub fn value(&mut self, expr: &PsExpr<'_>) -> PsValue {
        match expr {
            PsExpr::Text { text, .. } => PsValue::text(text.as_ref()),
            PsExpr::Number(number) => PsValue::text(*number),
            PsExpr::Pieces { pieces, .. } => self.pieces(pieces),
            PsExpr::Variable(name) => {
                let name = name.to_ascii_lowercase();
                self.variable(&name).unwrap_or_else(|| PsValue::unknown(Taint::default()))
            }
            PsExpr::Statements(list) => self.statements(list),
            PsExpr::Table(members) => self.table(members),
            PsExpr::Block(block) => {
                let output = self.maybe(|e| e.statements(&block.body));
                let parameters = block.parameters.iter().map(|p| p.to_ascii_lowercase()).collect();
                let (source, output) = (block.source.to_owned(), Box::new(output));
                let block = Block { source, parameters, output };
                PsValue::of(Kind::Block(block), Taint::default())
            }
            PsExpr::Type(name) => PsValue::of(Kind::Type(type_name(name)), Taint::default()),
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
                    let span = self.assessor.span(0, 0);
                    self.not_read(span);
                }
                for expr in list.iter().take(MAX_ITEMS) {
                    let value = self.value(expr);
                    taint = taint.and(value.taint);
                    items.push(value);
                }
                PsValue::of(Kind::List(items), taint)
            }
            PsExpr::Postfix(base, steps) => self.postfix(base, steps, false),
        }
    }

    /// Text that was made is counted, so that doubling ends.
    fn made(&mut self, text: String, taint: Taint) -> PsValue {
        self.state.made += text.len();
        if text.len() > MAX_TEXT || self.state.made > MAX_MADE {
            return PsValue::unknown(taint);
        }
        PsValue::of(Kind::Text(text), taint)
    }

    fn pieces(&mut self, pieces: &[PsExpr<'_>]) -> PsValue {
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
                return PsValue::unknown(taint);
            }
        }
        let mut value = self.made(text, taint);
        value.place = place.filter(|_| pieces.len() == 1);
        value
    }

    fn table(&mut self, members: &[(PsExpr<'_>, PsStatement<'_>)]) -> PsValue {
        let mut table = Vec::new();
        for (key, value) in members {
            let key = self.value(key).string().to_ascii_lowercase();
            let value = self.statement(value);
            if table.len() < MAX_ITEMS {
                table.push((key, value));
            }
        }
        PsValue::of(Kind::Table(table), Taint::default())
    }

    fn unary(&mut self, operator: &str, value: PsValue) -> PsValue {
        match operator {
            "join" => {
                let items: Vec<String> = value.items().iter().map(PsValue::string).collect();
                let taint = value.origins();
                self.made(items.concat(), taint)
            }
            "split" => match value.known() {
                Some(text) => list_of(text.split_whitespace(), value.origins()),
                None => value,
            },
            "+" => value,
            "not" | "bnot" => PsValue::unknown(Taint::default()),
            "-" => match value.known() {
                Some(number) => PsValue::text(format!("-{number}")),
                None => value,
            },
            _ => PsValue::unknown(value.origins()),
        }
    }

    /// `a + b`.
    pub fn add(&mut self, a: PsValue, b: PsValue) -> PsValue {
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
    fn binary(&mut self, first: &PsExpr<'_>, rest: &[(Cow<'_, str>, PsExpr<'_>)]) -> PsValue {
        let mut values = vec![self.value(first)];
        let mut operators: Vec<&str> = Vec::new();
        for (operator, expr) in rest {
            operators.push(operator);
            let value = self.value(expr);
            values.push(value);
        }
        for level in [&["f"][..], &[".."], &["*", "/", "%"], &["+", "-"], &[]] {
            let mut done: Vec<PsValue> = Vec::with_capacity(values.len());
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

    fn operate(&mut self, operator: &str, a: PsValue, b: PsValue) -> PsValue {
        let taint = a.origins().and(b.origins());
        match operator {
            "+" => self.add(a, b),
            "f" => {
                let items = b.items();
                let text = a.known().and_then(|format| formatted(&format, &items));
                match text {
                    Some(text) => self.made(text, taint),
                    None => PsValue::unknown(taint),
                }
            }
            "join" => self.join(&a, &b, taint),
            "split" | "csplit" => match (a.known(), b.known()) {
                (Some(text), Some(by)) if is_literal(&by) && !by.is_empty() => {
                    list_of(text.split(by.as_str()), taint)
                }
                _ => PsValue::unknown(taint),
            },
            "replace" | "creplace" => self.replace(&a, &b, taint),
            ".." => match (a.known(), b.known()) {
                (Some(from), Some(to)) => range(&from, &to, taint),
                _ => PsValue::unknown(taint),
            },
            "*" => match (a.known(), b.known().and_then(|n| n.parse::<usize>().ok())) {
                (Some(text), Some(times)) if text.len().saturating_mul(times) <= MAX_TEXT => {
                    self.made(text.repeat(times), taint)
                }
                _ => PsValue::unknown(taint),
            },
            // The second of two values where the first is none: both are possible.
            "??" | "?:" => a.then(b),
            "as" => a,
            "and" | "or" | "xor" | "eq" | "ne" | "gt" | "ge" | "lt" | "le" | "like" | "notlike"
            | "notmatch" | "contains" | "notcontains" | "in" | "notin" | "is" | "isnot" => {
                PsValue::unknown(Taint::default())
            }
            // On a list, `-match` gives the items that fit.
            _ => PsValue { place: a.place.clone(), ..PsValue::unknown(taint) },
        }
    }

    fn join(&mut self, a: &PsValue, b: &PsValue, taint: Taint) -> PsValue {
        let items: Vec<String> = a.items().iter().map(PsValue::string).collect();
        let between = b.string();
        let size = items.iter().map(String::len).sum::<usize>() + between.len() * items.len();
        if size > MAX_TEXT {
            return PsValue::unknown(taint);
        }
        self.made(items.join(&between), taint)
    }

    fn replace(&mut self, a: &PsValue, b: &PsValue, taint: Taint) -> PsValue {
        let items = b.items();
        let by = |at: usize| items.get(at).map_or(Some(String::new()), PsValue::known);
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
            _ => PsValue { place: a.place.clone(), ..PsValue::unknown(taint) },
        }
    }
}
