//! The arguments of a command with their values.

use super::bind::{self, Argument, Parameter};
use super::run::Evaluator;
use super::value::{Kind, MAX_ITEMS, PsValue};
use crate::command_tables::Spec;
use crate::finding::Span;
use crate::shell::CommandWord;
use countersign_shell::UNKNOWN;
use countersign_shell::powershell::ast::{PsExpr, PsWord, PsWordKind};

/// One argument with its value.
#[derive(Debug, Clone)]
pub struct CmdletArgument {
    /// As the binder takes it.
    pub argument: Argument,
    /// Its value; nothing for a parameter's name.
    pub value: PsValue,
    /// A parameter's name as written, with its dash.
    pub raw: String,
}

impl CmdletArgument {
    /// A value.
    pub fn of(value: PsValue, bare: bool, attached: bool, span: Span) -> CmdletArgument {
        let words = value.words(span, bare);
        CmdletArgument {
            argument: bind::value_argument(words, attached, span),
            value,
            raw: String::new(),
        }
    }

    fn parameter(name: &str, span: Span) -> CmdletArgument {
        let raw = format!("-{name}");
        let parameter = Some(raw.to_ascii_lowercase());
        let argument = Argument { words: Vec::new(), parameter, attached: false, span };
        CmdletArgument { argument, value: PsValue::nothing(), raw }
    }
}

/// One call of a cmdlet.
#[derive(Debug, Clone, Copy)]
pub struct CmdletCall<'a> {
    /// Its description.
    pub spec: &'static Spec,
    /// Its full name in lower case.
    pub name: &'a CommandWord,
    /// Its arguments.
    pub given: &'a [CmdletArgument],
    /// What comes through the pipe.
    pub input: &'a PsValue,
    /// Its place.
    pub span: Span,
}

impl CmdletCall<'_> {
    /// The value of a parameter, by its full name.
    pub fn argument(&self, name: &str) -> Option<PsValue> {
        argument(self.spec, self.given, name)
    }

    /// Whether a switch is given, by its name or a beginning of at least so many characters.
    pub fn has_switch(&self, name: &str, least: usize) -> bool {
        let parameters = self.given.iter().filter_map(|given| given.argument.parameter.as_ref());
        parameters.into_iter().any(|given| given.len() >= least && name.starts_with(given.as_str()))
    }
}

impl Evaluator<'_, '_, '_, '_> {
    /// The arguments of a command with their values.
    pub(super) fn given<'w, 't: 'w>(
        &mut self,
        words: impl Iterator<Item = &'w PsWord<'t>>,
    ) -> Vec<CmdletArgument> {
        let mut given = Vec::new();
        let mut attached = false;
        for word in words {
            let span = self.assessor.span(word.start, word.end);
            let was = std::mem::take(&mut attached);
            match &word.kind {
                PsWordKind::Parameter { name, attached: next } => {
                    attached = *next;
                    given.push(CmdletArgument::parameter(name, span));
                }
                PsWordKind::Value(expr) => {
                    let bare = matches!(
                        expr,
                        PsExpr::Text { bare: true, .. } | PsExpr::Pieces { bare: true, .. }
                    ) || matches!(expr, PsExpr::List(_));
                    let value = self.value(expr);
                    if value.items().len() > MAX_ITEMS {
                        self.not_read(span);
                    }
                    given.push(CmdletArgument::of(value, bare, was, span));
                }
                PsWordKind::Splat(name) => self.splat(name, span, &mut given),
                PsWordKind::Verbatim(text) => {
                    for part in text.split_whitespace() {
                        let part = part.trim_matches('"');
                        given.push(CmdletArgument::of(PsValue::text(part), true, false, span));
                    }
                }
            }
        }
        given
    }

    fn splat(&mut self, name: &str, span: Span, given: &mut Vec<CmdletArgument>) {
        let value = self.variable(&name.to_ascii_lowercase()).unwrap_or_default();
        match &value.kind {
            Kind::Table(members) => {
                for (name, value) in members {
                    given.push(CmdletArgument::parameter(name, span));
                    given.push(CmdletArgument::of(value.clone(), false, true, span));
                }
            }
            Kind::List(_) => {
                for item in value.items() {
                    given.push(CmdletArgument::of(item, false, false, span));
                }
            }
            _ => given.push(CmdletArgument::of(
                PsValue::unknown(value.origins()),
                false,
                false,
                span,
            )),
        }
    }
}

/// The value given for a parameter, by its full name or its position.
fn argument(spec: &'static Spec, given: &[CmdletArgument], wanted: &str) -> Option<PsValue> {
    let position = spec.positions.iter().position(|names| names.split('|').any(|n| n == wanted));
    let mut named = vec![false; spec.positions.len()];
    let mut loose = Vec::new();
    let mut at = 0;
    while let Some(one) = given.get(at) {
        at += 1;
        let Some(name) = &one.argument.parameter else {
            loose.push(one);
            continue;
        };
        let next = given.get(at).filter(|g| g.argument.parameter.is_none());
        match bind::parameter(spec, name) {
            Some(Parameter::Value(full)) => {
                at += usize::from(next.is_some());
                if full == wanted {
                    return next.map(|g| g.value.clone());
                }
            }
            Some(Parameter::Position(index, _)) => {
                at += usize::from(next.is_some());
                if Some(index) == position {
                    return next.map(|g| g.value.clone());
                }
                if let Some(flag) = named.get_mut(index) {
                    *flag = true;
                }
            }
            _ => at += usize::from(next.is_some_and(|g| g.argument.attached)),
        }
    }
    let position = position?;
    let before = (0..position).filter(|i| named.get(*i) == Some(&false)).count();
    loose.get(before).map(|g| g.value.clone())
}

/// Whether a text is a pattern of names.
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', UNKNOWN])
}
