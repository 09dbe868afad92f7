//! Words → the words a command really gets: quotes, variables, braces, substitutions.

use std::borrow::Cow;

use super::arg::Arg;
use super::braces::{FIELDS, brace};
use super::evaluator::Evaluator;
use super::fields::{Field, fixed, guard_tilde, is_pattern, splice, substitute};
use super::parameter::{edit, slice, slice_list};
use crate::finding::{Doubt, Span};
use crate::flow::Taint;
use crate::structural_findings;
use countersign_shell::UNKNOWN;
use countersign_shell::posix::ast::{List, Operation, Part, Parts, Word};

impl<'t> Evaluator<'t, '_, '_, '_> {
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
                        self.shared.report(&structural_findings::TOO_MANY, Some(span));
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
                field.real = true;
                field.text.push_str(&self.process(list, *reads, taint));
            }
            Part::Arithmetic { parts } => {
                field.real = true;
                field.text.push(UNKNOWN);
                self.aside(parts);
                self.arithmetic_values(self.span(0, 0));
            }
            Part::Aside(parts) => self.aside(parts),
        }
    }

    /// `<( … )` and `>( … )`; returns the path that stands for the process.
    fn process(&mut self, list: &'t List<'t>, reads: bool, taint: &mut Taint) -> String {
        let flow = if reads { self.nested_list(list) } else { self.fed_list(list) };
        *taint = taint.and(flow.taint);
        if reads { self.shared.processes.add(flow) } else { "/dev/fd/63".to_owned() }
    }

    /// An `IFS` of one's own splits at other characters than blanks.
    fn split_at_ifs(&mut self, value: &mut String) {
        let own = self.shared.variable("IFS").map(|own| own.value.as_str());
        if let Some(marks) = own.filter(|marks| !marks.is_empty() && !marks.contains(UNKNOWN)) {
            *value = value.replace(|c: char| marks.contains(c), " ");
        }
    }

    /// "${list[*]}" and "$*" join with the first character of an `IFS` of one's own.
    fn join_with_ifs(&mut self, name: &str, operation: &Operation<'_>, value: &mut String) {
        if !matches!(operation, Operation::Plain) || !value.contains(' ') {
            return;
        }
        let Some(marks) = self.shared.variables.value("IFS") else { return };
        if marks.starts_with(' ') || name == "@" {
            return;
        }
        let elements = self.shared.variables.elements(name);
        if elements.len() > 1 {
            let mark = marks.chars().next().map(String::from).unwrap_or_default();
            *value = elements.join(&mark);
        }
    }

    /// Runs the commands in parts whose text does not matter.
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
        let known = match (operation, known) {
            (Operation::Slice(..) | Operation::Other(_), Some(dot))
                if name == "PWD" && dot == "." =>
            {
                Some(self.start_folder().unwrap_or(dot))
            }
            (_, known) => known,
        };
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
                let elements = self.shared.variables.elements(name);
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

    /// The folder in which the text starts, by its full name. Behind a `cd` it is one of those in
    /// which the command may run.
    pub(super) fn start_folder(&self) -> Option<String> {
        self.shared.ctx.cwd.filter(|cwd| cwd.starts_with('/')).map(str::to_owned)
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
