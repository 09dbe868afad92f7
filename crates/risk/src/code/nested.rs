//! Handing text on: shell lines, code in code and SQL are read by their own readers.

use crate::code::reader::Reader;
use crate::code::table::Rule;
use crate::code::value::{HOLE, Value};
use crate::effect::Effect;
use crate::finding::{Doubt, Finding, Findings, Span};
use crate::nested_command::{Command, NestedCommand};
use crate::structural_findings;
use countersign_types::tier::Tier;

/// How deep code in code is followed.
pub(crate) const DEPTH_LIMIT: u8 = 4;

/// A byte read by another reader costs as much as this many read here.
const HAND_COST: usize = 8;

type At = (u32, u32);

impl<'a> Reader<'a, '_> {
    /// Where a value's text starts in the argument, if it stands there as it is.
    fn place(&self, value: &Value<'a>) -> Option<usize> {
        if self.fixed.is_some() {
            return None;
        }
        value.exact.map(|at| self.base + at as usize)
    }

    /// What another reader is given is paid for, so that a text named often costs no more.
    fn afford(&mut self, bytes: usize) -> bool {
        let enough = self.pay(bytes.saturating_mul(HAND_COST));
        if !enough {
            self.out.doubt(Doubt::Unreadable);
            let whole = self.span((0, 0));
            self.out.add(structural_findings::TOO_MANY_IN_CODE.finding().at(whole));
        }
        enough
    }

    pub(super) fn hand_line(&mut self, value: &Value<'a>, text: &str, at: At) {
        if self.quiet || !self.afford(text.len()) {
            return;
        }
        let place = self.place(value);
        let fixed = self.span(at);
        if text.contains(HOLE) {
            let known = text.replace(HOLE, "$_");
            self.hand_command(Command::Text(&known), 0, Some(fixed));
        } else {
            let span = if place.is_some() { None } else { Some(fixed) };
            self.hand_command(Command::Text(text), place.unwrap_or(0), span);
        }
    }

    /// Gives a command to the reader of shells. Its findings are added at once: whether code acts
    /// and how grave it is depends on them. All of them get the place `fixed`, where it is given.
    fn hand_command(&mut self, command: Command<'_>, base: usize, fixed: Option<Span>) {
        let mut inner = Findings::default();
        let depth = self.depth.saturating_add(1);
        let command = NestedCommand { command, base, depth };
        self.with_context(|ctx| (self.nested)(&command, ctx, &mut inner));
        absorb(self.out, inner, fixed);
    }

    pub(super) fn hand_words(&mut self, argv: &[String], at: At) {
        let bytes = argv.iter().map(String::len).sum();
        if self.quiet || !self.afford(bytes) {
            return;
        }
        let fixed = self.span(at);
        self.hand_command(Command::Words(argv), 0, Some(fixed));
    }

    pub(super) fn hand_sql(&mut self, value: &Value<'a>, text: &str, at: At) {
        if !self.afford(text.len()) {
            return;
        }
        let place = self.place(value).filter(|_| !text.contains(HOLE));
        let fixed = self.span(at);
        let mut inner = Findings::default();
        crate::sql::read(text, place.unwrap_or(0), self.ctx, &mut inner);
        absorb(self.out, inner, if place.is_some() { None } else { Some(fixed) });
    }

    /// Reads code in a text; code that acts has no business hiding in one.
    pub(super) fn hand_code(&mut self, rule: &'static Rule, value: &Value<'a>, text: &str, at: At) {
        if self.depth >= DEPTH_LIMIT || !self.pay(text.len()) {
            self.out.doubt(Doubt::Unreadable);
            self.note(rule, Tier::High, "it is wrapped too deep to be read", at);
            return;
        }
        let place = self.place(value);
        let fixed = self.span(at);
        let mut inner = Findings::default();
        let signs = self.with_context(|ctx| {
            let (base, depth) = (place.unwrap_or(0), self.depth + 1);
            let mut reader =
                Reader::new(self.lang, text, base, ctx, depth, self.nested, &mut inner);
            reader.fuel = reader.fuel.min(self.fuel);
            reader.fixed = if place.is_some() { None } else { Some(fixed) };
            reader.run();
            reader.signs
        });
        self.signs |= signs;
        let acts = !inner.effects.only_reads() || inner.tier() >= Tier::Medium;
        absorb(self.out, inner, None);
        if acts {
            self.out.effect(Effect::Exec);
            self.note(rule, Tier::Medium, "and that code acts", at);
        }
    }
}

/// Adds everything another reader saw, all of it at one place where a place is given.
fn absorb(out: &mut Findings, inner: Findings, place: Option<Span>) {
    out.absorb(inner, |finding| Finding { span: place.or(finding.span), ..finding });
}
