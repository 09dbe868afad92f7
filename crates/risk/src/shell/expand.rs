//! Words → the words a command really gets: quotes, variables, braces, substitutions.

use std::borrow::Cow;

use super::ast::{Operation, Part, Parts, Word};
use super::flow::{Flow, Taint};
use super::signs;
use super::walk::Walker;
use crate::finding::{Doubt, Span};
use crate::limit::{Excess, Limit};
use crate::paths::UNKNOWN;

/// A word after expansion. Parts that are only known at run time are `UNKNOWN` characters.
#[derive(Debug, Clone)]
pub struct Arg<'t> {
    /// The text.
    pub text: Cow<'t, str>,
    /// Where it stands.
    pub span: Span,
    /// Where its unknown parts come from.
    pub taint: Taint,
    /// Holds an unquoted `*`, `?` or `[`.
    pub glob: bool,
}

impl Arg<'_> {
    /// Whether some of it is only known at run time.
    pub fn is_unknown(&self) -> bool {
        self.text.as_bytes().contains(&0)
    }

    /// Whether it is a path with a folder in it.
    pub fn has_slash(&self) -> bool {
        self.text.as_bytes().contains(&b'/')
    }
}

/// How many bytes the braces of one word may become, with every step on the way.
const MAX_BRACES: usize = 1024 * 1024;

/// How many fields one word may become.
const FIELDS: Limit = Limit::new("words made from one", 2048);
/// How many numbers of `{1..n}` are written out; those between the first and the last stand as one
/// unknown word.
const MAX_RANGE: usize = 512;

/// A word being put together.
struct Field {
    text: String,
    glob: bool,
    /// Something was written, even if it is empty (`""`).
    real: bool,
}

impl Field {
    fn new() -> Field {
        Field { text: String::new(), glob: false, real: false }
    }
}

impl<'t> Walker<'t, '_, '_, '_> {
    /// Expands a word into as many fields as it becomes.
    pub(super) fn expand(&mut self, word: &'t Word<'t>, out: &mut Vec<Arg<'t>>) {
        let span = self.span(word.start, word.end);
        match &word.parts {
            Parts::Plain(text) => {
                out.push(Arg {
                    text: Cow::Borrowed(text),
                    span,
                    taint: Taint::default(),
                    glob: false,
                });
            }
            Parts::Many(parts) => {
                if let [Part::Quoted(text)] = parts.as_slice() {
                    let text = guard_tilde(text);
                    out.push(Arg { text, span, taint: Taint::default(), glob: false });
                    return;
                }
                self.expand_many(parts, span, out);
            }
        }
    }

    fn expand_many(&mut self, parts: &'t [Part<'t>], span: Span, out: &mut Vec<Arg<'t>>) {
        if let Some((text, glob)) = fixed(parts) {
            out.push(Arg { text: Cow::Owned(text), span, taint: Taint::default(), glob });
            return;
        }
        let mut taint = Taint::default();
        let mut fields = vec![Field::new()];
        let braces = parts.iter().any(|p| matches!(p, Part::Bare(t) if t.contains('{')));
        for (i, part) in parts.iter().enumerate() {
            self.part(part, i == 0, &mut fields, &mut taint);
            FIELDS.cut(&mut fields, self.shared.out, Some(span));
        }
        for field in fields {
            if !field.real && field.text.is_empty() {
                continue;
            }
            let glob = field.glob;
            if braces && field.text.contains('{') {
                let mut many = Vec::new();
                match brace(&field.text, &mut many) {
                    Ok(true) => {}
                    Ok(false) => {
                        self.shared.sign(&signs::TOO_MANY, Some(span));
                        self.shared.out.doubt(Doubt::Unreadable);
                    }
                    Err(excess) => self.shared.exceeded(excess, Some(span)),
                }
                for text in many {
                    out.push(Arg { text: Cow::Owned(text), span, taint, glob });
                }
            } else {
                out.push(Arg { text: Cow::Owned(field.text), span, taint, glob });
            }
        }
    }

    fn part(
        &mut self,
        part: &'t Part<'t>,
        first: bool,
        fields: &mut Vec<Field>,
        taint: &mut Taint,
    ) {
        let Some(field) = fields.last_mut() else { return };
        match part {
            Part::Bare(text) => {
                field.real = true;
                field.glob |= is_pattern(text);
                field.text.push_str(text);
            }
            Part::Quoted(text) => {
                field.real = true;
                if first && text.starts_with('~') {
                    field.text.push_str("./");
                }
                // A quoted brace or star means itself; `[` around it keeps later readers from it.
                field.text.push_str(text);
            }
            Part::Variable { name, operation, quoted } => {
                let mut value = self.variable(name, operation, taint);
                if *quoted {
                    self.join_with_ifs(name, operation, &mut value);
                } else {
                    self.split_at_ifs(&mut value);
                }
                // "$@" is all words, each by itself.
                splice(fields, &value, *quoted && *name != "@");
            }
            Part::Command { list, quoted } => {
                let flow = self.nested_list(list);
                substitute(fields, &flow, *quoted, taint);
            }
            Part::Backquote { text, start, end, quoted } => {
                let flow = self.nested_text(text, *start, *end);
                substitute(fields, &flow, *quoted, taint);
            }
            Part::Process { list, reads } => {
                let flow = if *reads { self.nested_list(list) } else { self.fed_list(list) };
                *taint = taint.and(flow.taint);
                let path = if *reads { self.process_text(flow) } else { "/dev/fd/63".to_owned() };
                field.real = true;
                field.text.push_str(&path);
            }
            Part::Arithmetic { parts } => {
                field.real = true;
                field.text.push(UNKNOWN);
                self.aside(parts);
                let span = self.span(0, 0);
                self.arithmetic_values(span);
            }
            Part::Aside(parts) => self.aside(parts),
        }
    }

    /// An `IFS` of one's own splits at other characters than blanks.
    fn split_at_ifs(&mut self, value: &mut String) {
        self.shared.ask_variable("IFS");
        let own = self.shared.variables.iter().rev().find(|(n, _, _)| n == "IFS");
        if let Some((_, marks, _)) = own.filter(|(_, m, _)| !m.is_empty() && !m.contains(UNKNOWN)) {
            *value = value.replace(|c: char| marks.contains(c), " ");
        }
    }

    /// "${list[*]}" and "$*" join with the first character of an `IFS` of one's own.
    fn join_with_ifs(&mut self, name: &str, operation: &Operation<'_>, value: &mut String) {
        if !matches!(operation, Operation::Plain) || !value.contains(' ') {
            return;
        }
        let own = self.shared.variables.iter().rev().find(|(n, _, _)| n == "IFS");
        let Some(marks) = own.map(|(_, marks, _)| marks.clone()) else { return };
        if marks.starts_with(' ') || name == "@" {
            return;
        }
        let elements = self.shared.elements(name);
        if elements.len() > 1 {
            let mark = marks.chars().next().map(String::from).unwrap_or_default();
            *value = elements.join(&mark);
        }
    }

    /// Runs what stands in parts whose text does not matter.
    fn aside(&mut self, parts: &'t [Part<'t>]) {
        let mut fields = vec![Field::new()];
        let mut taint = Taint::default();
        for part in parts {
            self.part(part, false, &mut fields, &mut taint);
            fields.truncate(1);
        }
    }

    /// The value of a variable; `UNKNOWN` where it is not known.
    fn variable(&mut self, name: &str, operation: &'t Operation<'t>, taint: &mut Taint) -> String {
        let known = self.lookup(name).map(|(value, t)| {
            *taint = taint.and(t);
            value
        });
        match operation {
            Operation::Plain => known.unwrap_or_else(|| UNKNOWN.to_string()),
            Operation::Default(word) => match known {
                Some(value) if !value.is_empty() => value,
                _ => self.joined(word, taint),
            },
            Operation::Alternative(word) => self.joined(word, taint),
            Operation::Required(word) => {
                self.joined(word, taint);
                known.unwrap_or_else(|| UNKNOWN.to_string())
            }
            Operation::Slice(range, word) => {
                self.joined(word, taint);
                if !range.bytes().all(|b| b.is_ascii_digit() || b" :-".contains(&b)) {
                    // An offset is arithmetic: the values of variables in it are evaluated.
                    let span = self.span(word.start, word.end);
                    self.arithmetic_values(span);
                }
                let elements = self.shared.elements(name);
                let sliced = if elements.len() > 1 {
                    slice_list(&elements, range, matches!(name, "@" | "*"))
                } else {
                    known.and_then(|v| slice(&v, range))
                };
                sliced.unwrap_or_else(|| UNKNOWN.to_string())
            }
            Operation::Other(word) => {
                let pattern = self.joined(word, taint);
                if pattern == "@P" {
                    let span = self.span(word.start, word.end);
                    self.prompt(known.as_deref().unwrap_or_default(), span);
                }
                let edited = known.and_then(|v| edit(&v, &pattern));
                edited.unwrap_or_else(|| UNKNOWN.to_string())
            }
        }
    }

    /// A word as one text.
    pub(super) fn joined(&mut self, word: &'t Word<'t>, taint: &mut Taint) -> String {
        let mut args = Vec::new();
        self.expand(word, &mut args);
        let mut text = String::new();
        for (i, arg) in args.iter().enumerate() {
            if i > 0 {
                text.push(' ');
            }
            text.push_str(&arg.text);
            *taint = taint.and(arg.taint);
        }
        text
    }
}

/// A word of plain and quoted pieces without braces, and whether it holds a pattern.
fn fixed(parts: &[Part<'_>]) -> Option<(String, bool)> {
    let mut length = 2;
    for part in parts {
        match part {
            Part::Bare(text) if !text.contains('{') => length += text.len(),
            Part::Quoted(text) => length += text.len(),
            _ => return None,
        }
    }
    let mut text = String::with_capacity(length);
    let mut glob = false;
    for (i, part) in parts.iter().enumerate() {
        match part {
            Part::Bare(piece) => {
                glob |= is_pattern(piece);
                text.push_str(piece);
            }
            Part::Quoted(piece) => {
                text.push_str(if i == 0 && piece.starts_with('~') { "./" } else { "" });
                text.push_str(piece);
            }
            _ => {}
        }
    }
    (!parts.is_empty()).then_some((text, glob))
}

/// Whether unquoted text holds a `*`, a `?` or brackets.
fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?']) || (text.contains('[') && text.contains(']'))
}

/// A quoted `~` is a name, not a home.
fn guard_tilde<'t>(text: &Cow<'t, str>) -> Cow<'t, str> {
    if text.starts_with('~') { Cow::Owned(format!("./{text}")) } else { text.clone() }
}

/// Adds a value: whole where quoted, split at blanks where not.
fn splice(fields: &mut Vec<Field>, value: &str, quoted: bool) {
    let Some(field) = fields.last_mut() else { return };
    if quoted || !value.contains([' ', '\t', '\n']) {
        field.real |= quoted || !value.is_empty();
        field.glob |= !quoted && value.contains(['*', '?']);
        field.text.push_str(value);
        return;
    }
    let mut words = value.split([' ', '\t', '\n']);
    if let Some(first) = words.next() {
        field.real |= !first.is_empty();
        field.text.push_str(first);
    }
    for word in words {
        if fields.last().is_some_and(|f| f.text.is_empty() && !f.real) {
            fields.pop();
        }
        let glob = word.contains(['*', '?']);
        fields.push(Field { text: word.to_owned(), glob, real: !word.is_empty() });
    }
}

fn substitute(fields: &mut Vec<Field>, flow: &Flow, quoted: bool, taint: &mut Taint) {
    *taint = taint.and(flow.taint);
    if let Some(text) = &flow.text {
        splice(fields, text.trim_end_matches('\n'), quoted);
    } else {
        *taint = taint.and(Taint::COMPUTED);
        splice(fields, "\0", quoted);
    }
}

/// `${v:offset:length}` with plain numbers.
fn slice(value: &str, range: &str) -> Option<String> {
    let (offset, length) = match range.split_once(':') {
        Some((o, l)) => (o.trim(), Some(l.trim().parse::<usize>().ok()?)),
        None => (range.trim(), None),
    };
    let count = value.chars().count();
    let offset = if let Some(back) = offset.strip_prefix('-') {
        count.checked_sub(back.parse::<usize>().ok()?)?
    } else {
        offset.parse::<usize>().ok()?
    };
    Some(value.chars().skip(offset).take(length.unwrap_or(usize::MAX)).collect())
}

/// `${list[@]:offset:length}` with plain numbers; positional words count from one.
fn slice_list(elements: &[String], range: &str, positional: bool) -> Option<String> {
    let (offset, length) = match range.split_once(':') {
        Some((o, l)) => (o, l.trim().parse::<usize>().ok()?),
        None => (range, usize::MAX),
    };
    let offset = offset.trim();
    let offset = match offset.strip_prefix('-') {
        Some(back) => elements.len().checked_sub(back.parse().ok()?)?,
        None => offset.parse::<usize>().ok()?.saturating_sub(usize::from(positional)),
    };
    let kept: Vec<&str> = elements.iter().skip(offset).take(length).map(String::as_str).collect();
    Some(kept.join(" "))
}

/// `#`, `##`, `%`, `%%` with plain text, `/a/b`, `//a/b`, `,,`, `^^`.
fn edit(value: &str, pattern: &str) -> Option<String> {
    if pattern.contains(UNKNOWN) {
        return None;
    }
    let plain = |p: &str| !p.contains(['*', '?', '[']);
    if let Some(p) = pattern.strip_prefix("//") {
        let (a, b) = p.split_once('/').unwrap_or((p, ""));
        return (plain(a) && !a.is_empty()).then(|| value.replace(a, b));
    }
    if let Some(p) = pattern.strip_prefix('/') {
        let (a, b) = p.split_once('/').unwrap_or((p, ""));
        return (plain(a) && !a.is_empty()).then(|| value.replacen(a, b, 1));
    }
    match pattern {
        ",," => return Some(value.to_lowercase()),
        "^^" => return Some(value.to_uppercase()),
        _ => {}
    }
    if let Some(p) = pattern.strip_prefix("##*").filter(|p| plain(p) && !p.is_empty()) {
        return Some(value.rsplit_once(p).map_or(value, |(_, rest)| rest).to_owned());
    }
    if let Some(p) = pattern.strip_prefix("#*").filter(|p| plain(p) && !p.is_empty()) {
        return Some(value.split_once(p).map_or(value, |(_, rest)| rest).to_owned());
    }
    if let Some(p) =
        pattern.strip_prefix("%%").and_then(|p| p.strip_suffix('*')).filter(|p| plain(p))
    {
        return Some(value.split_once(p).map_or(value, |(rest, _)| rest).to_owned());
    }
    if let Some(p) =
        pattern.strip_prefix('%').and_then(|p| p.strip_suffix('*')).filter(|p| plain(p))
    {
        return Some(value.rsplit_once(p).map_or(value, |(rest, _)| rest).to_owned());
    }
    if let Some(p) = pattern.strip_prefix("##").or(pattern.strip_prefix('#')) {
        return plain(p).then(|| value.strip_prefix(p).unwrap_or(value).to_owned());
    }
    if let Some(p) = pattern.strip_prefix("%%").or(pattern.strip_prefix('%')) {
        return plain(p).then(|| value.strip_suffix(p).unwrap_or(value).to_owned());
    }
    None
}

/// `{a,b}` and `{1..3}`, outermost first, bounded; false where a word too long was left as it is.
fn brace(text: &str, out: &mut Vec<String>) -> Result<bool, Excess> {
    let mut work = vec![text.to_owned()];
    let (mut bytes, mut whole) = (MAX_BRACES, true);
    while let Some(text) = work.pop() {
        FIELDS.check(out.len() + work.len() + 1)?;
        match split_brace(&text) {
            None => out.push(text),
            Some((_, middle, _)) if middle.len() * text.len() > bytes => {
                whole = false;
                out.push(text);
            }
            Some((before, middle, after)) => {
                bytes -= middle.len() * text.len();
                for choice in middle.into_iter().rev() {
                    work.push(format!("{before}{choice}{after}"));
                }
            }
        }
    }
    Ok(whole)
}

fn split_brace(text: &str) -> Option<(&str, Vec<String>, &str)> {
    let open = text.find('{')?;
    let (mut depth, mut commas, mut close) = (0usize, Vec::new(), None);
    for (i, b) in text.bytes().enumerate().skip(open) {
        match b {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    close = Some(i);
                    break;
                }
            }
            b',' if depth == 1 => commas.push(i),
            _ => {}
        }
    }
    let close = close?;
    let before = text.get(..open)?;
    let inner = text.get(open + 1..close)?;
    let after = text.get(close + 1..)?;
    if !commas.is_empty() {
        let mut choices = Vec::new();
        let mut from = open + 1;
        for comma in commas.into_iter().chain([close]) {
            choices.push(text.get(from..comma)?.to_owned());
            from = comma + 1;
        }
        return Some((before, choices, after));
    }
    let (a, b) = inner.split_once("..")?;
    let (b, step) = b.split_once("..").unwrap_or((b, "1"));
    let step = step.parse::<i32>().ok()?.unsigned_abs().max(1) as usize;
    if let (Ok(a), Ok(b)) = (a.parse::<i32>(), b.parse::<i32>()) {
        let (low, high) = (a.min(b), a.max(b));
        let mut choices: Vec<String> =
            (low..=high).step_by(step).take(MAX_RANGE).map(|n| n.to_string()).collect();
        if usize::try_from(i64::from(high) - i64::from(low)).unwrap_or(usize::MAX) / step
            >= MAX_RANGE
        {
            choices.push(UNKNOWN.to_string());
            choices.push(high.to_string());
        }
        return Some((before, choices, after));
    }
    let (mut ca, mut cb) = (a.chars(), b.chars());
    match (ca.next(), ca.next(), cb.next(), cb.next()) {
        (Some(x), None, Some(y), None) if x.is_ascii_alphabetic() && y.is_ascii_alphabetic() => {
            let choices = (x.min(y)..=x.max(y)).step_by(step).map(String::from).collect();
            Some((before, choices, after))
        }
        _ => None,
    }
}
