//! Expressions: read for names, text, calls and where data comes from. No precedence is needed.

use crate::code::Language;
use crate::code::reader::Reader;
use crate::code::token::{K, KEYWORD, Tok};
use crate::code::value::{Shape, Value};
use crate::limit::Limit;

/// How deep expressions may nest.
pub(super) const NESTED: Limit = Limit::new("expressions inside expressions", 48);

impl<'a> Reader<'a, '_> {
    /// One expression, up to a comma, a closing bracket or the end of the statement.
    pub(super) fn expr(&mut self) -> Value<'a> {
        if !self.within(NESTED, usize::from(self.nest) + 1) {
            self.pos += 1;
            return Value::default();
        }
        self.nest += 1;
        let value = self.operands();
        self.nest -= 1;
        value
    }

    fn operands(&mut self) -> Value<'a> {
        let mut left = self.term();
        while let Some(tok) = self.tok(0) {
            match tok.k {
                K::Cat => {
                    self.pos += 1;
                    while self.is(0, K::Newline) {
                        self.pos += 1;
                    }
                    let right = self.term();
                    left = self.concat(left.latest(), &right);
                }
                K::Mod => {
                    self.pos += 1;
                    let right = self.term();
                    left = self.formatted(&left, &right);
                }
                K::Div => {
                    self.pos += 1;
                    let right = self.term();
                    left = self.slashed(&left, &right);
                }
                K::Star => left = self.product(&left, tok.end - tok.start == 2),
                K::Other if tok.mark == b'?' => {
                    self.pos += 1;
                    let yes = self.expr();
                    if self.is(0, K::Colon) {
                        self.pos += 1;
                        left = yes.or(self.expr());
                    }
                }
                K::Other if tok.mark == b'|' && tok.end - tok.start == 1 && self.ruby() => break,
                K::Other => {
                    self.pos += 1;
                    let right = self.term();
                    let either = tok.end - tok.start == 2 && b"|?".contains(&tok.mark);
                    left = if either { left.or(right) } else { mixed(&left, &right) };
                }
                K::Arrow => left = self.arrow(&left),
                K::Ident if tok.mark != KEYWORD => break,
                K::Ident => match self.infix(left) {
                    Ok(next) => left = next,
                    Err(done) => return done,
                },
                _ => break,
            }
        }
        left
    }

    /// `left * right` or `left ** right`; powers bind more strongly.
    fn product(&mut self, left: &Value<'a>, power: bool) -> Value<'a> {
        self.pos += 1;
        let mut right = self.term();
        while self.tok(0).is_some_and(|t| t.k == K::Star && t.end - t.start == 2) {
            self.pos += 1;
            let exponent = self.term();
            right = self.times(&right, &exponent, true);
        }
        self.times(left, &right, power)
    }

    pub(super) fn ruby(&self) -> bool {
        self.lang == Language::Ruby
    }

    fn infix(&mut self, left: Value<'a>) -> Result<Value<'a>, Value<'a>> {
        match self.word(0) {
            "if" => {
                self.pos += 1;
                let condition = self.expr();
                if self.word(0) == "else" {
                    self.pos += 1;
                    return Ok(left.or(self.expr()));
                }
                Ok(Value { taint: left.taint | condition.taint, ..left })
            }
            "for" if self.lang == Language::Python => {
                self.for_clause();
                Ok(Value { shape: many(&left), ..left })
            }
            "or" | "and" | "in" | "is" | "not" | "instanceof" | "xor" | "eq" | "ne" => {
                let either = self.word(0) == "or";
                let inside = self.word(0) == "in";
                let member = std::mem::replace(&mut self.member, inside);
                self.pos += 1;
                let right = self.term();
                self.member = member;
                Ok(if either { left.or(right) } else { mixed(&left, &right) })
            }
            _ => Err(left),
        }
    }

    fn arrow(&mut self, left: &Value<'a>) -> Value<'a> {
        self.pos += 1;
        let mut params: Vec<&'a str> = left.items().iter().map(|v| v.name).collect();
        if params.is_empty() && !left.name.is_empty() {
            params.push(left.name);
        }
        let element = self.over.take().map(|v| v.element());
        if let (Some(element), Some(first)) = (element, params.first()) {
            self.bind_more(first, element);
        }
        let body = if self.opens(0, b'{') { self.braces() } else { self.expr() };
        self.params = params;
        Value::unknown(body.taint)
    }

    fn term(&mut self) -> Value<'a> {
        let mut minus = false;
        while let Some(tok) = self.tok(0) {
            let prefix = match tok.k {
                K::Other | K::Star | K::Cat | K::Mod => {
                    minus = tok.mark == b'-';
                    !(self.ruby() && tok.mark == b'|')
                }
                K::Newline => self.nest > 1 && self.block == 0,
                K::Ident if tok.mark == KEYWORD => match self.slice(&tok) {
                    "await" | "not" | "yield" | "async" => true,
                    "new" if self.lang == Language::Perl => false,
                    "new" | "typeof" | "void" | "my" | "delete" => self.lang != Language::Python,
                    _ => false,
                },
                _ => false,
            };
            if !prefix {
                break;
            }
            self.pos += 1;
        }
        let first = self.primary();
        let mut value = self.postfix(first);
        if minus {
            value.num = value.num.map(i64::wrapping_neg);
        }
        value
    }

    fn primary(&mut self) -> Value<'a> {
        let Some(tok) = self.tok(0) else { return Value::default() };
        match tok.k {
            K::Str => self.strings(),
            K::Num => {
                self.pos += 1;
                Value {
                    num: number(self.slice(&tok)),
                    at: (tok.start, tok.end),
                    ..Value::default()
                }
            }
            K::Ident => self.named(&tok),
            K::Open if tok.mark == b'{' => self.braces(),
            K::Open => {
                self.pos += 1;
                let (mut items, commas) = self.list(tok.mark);
                if tok.mark == b'(' && items.len() == 1 && !commas {
                    return items.pop().unwrap_or_default();
                }
                Value { at: (tok.start, tok.end), ..Value::of_items(items, Shape::List) }
            }
            K::Close | K::Comma | K::Semi | K::Newline | K::Colon | K::Assign | K::Arrow => {
                Value::default()
            }
            _ => {
                self.pos += 1;
                Value::default()
            }
        }
    }

    fn named(&mut self, tok: &Tok) -> Value<'a> {
        let word = self.slice(tok);
        let keyword = if tok.mark == KEYWORD { word } else { "" };
        match keyword {
            "lambda" => {
                while self.tok(0).is_some_and(|t| t.k != K::Colon && t.k != K::Newline) {
                    self.pos += 1;
                }
                self.pos += 1;
                return self.expr();
            }
            "function" | "fn" | "sub" if self.lang != Language::Python => {
                let function = self.function;
                self.definition();
                if self.opens(0, b'{') {
                    drop(self.braces());
                }
                self.function = function;
                return Value::default();
            }
            "if" | "else" | "for" | "return" | "while" | "in" => return Value::default(),
            "then" | "do" | "end" if self.lang != Language::Python => return Value::default(),
            "new" if self.lang == Language::Perl => return self.indirect_new(),
            _ => {}
        }
        self.pos += 1;
        let mut value = self.lookup(word);
        value.at = (tok.start, tok.end);
        self.read_of(&value);
        value
    }
}

fn many(value: &Value<'_>) -> Shape {
    if value.shape == Shape::AnyOf { Shape::AnyOf } else { value.shape }
}

/// A value of which only the origin is known.
pub(super) fn mixed<'a>(left: &Value<'a>, right: &Value<'a>) -> Value<'a> {
    Value::unknown(left.taint | right.taint)
}

fn number(text: &str) -> Option<i64> {
    let plain: String = text.chars().filter(|c| *c != '_' && *c != 'n').collect();
    let radix = |digits: &str, radix| i64::from_str_radix(digits, radix).ok();
    if let Some(hex) = plain.strip_prefix("0x") {
        return radix(hex, 16);
    }
    if let Some(octal) = plain.strip_prefix("0o") {
        return radix(octal, 8);
    }
    if let Some(octal) = plain.strip_prefix('0').filter(|d| !d.is_empty()) {
        return radix(octal, 8);
    }
    plain.parse().ok()
}
