//! From a matched call to findings: paths, commands, code in text, addresses, rights.

use crate::code::ops::words;
use crate::code::paths::{Reach, sensitive};
use crate::code::reader::Reader;
use crate::code::table::{
    Kind, Rule, SIGN_DECODED, SIGN_DELETE, SIGN_ENV, SIGN_FETCH, SIGN_FOREVER, SIGN_FORK,
    SIGN_SECRET, SIGN_SEND, SIGN_SHELL, SIGN_START, SIGN_START_NET, SIGN_SYSTEM, SIGN_WRITE,
    TAINT_BUILT, TAINT_DECODED, TAINT_ENV, TAINT_INPUT, TAINT_MANY, TAINT_NET, id,
};
use crate::code::url;
use crate::code::value::{HOLE, Shape, TAINT_LOST, Value};
use crate::effect::Effect;
use crate::finding::{Doubt, Finding};
use crate::limit;
use countersign_types::tier::Tier;

/// As `arg` of a rule: the object the method belongs to.
const RECEIVER: u8 = 9;
/// As `arg` of a rule: the last argument.
const LAST: u8 = 8;

type At = (u32, u32);

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
        let stem = rule.say.trim_end_matches('.');
        let mut finding = if note.is_empty() {
            Finding::pattern(rule.id, tier, rule.say)
        } else {
            Finding::pattern(rule.id, tier, format!("{stem}: {note}."))
        };
        if !rule.safer.is_empty() {
            finding.safer = Some(rule.safer.into());
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
        self.signs |= rule.signs;
        if rule.signs & SIGN_FORK != 0 {
            self.signs |= if self.endless.is_some() { SIGN_FOREVER } else { 0 };
            let name = self.function;
            if let Some(function) = self.funcs.get_mut(&id(name)) {
                function.forks = true;
            }
        }
        let keys = ["path", "file", "filename", "src", "url", "args", "cmd", "command"];
        let keyed = || keys.iter().find_map(|key| Value::keyed(args, key));
        let subject = if rule.arg == RECEIVER {
            Some(callee)
        } else if rule.arg == LAST {
            args.last()
        } else {
            Value::nth(args, rule.arg).or_else(keyed)
        };
        match rule.kind {
            Kind::Plain => self.note(rule, rule.tier, "", at),
            Kind::Delete | Kind::Tree | Kind::Write | Kind::Read => {
                self.paths(rule, rule.kind, subject, at);
            }
            Kind::Open => self.open(rule, subject, args, at),
            Kind::Copy => self.copy(rule, subject, args, at),
            Kind::Shell => self.start(rule, subject, true, at),
            Kind::Start => self.start(rule, subject, false, at),
            Kind::Spread => {
                let all: Vec<Value<'a>> =
                    args.iter().skip(usize::from(rule.arg)).flat_map(spread).collect();
                let list = Value::of_items(all, Shape::List);
                self.start(rule, Some(&list).filter(|l| !l.items().is_empty()), false, at);
            }
            Kind::Eval => self.eval(rule, subject, at),
            Kind::Sql => self.sql(rule, subject, at),
            Kind::Fetch | Kind::Request => self.request(rule, subject, args, at),
            Kind::Kill => self.kill(rule, subject, args, at),
            Kind::Mode => self.mode(rule, subject, args, at),
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
        let reach = path.map_or_else(|| sensitive("x"), sensitive);
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

    /// A program is started: by a shell line or by its words.
    fn start(&mut self, rule: &'static Rule, subject: Option<&Value<'a>>, line: bool, at: At) {
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
        let shell = matches!(
            name,
            "sh" | "bash" | "zsh" | "dash" | "ksh" | "cmd" | "cmd.exe" | "powershell.exe"
        );
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
    fn eval(&mut self, rule: &'static Rule, subject: Option<&Value<'a>>, at: At) {
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

    /// An HTTP request: fetching, or sending when it carries data.
    fn request(
        &mut self,
        rule: &'static Rule,
        subject: Option<&Value<'a>>,
        args: &[Value<'a>],
        at: At,
    ) {
        let mut carries = false;
        if rule.kind == Kind::Request {
            let verb = |v: &Value<'_>| v.text().is_some_and(sends);
            let options = args.iter().flat_map(|a| a.items().iter().chain(std::iter::once(a)));
            carries = options.clone().any(|v| match v.key {
                "method" | "type" => verb(v),
                "data" | "json" | "files" | "body" => v.text() != Some("None"),
                _ => false,
            }) || args.iter().take(2).any(verb);
            // `urlopen(url, data)`, `Request(url, data)`.
            let second = Value::nth(args, rule.arg + 1);
            let data = |v: &Value<'_>| v.num.is_none() && v.name != "None" && v.key.is_empty();
            carries |= rule.tier == Tier::Medium && second.is_some_and(data);
        }
        let address = subject.filter(|v| v.text().is_some_and(|t| t.contains("://")));
        let address =
            address.or_else(|| args.iter().find(|v| v.text().is_some_and(|t| t.contains("://"))));
        self.address(address, at);
        let data = args.iter().fold(0, |t, v| t | v.taint);
        if carries {
            self.signs |= SIGN_SEND;
            self.signs |= if data & TAINT_ENV != 0 { SIGN_ENV } else { 0 };
            if !self.quiet {
                self.out.effect(Effect::NetOut);
            }
            self.note(rule, Tier::Medium, "", at);
        } else {
            self.signs |= SIGN_FETCH;
            if !self.quiet {
                self.out.effect(Effect::NetIn);
            }
        }
    }

    fn address(&mut self, value: Option<&Value<'a>>, at: At) {
        let Some(value) = value.filter(|_| !self.quiet) else { return };
        for choice in value.choices() {
            let Some(text) = choice.text() else { continue };
            if let Some(host) = url::host(text) {
                self.out.impact.hosts.add(host);
            }
            let rule = self.table.rules.iter().find(|r| r.id == "code.net.disguised");
            if let Some(rule) = rule.filter(|_| url::disguised(text)) {
                self.note(rule, rule.tier, "", at);
            }
        }
    }

    fn kill(
        &mut self,
        rule: &'static Rule,
        subject: Option<&Value<'a>>,
        args: &[Value<'a>],
        at: At,
    ) {
        let signal = Value::nth(args, rule.arg + 1).and_then(|v| v.num);
        if signal == Some(0) {
            return;
        }
        let tier = match subject.and_then(|v| v.num) {
            Some(-1 | 1) => Tier::Critical,
            _ => rule.tier,
        };
        self.note(
            rule,
            tier,
            if tier == Tier::Critical { "everything on the machine" } else { "" },
            at,
        );
    }

    /// `chmod`, `chown`.
    fn mode(
        &mut self,
        rule: &'static Rule,
        subject: Option<&Value<'a>>,
        args: &[Value<'a>],
        at: At,
    ) {
        let bits = args.iter().filter_map(|v| v.num.or_else(|| octal(v.text()?))).max();
        let open = bits.is_some_and(|b| b & 0o002 != 0 || b & 0o6000 != 0);
        let reach =
            subject.and_then(|v| v.latest().text()).map_or_else(|| sensitive("x"), sensitive);
        let (tier, note) = if !reach.note.is_empty() {
            (reach.write, reach.note)
        } else if open {
            (Tier::High, "everybody may change it")
        } else {
            (rule.tier, "")
        };
        self.note(rule, tier, note, at);
    }
}

fn octal(text: &str) -> Option<i64> {
    (text.len() >= 3).then(|| i64::from_str_radix(text, 8).ok()).flatten()
}

fn sends(verb: &str) -> bool {
    ["POST", "PUT", "PATCH", "DELETE"].iter().any(|v| v.eq_ignore_ascii_case(verb))
}

fn spread<'a>(value: &Value<'a>) -> Vec<Value<'a>> {
    match value.shape {
        Shape::List if value.items().iter().any(|v| !v.key.is_empty()) => Vec::new(),
        Shape::List => value.items().to_vec(),
        _ if value.key.is_empty() => vec![value.clone()],
        _ => Vec::new(),
    }
}
