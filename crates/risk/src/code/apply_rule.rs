//! From a matched call to findings: paths, commands, code in text, addresses, rights.

use crate::code::paths::{Reach, sensitive};
use crate::code::reader::Reader;
use crate::code::table::{
    Kind, Rule, SIGN_DELETE, SIGN_FOREVER, SIGN_FORK, SIGN_SECRET, SIGN_SYSTEM, SIGN_WRITE,
    TAINT_MANY, id,
};
use crate::code::value::{HOLE, Shape, TAINT_LOST, Value};
use crate::effect::Effect;
use crate::finding::Finding;
use crate::limit;
use countersign_types::tier::Tier;

/// As `arg` of a rule: the object the method belongs to.
const RECEIVER: u8 = 9;
/// As `arg` of a rule: the last argument.
const LAST: u8 = 8;

pub(super) type At = (u32, u32);

impl<'a> Reader<'a, '_> {
    /// Adds a finding for a rule; SAFE adds its effects only.
    pub(super) fn note(&mut self, rule: &'static Rule, tier: Tier, note: &str, at: At) {
        if self.quiet {
            return;
        }
        for &effect in rule.effects {
            self.out.effect(effect);
        }
        if tier == Tier::Safe {
            return;
        }
        let stem = rule.message.trim_end_matches('.');
        let mut finding = if note.is_empty() {
            Finding::pattern(rule.id, tier, rule.message)
        } else {
            Finding::pattern(rule.id, tier, format!("{stem}: {note}."))
        };
        if !rule.suggestion.is_empty() {
            finding.suggestion = Some(rule.suggestion.into());
        }
        let span = self.span(at);
        self.out.add(finding.at(span));
    }

    /// Reads a matched call.
    pub(super) fn act(
        &mut self,
        rule: &'static Rule,
        callee: &Value<'a>,
        args: &[Value<'a>],
        at: At,
    ) {
        if !rule.needs.is_empty() && !self.modules.iter().any(|m| m.starts_with(rule.needs)) {
            return;
        }
        self.pay(16);
        if !self.quiet
            && (args.iter().any(|v| v.taint & TAINT_LOST != 0) || callee.taint & TAINT_LOST != 0)
        {
            let span = self.span(at);
            limit::report_lost(self.out, Some(span));
        }
        self.note_signs(rule);
        let subject = subject(rule, callee, args);
        match rule.kind {
            Kind::Plain => self.note(rule, rule.tier, "", at),
            Kind::Delete | Kind::Tree | Kind::Write | Kind::Read => {
                self.paths(rule, rule.kind, subject, at);
            }
            Kind::Open => self.open(rule, subject, args, at),
            Kind::Copy => self.copy(rule, subject, args, at),
            Kind::Shell => self.start_in(rule, subject, true, args, at),
            Kind::Start => self.start_in(rule, subject, false, args, at),
            Kind::Spread => {
                let all: Vec<Value<'a>> =
                    args.iter().skip(usize::from(rule.arg)).flat_map(spread).collect();
                let list = Value::of_items(all, Shape::List);
                let list = Some(&list).filter(|list| !list.items().is_empty());
                self.start_in(rule, list, false, args, at);
            }
            Kind::Eval => self.eval(rule, subject, at),
            Kind::Sql => self.sql(rule, subject, at),
            Kind::Fetch | Kind::Request => self.request(rule, subject, args, at),
            Kind::Kill => self.kill(rule, subject, args, at),
            Kind::Mode => self.mode(rule, subject, args, at),
            Kind::Enter => self.enter(subject),
        }
    }

    fn note_signs(&mut self, rule: &'static Rule) {
        self.signs |= rule.signs;
        if rule.signs & SIGN_FORK != 0 {
            self.signs |= if self.endless.is_some() { SIGN_FOREVER } else { 0 };
            let name = self.function;
            if let Some(function) = self.funcs.get_mut(&id(name)) {
                function.forks = true;
            }
        }
    }

    fn paths(&mut self, rule: &'static Rule, kind: Kind, subject: Option<&Value<'a>>, at: At) {
        let Some(value) = subject else { return self.path(rule, kind, None, 0, at) };
        for choice in value.choices() {
            if !self.pay(16) {
                return;
            }
            self.path(rule, kind, choice.text(), value.taint | choice.taint, at);
        }
    }

    fn path(&mut self, rule: &'static Rule, kind: Kind, path: Option<&str>, taint: u32, at: At) {
        let reach = self.with_context(|ctx| sensitive(path.unwrap_or("x"), ctx));
        let tier = match kind {
            Kind::Read => reach.read,
            Kind::Write => reach.write.max(rule.tier),
            _ => self.delete_tier(rule, kind, reach, taint),
        };
        if !self.quiet {
            self.touch(kind, path);
        }
        match kind {
            Kind::Read => {
                let system = reach.read >= Tier::Low;
                self.signs |= if reach.read >= Tier::High { SIGN_SECRET } else { 0 };
                self.signs |= if system { SIGN_SYSTEM } else { 0 };
                if reach.read >= Tier::High && !self.quiet {
                    self.out.effect(Effect::Secret);
                    self.out.impact.secrets.add(path.unwrap_or("?"));
                    self.out.trace.shows_secret(path.unwrap_or("a stored secret"));
                }
            }
            Kind::Write => self.signs |= SIGN_WRITE,
            _ => self.signs |= SIGN_DELETE,
        }
        // To look at an ordinary file, or at one anyone may read, is nothing.
        let quiet = kind == Kind::Read && tier < Tier::Medium;
        self.note(rule, if quiet { Tier::Safe } else { tier }, reach.note, at);
    }

    fn delete_tier(&self, rule: &'static Rule, kind: Kind, reach: Reach, taint: u32) -> Tier {
        let ordinary = reach.note.is_empty();
        if ordinary && self.ctx.environment.is_disposable() {
            return Tier::Low;
        }
        let worse = match (kind, ordinary) {
            (Kind::Tree, false) => Tier::Critical,
            (_, _) if taint & TAINT_MANY != 0 => Tier::High.max(reach.delete),
            _ => reach.delete,
        };
        worse.max(rule.tier)
    }

    fn touch(&mut self, kind: Kind, path: Option<&str>) {
        let shown = path.map(|p| p.replace(HOLE, "…"));
        let shown = shown.as_deref();
        match kind {
            Kind::Read => self.out.effect(Effect::Read),
            Kind::Write => {
                self.out.effect(Effect::Write);
                if let Some(path) = shown {
                    self.out.impact.writes.add(path);
                }
            }
            _ => {
                self.out.effect(Effect::Delete);
                self.out.irreversible();
                self.out.impact.deletes.add(shown.unwrap_or("?"));
            }
        }
    }

    /// `open(path, mode)`: the mode says whether it writes.
    fn open(
        &mut self,
        rule: &'static Rule,
        subject: Option<&Value<'a>>,
        args: &[Value<'a>],
        at: At,
    ) {
        let place = if rule.arg == RECEIVER { 0 } else { rule.arg + 1 };
        let mode = Value::keyed(args, "mode").or_else(|| Value::nth(args, place));
        let mut text = mode.and_then(Value::text);
        let mut subject = subject;
        // Perl's three-argument open has the mode first.
        let first = subject.and_then(Value::text).unwrap_or_default();
        let arrows = !first.is_empty() && first.bytes().all(|b| b"<>+|-".contains(&b));
        if rule.arg == 1 && arrows && args.len() > 2 {
            text = Some(first);
            subject = Value::nth(args, 2);
        }
        let writes = match text {
            Some(m) => m.contains(['w', 'a', 'x', '+', '>', 'W']),
            None => false,
        };
        // Perl's two-argument open: "> file", "command |".
        let inline = subject.and_then(Value::text).unwrap_or_default().trim();
        let pipe = text.is_some_and(|m| m.contains('|')) || inline.ends_with('|');
        if (pipe || inline.starts_with('|')) && self.lang != crate::code::Language::Python {
            let list: Vec<Value<'a>> = args.iter().skip(1).flat_map(spread).collect();
            let list = Value::of_items(list, Shape::List);
            return self.start(rule, Some(&list), false, at);
        }
        if writes || (inline.starts_with('>') && rule.arg > 0) {
            return self.paths(rule, Kind::Write, subject, at);
        }
        let read = self.table.rules.iter().rev().find(|r| r.kind == Kind::Read).unwrap_or(rule);
        self.paths(read, Kind::Read, subject, at);
    }

    fn copy(
        &mut self,
        rule: &'static Rule,
        subject: Option<&Value<'a>>,
        args: &[Value<'a>],
        at: At,
    ) {
        let read = self.table.rules.iter().rev().find(|r| r.kind == Kind::Read).unwrap_or(rule);
        self.paths(read, Kind::Read, subject, at);
        let target = if rule.arg == RECEIVER { 0 } else { rule.arg + 1 };
        let to = Value::nth(args, target).or_else(|| Value::keyed(args, "dst"));
        self.paths(rule, Kind::Write, to, at);
    }

    fn sql(&mut self, rule: &'static Rule, subject: Option<&Value<'a>>, at: At) {
        let Some(value) = subject else { return };
        for choice in value.choices() {
            let Some(text) = choice.text() else { continue };
            if crate::sql::looks_like_sql(text) && !self.quiet && self.pay(text.len()) {
                self.note(rule, rule.tier, "", at);
                self.hand_sql(choice, text, at);
            }
        }
    }
}

fn spread<'a>(value: &Value<'a>) -> Vec<Value<'a>> {
    match value.shape {
        Shape::List if value.items().iter().any(|v| !v.key.is_empty()) => Vec::new(),
        Shape::List => value.items().to_vec(),
        _ if value.key.is_empty() => vec![value.clone()],
        _ => Vec::new(),
    }
}

/// The value that a rule is about: the receiver, or an argument by its place or its name.
fn subject<'v, 'a>(
    rule: &Rule,
    callee: &'v Value<'a>,
    args: &'v [Value<'a>],
) -> Option<&'v Value<'a>> {
    let keys = ["path", "file", "filename", "src", "url", "args", "cmd", "command"];
    let keyed = || keys.iter().find_map(|key| Value::keyed(args, key));
    if rule.arg == RECEIVER {
        Some(callee)
    } else if rule.arg == LAST {
        args.last()
    } else {
        Value::nth(args, rule.arg).or_else(keyed)
    }
}
