//! Expressions: read for names, text, calls and where data comes from. No precedence is needed.

use crate::code::Language;
use crate::code::lex::{K, KEYWORD, Tok};
use crate::code::reader::Reader;
use crate::code::value::{Shape, Value};
use crate::limit::Limit;

/// How deep expressions may nest.
const NESTED: Limit = Limit::new("expressions inside expressions", 48);

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
                K::Star => {
                    self.pos += 1;
                    let mut right = self.term();
                    while self.tok(0).is_some_and(|t| t.k == K::Star && t.end - t.start == 2) {
                        self.pos += 1;
                        let power = self.term();
                        right = self.times(&right, &power, true);
                    }
                    left = self.times(&left, &right, tok.end - tok.start == 2);
                }
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

    fn ruby(&self) -> bool {
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
            _ => {}
        }
        self.pos += 1;
        let mut value = self.lookup(word);
        value.at = (tok.start, tok.end);
        self.read_of(&value);
        value
    }

    fn postfix(&mut self, mut value: Value<'a>) -> Value<'a> {
        while let Some(tok) = self.tok(0) {
            let spaced = self.spaced(&tok);
            match tok.k {
                K::Newline if self.is(1, K::Dot) && self.is(2, K::Ident) => self.pos += 1,
                K::Dot if self.is(1, K::Ident) => {
                    let name = self.word(1);
                    let end = self.tok(1).map_or(tok.end, |t| t.end);
                    self.pos += 2;
                    value = self.attribute(value, name, end);
                }
                K::Dot if self.opens(1, b'(') || self.opens(1, b'[') => self.pos += 1,
                K::Open if tok.mark == b'(' && !(spaced && self.ruby() && value.node == 0) => {
                    self.pos += 1;
                    let over = self.over.replace(value.clone());
                    let (args, _) = self.list(b'(');
                    if !self.ruby() {
                        self.over = over;
                    }
                    let end = self.toks.get(self.pos.wrapping_sub(1)).map_or(tok.end, |t| t.end);
                    let at = (value.at.0, end);
                    value = self.call(&value, &args, at);
                }
                K::Open if tok.mark == b'[' && !(spaced && self.bare(&value)) => {
                    self.pos += 1;
                    value = self.subscript(&value);
                }
                K::Open if tok.mark == b'{' && self.lang == Language::Perl && !spaced => {
                    self.pos += 1;
                    value = self.subscript(&value);
                }
                K::Str | K::Ident | K::Num | K::Open if self.bare(&value) && tok.mark != b'{' => {
                    if self.stops(&tok) {
                        break;
                    }
                    let (args, _) = self.list(0);
                    let end = self.toks.get(self.pos.wrapping_sub(1)).map_or(tok.end, |t| t.end);
                    let at = (value.at.0, end);
                    value = self.call(&value, &args, at);
                }
                _ => {
                    if self.ruby() && (self.word(0) == "do" || self.opens(0, b'{')) {
                        self.over = Some(value.clone());
                    }
                    break;
                }
            }
        }
        value
    }

    fn spaced(&self, tok: &Tok) -> bool {
        self.toks.get(self.pos.wrapping_sub(1)).is_some_and(|before| before.end < tok.start)
    }

    /// Whether this is a known function of a language that calls without brackets.
    fn bare(&self, value: &Value<'a>) -> bool {
        !matches!(self.lang, Language::Python | Language::JavaScript)
            && value.node != 0
            && value.text.is_none()
            && self
                .table
                .node(value.node)
                .is_some_and(|n| !n.calls.is_empty() || n.op != crate::code::table::Op::None)
    }

    fn stops(&self, tok: &Tok) -> bool {
        tok.k == K::Ident
            && tok.mark == KEYWORD
            && matches!(
                self.slice(tok),
                "if" | "unless"
                    | "while"
                    | "until"
                    | "do"
                    | "and"
                    | "or"
                    | "then"
                    | "end"
                    | "for"
                    | "in"
                    | "else"
                    | "as"
            )
    }

    /// Entries up to the closing bracket (`0`: the end of the line); whether commas stood there.
    pub(super) fn list(&mut self, open: u8) -> (Vec<Value<'a>>, bool) {
        let (mut items, mut commas) = (Vec::new(), false);
        while let Some(tok) = self.tok(0) {
            match tok.k {
                K::Close => {
                    if open != 0 {
                        self.pos += 1;
                    }
                    break;
                }
                K::Newline | K::Semi if open == 0 => break,
                K::Comma => {
                    commas = true;
                    self.pos += 1;
                }
                K::Newline | K::Semi | K::Assign | K::Aug | K::Colon => self.pos += 1,
                _ if open == 0 && self.stops(&tok) => break,
                _ => {
                    let before = self.pos;
                    let key = self.key(&tok, true);
                    let member = std::mem::replace(&mut self.member, key == "env");
                    let mut value = self.expr();
                    self.member = member;
                    if value.at == (0, 0) {
                        value.at = (tok.start, tok.end);
                    }
                    value.key = key;
                    items.push(value);
                    self.pos = self.pos.max(before + 1);
                }
            }
        }
        (items, commas)
    }

    /// The key before `=`, `:` or `=>`; steps over it.
    fn key(&mut self, tok: &Tok, assign: bool) -> &'a str {
        let hash = !matches!(self.lang, Language::Python | Language::JavaScript);
        let text = match tok.k {
            K::Str => self.src.get(tok.inner as usize..tok.inner_end as usize).unwrap_or_default(),
            K::Ident => self.slice(tok),
            _ => return "",
        };
        let mark = match self.tok(1) {
            Some(t) if t.k == K::Assign && assign && tok.k == K::Ident => t,
            Some(t) if t.k == K::Colon => t,
            Some(t) if t.k == K::Arrow && hash => t,
            _ => return "",
        };
        self.pos += 2;
        if mark.k == K::Assign && mark.end - mark.start == 2 {
            // `name := value` binds as well.
            let value = self.expr();
            self.pos = self.pos.max(1);
            self.bind_more(text, value);
            return "";
        }
        text
    }

    /// A dictionary, a block or a function body.
    pub(super) fn braces(&mut self) -> Value<'a> {
        self.pos += 1;
        if !self.within(NESTED, usize::from(self.nest) + 1) {
            return Value::default();
        }
        self.nest += 1;
        self.block += 1;
        let depth = self.block;
        let mut items = Vec::new();
        while let Some(tok) = self.tok(0) {
            if tok.k == K::Close && self.block <= depth {
                self.pos += 1;
                break;
            }
            let before = self.pos;
            let key = self.key(&tok, self.lang == Language::Other);
            if key.is_empty() && self.lang != Language::Python {
                self.statement();
            } else {
                let mut value = self.expr();
                value.key = key;
                items.push(value);
            }
            self.pos = self.pos.max(before + 1);
        }
        self.block = depth.saturating_sub(1);
        self.nest -= 1;
        Value::of_items(items, Shape::List)
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
