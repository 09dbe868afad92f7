//! Programs and code that code starts.

use crate::code::apply_rule::At;
use crate::code::ops::words;
use crate::code::reader::Reader;
use crate::code::table::{
    Rule, SIGN_DECODED, SIGN_SHELL, SIGN_START, SIGN_START_NET, TAINT_BUILT, TAINT_DECODED,
    TAINT_INPUT, TAINT_NET,
};
use crate::code::value::{HOLE, Shape, Value};
use crate::finding::Doubt;
use crate::name_lists::STARTED_SHELLS;
use countersign_types::tier::Tier;

impl<'a> Reader<'a, '_> {
    /// A program is started, perhaps in a folder of its own.
    pub(super) fn start_in(
        &mut self,
        rule: &'static Rule,
        subject: Option<&Value<'a>>,
        line: bool,
        args: &[Value<'a>],
        at: At,
    ) {
        let before = self.entered.len();
        self.enter(Self::start_folder(args));
        self.start(rule, subject, line, at);
        self.entered.truncate(before);
    }

    /// A program is started: by a shell line or by its words.
    pub(super) fn start(
        &mut self,
        rule: &'static Rule,
        subject: Option<&Value<'a>>,
        line: bool,
        at: At,
    ) {
        self.signs |= SIGN_START;
        let Some(value) = subject else { return self.dynamic_start(rule, 0, at) };
        if value.taint & TAINT_NET != 0 {
            self.signs |= SIGN_START_NET;
        }
        for choice in value.choices() {
            let taint = value.taint | choice.taint;
            if choice.shape == Shape::List && !line {
                self.start_words(rule, choice, taint, at);
            } else if let Some(text) = choice.text() {
                let cost = text.len() * 2 + 64;
                if text.starts_with(HOLE) || !self.pay(cost) {
                    self.dynamic_start(rule, taint, at);
                    continue;
                }
                self.started(rule, text.split_whitespace().next().unwrap_or_default(), text, at);
                if text.contains(HOLE) {
                    self.dynamic_words(rule, taint, at);
                }
                if taint & (TAINT_DECODED | TAINT_NET) != 0 {
                    self.dynamic_start(rule, taint, at);
                }
                self.hand_line(choice, text, at);
            } else {
                self.dynamic_start(rule, taint, at);
            }
        }
    }

    fn start_words(&mut self, rule: &'static Rule, list: &Value<'a>, taint: u32, at: At) {
        let mut argv = Vec::with_capacity(list.items().len());
        list.items().iter().for_each(|v| words(v, &mut argv));
        let cost: usize = argv.iter().map(|w| w.len() + 8).sum();
        let program = argv.first().cloned().unwrap_or_default();
        if program.is_empty() || program.starts_with("$_") || !self.pay(cost * 2) {
            return self.dynamic_start(rule, taint, at);
        }
        self.started(rule, &program, &argv.join(" "), at);
        if argv.iter().any(|w| w.contains("$_")) {
            self.dynamic_words(rule, taint, at);
        }
        self.hand_words(&argv, at);
    }

    fn started(&mut self, rule: &'static Rule, program: &str, line: &str, at: At) {
        let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
        let shell = STARTED_SHELLS.contains(&name);
        let open = shell && !line.contains(" -c ") && !line.contains("/c ");
        if open {
            self.signs |= SIGN_SHELL;
        }
        if !self.quiet {
            self.out.impact.programs.add(name);
        }
        if open {
            return self.note(rule, Tier::Medium, "a shell that takes any command", at);
        }
        self.note(rule, Tier::Low, name, at);
    }

    fn dynamic_words(&mut self, rule: &'static Rule, taint: u32, at: At) {
        self.out.doubt(Doubt::DynamicArguments);
        let risky = taint & (TAINT_NET | TAINT_DECODED) != 0;
        let tier = if risky { Tier::High } else { Tier::Medium };
        self.note(rule, tier, "part of the command is only known when it runs", at);
    }

    fn dynamic_start(&mut self, rule: &'static Rule, taint: u32, at: At) {
        if self.quiet {
            return;
        }
        self.out.doubt(Doubt::DynamicProgram);
        let (tier, note) = match taint {
            t if t & TAINT_NET != 0 => (Tier::High, "the command comes from the network"),
            t if t & TAINT_DECODED != 0 => (Tier::High, "the command is hidden by encoding"),
            t if t & TAINT_INPUT != 0 => (Tier::Medium, "the command is whatever it is given"),
            _ => (Tier::Medium, "which one is only known when it runs"),
        };
        self.note(rule, tier, note, at);
    }

    /// Code in a text.
    pub(super) fn eval(&mut self, rule: &'static Rule, subject: Option<&Value<'a>>, at: At) {
        let Some(value) = subject else { return };
        for choice in value.choices() {
            let taint = value.taint | choice.taint;
            let (tier, note) = match taint {
                t if t & TAINT_NET != 0 => (Tier::High, "the code comes from the network"),
                t if t & TAINT_DECODED != 0 => (Tier::High, "the code is hidden by encoding"),
                _ => (Tier::Medium, "which code is only known when it runs"),
            };
            if taint & TAINT_DECODED != 0 {
                self.signs |= SIGN_DECODED;
            }
            let whole = choice.whole().filter(|t| t.len() <= 65_536);
            let Some(text) = whole else {
                if !self.quiet && choice.num.is_none() {
                    self.out.doubt(Doubt::DynamicProgram);
                    self.note(rule, tier, note, at);
                }
                continue;
            };
            if tier == Tier::High {
                self.note(rule, tier, note, at);
            } else if taint & TAINT_BUILT != 0 {
                self.note(rule, tier, "it is put together while it runs", at);
            }
            if !self.quiet {
                self.hand_code(rule, choice, text, at);
            }
        }
    }
}
