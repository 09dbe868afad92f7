//! One command with its final words: what is it, what does it run inside, what does it touch.

use std::borrow::Cow;

use super::evaluator::Evaluator;
use super::expand::Arg;
use super::flow::{Flow, Taint};
use super::help::{asks_for_help, grave, only_help};
use super::invocation::Invocation;
use super::objects;
use super::program::{Known, is_odd_place, is_recipe, is_standard_place, resolve};
use super::structural_findings;
use super::tables::{self, EVERY_PROGRAM, Rule, Spec, Touch, UNDESCRIBED, UNDESCRIBED_READ_ONLY};
use crate::effect::Effect;
use crate::finding::{Doubt, Factor, Finding, Span};
use crate::limit::{self, Limit};
use crate::paths::{Act, class_of};
use countersign_shell::UNKNOWN;
use countersign_text::glob;
use countersign_types::tier::{Points, Tier};

/// How many commands may stand inside each other (`sudo env nice …`).
const MAX_INNER: u8 = 24;

/// How many programs one pattern is tried as.
const GUESSED: Limit = Limit::new("programs that a pattern fits", 12);

/// How many programs named by patterns are tried.
const MAX_GUESSES: u8 = 8;

/// What holding rules against a call came to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Matched {
    Nothing,
    Some,
    /// Also a rule about settings for the shell.
    Settings,
}

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Judges one command; returns what it would write to its output.
    pub(super) fn command(&mut self, args: &[Arg<'t>], stdin: Flow, span: Span) -> Flow {
        if self.shared.inner >= MAX_INNER {
            self.shared.sign(&structural_findings::TOO_DEEP, Some(span));
            self.shared.out.doubt(Doubt::Unreadable);
            return Flow::unknown(stdin.taint);
        }
        if args.iter().any(|a| a.taint.has(Taint::LOST)) {
            limit::report_lost(self.shared.out, Some(span));
        }
        self.shared.inner += 1;
        self.shared.asks += 1;
        let flow = self.one_command(args, stdin, span);
        self.shared.inner -= 1;
        flow
    }

    fn one_command(&mut self, args: &[Arg<'t>], stdin: Flow, span: Span) -> Flow {
        let Some(first) = args.first() else { return stdin };
        if first.is_unknown() || first.text.is_empty() {
            // `$DIR/bin/python`: the folder is open, the program is not.
            let known = first.text.rsplit_once('/').filter(|(_, name)| !name.contains(UNKNOWN));
            if let Some(known) = known.and_then(|(_, name)| resolve(name)) {
                self.shared.out.doubt(Doubt::DynamicArguments);
                self.shared.sign(&structural_findings::UNKNOWN_FOLDER, Some(first.span));
                return self.judged(args, &stdin, |w| w.known(known, args, &stdin, span));
            }
            return self.judged(args, &stdin, |w| w.dynamic(args, &stdin, span));
        }
        // A function of the same name hides what the shell does itself: both count.
        let called = self.call(&first.text, args, &stdin);
        let own = match &called {
            Some(_) => self.maybe(|w| w.builtin(args, &stdin, span)),
            None => self.builtin(args, &stdin, span),
        };
        if let Some(flow) = called.or(own) {
            return flow;
        }
        if first.glob {
            return self.globbed(args, &stdin, span);
        }
        if first.has_slash() {
            if let Some(content) = self.known_file(&first.text) {
                return self.run_written(content, first, &stdin);
            }
            if let Some(flow) = self.run_remembered(None, &first.text, &stdin, first.span) {
                return flow;
            }
        } else if let Some(path) = self.shared.program_file(&first.text) {
            // `PATH` may lead there.
            if let Some(content) = self.known_file(&path) {
                self.run_written(content, first, &stdin);
            }
        }
        // zsh: `=rm` is the path of `rm`.
        let named = first.text.strip_prefix('=').and_then(resolve);
        match resolve(&first.text).or(named) {
            Some(known) if known.0.cmdlet || known.0.slash_options => {
                self.judged(args, &stdin, |w| w.windows_command(known, args, &stdin, span))
            }
            Some(known) => {
                if first.has_slash() && !is_standard_place(&first.text) {
                    self.shared.sign(&structural_findings::UNKNOWN_PROGRAM, Some(first.span));
                }
                self.judged(args, &stdin, |w| w.known(known, args, &stdin, span))
            }
            None => self.judged(args, &stdin, |w| w.unlisted(args, &stdin, span)),
        }
    }

    /// The program's name is only known at run time.
    fn dynamic(&mut self, args: &[Arg<'t>], stdin: &Flow, span: Span) -> Flow {
        let Some(first) = args.first() else { return Flow::none() };
        if first.text.is_empty() {
            // An empty word runs nothing; what follows is not run either.
            return Flow::none();
        }
        self.shared.out.doubt(Doubt::DynamicProgram);
        self.shared.out.effect(Effect::Exec);
        let sign = if first.taint.has(Taint::NET) {
            self.remote_sign(first.taint)
        } else if first.taint.has(Taint::DECODED) {
            &structural_findings::DECODED_CODE
        } else {
            &structural_findings::DYNAMIC
        };
        self.shared.sign(sign, Some(span));
        let inv = Invocation::new(args, None);
        let recursive =
            inv.has_one(&["-r", "-R", "--recursive"]) && inv.has_one(&["-f", "--force"]);
        if recursive {
            self.shared.sign(&structural_findings::DYNAMIC_DELETE, Some(span));
            for index in &inv.operands {
                if let Some(arg) = inv.arg(*index) {
                    self.touch(Touch::Delete, arg, true);
                }
            }
        }
        self.rules(EVERY_PROGRAM, &inv, stdin.present, span);
        Flow::unknown(stdin.taint)
    }

    /// `/bin/r?`: every program it could be counts.
    fn globbed(&mut self, args: &[Arg<'t>], stdin: &Flow, span: Span) -> Flow {
        self.shared.sign(&structural_findings::DYNAMIC, Some(span));
        self.shared.out.doubt(Doubt::DynamicProgram);
        let Some(first) = args.first() else { return Flow::none() };
        self.shared.edits += 1;
        self.shared.guesses = self.shared.guesses.saturating_add(1);
        if self.shared.guesses > MAX_GUESSES {
            self.shared.sign(&structural_findings::TOO_MANY, Some(span));
            return Flow::unknown(stdin.taint);
        }
        if std::mem::replace(&mut self.shared.guessing, true) {
            // A pattern inside a guess: known to be unknown, which is said already.
            return Flow::unknown(stdin.taint);
        }
        let pattern = first.text.rsplit('/').next().unwrap_or_default().replace(['[', ']'], "");
        let mut names: Vec<&str> = tables::names().filter(|n| glob::matches(&pattern, n)).collect();
        GUESSED.cut(&mut names, self.shared.out, Some(span));
        for name in names {
            let mut guess = args.to_vec();
            if let Some(slot) = guess.first_mut() {
                slot.text = Cow::Borrowed(name);
                slot.glob = false;
            }
            if let Some(known) = resolve(name) {
                self.known(known, &guess, stdin, span);
            }
        }
        self.shared.guessing = false;
        Flow::unknown(stdin.taint)
    }

    /// A file this text wrote before is run.
    fn run_written(&mut self, content: Flow, first: &Arg<'t>, stdin: &Flow) -> Flow {
        self.shared.out.effect(Effect::Exec);
        if content.taint.has(Taint::BUILT) && self.shared.workspace.is_known() {
            return Flow::unknown(stdin.taint);
        }
        if content.taint.has(Taint::NET) {
            let sign = self.remote_sign(content.taint);
            self.shared.sign(sign, Some(first.span));
        } else {
            self.shared.sign(&structural_findings::WRITE_AND_RUN, Some(first.span));
        }
        match content.text {
            Some(text) => self.inside(&text, first.span, stdin),
            None => Flow::unknown(content.taint),
        }
    }

    /// Reads a text that stands inside a word.
    pub(super) fn inside(&mut self, text: &str, span: Span, stdin: &Flow) -> Flow {
        let old = self.shared.fixed.replace(span);
        let flow = self.shared.text(text, stdin);
        self.shared.fixed = old;
        flow
    }

    pub(super) fn remote_sign(&self, taint: Taint) -> &'static structural_findings::Sign {
        if self.shared.root || taint.has(Taint::NET_OPEN) {
            &structural_findings::REMOTE_CODE_WORSE
        } else {
            &structural_findings::REMOTE_CODE
        }
    }

    /// A program without a description.
    fn unlisted(&mut self, args: &[Arg<'t>], stdin: &Flow, span: Span) -> Flow {
        let Some(first) = args.first() else { return Flow::none() };
        let inv = Invocation::new(args, None);
        self.shared.out.effect(Effect::Exec);
        self.shared.out.doubt(Doubt::UnknownProgram);
        self.shared.out.impact.programs.add(&first.text);
        let place = self.shared.workspace.local(&first.text);
        let odd = first.has_slash() && is_odd_place(&place);
        let looks = UNDESCRIBED_READ_ONLY.iter().any(|rule| inv.fits(rule, stdin.present, true));
        let away = place.starts_with('/')
            && !is_standard_place(&place)
            && matches!(class_of(&place, None).id, "elsewhere" | "shared-data");
        let sign = match (self.shared.root && !looks, odd) {
            (true, _) => &structural_findings::UNKNOWN_AS_ROOT,
            (_, true) => &structural_findings::ODD_PLACE,
            _ if away => &structural_findings::PROGRAM_AWAY,
            _ => &structural_findings::UNKNOWN_PROGRAM,
        };
        if sign.tier >= Tier::Medium && first.has_slash() {
            self.first_use(sign, &first.text, first.span);
        } else {
            self.shared.sign(sign, Some(first.span));
        }
        self.rules(UNDESCRIBED, &inv, stdin.present, span);
        self.rules(EVERY_PROGRAM, &inv, stdin.present, span);
        self.undescribed_runner(&inv, stdin, span);
        for index in &inv.operands {
            if let Some(arg) = inv.arg(*index) {
                let url = arg.text.contains("://");
                if !url && self.shared.class_for(Act::Read, &arg.text).read >= Tier::High {
                    self.touch(Touch::Read, arg, false);
                }
            }
        }
        Flow::unknown(stdin.taint)
    }

    pub(super) fn known(
        &mut self,
        known: Known,
        args: &[Arg<'t>],
        stdin: &Flow,
        span: Span,
    ) -> Flow {
        let (spec, ..) = known;
        let inv = Invocation::new(args, Some(spec));
        spec.effects.iter().for_each(|e| self.shared.out.effect(*e));
        let dry = inv.has_any(spec.dry);
        let before = self.elsewhere_by_option(&inv);
        let flow = self.known_here(known, &inv, dry, stdin, span);
        if let Some(before) = before {
            self.shared.folders = before;
        }
        flow
    }

    /// The same where its options send it.
    fn known_here(
        &mut self,
        known: Known,
        inv: &Invocation<'_, 't>,
        dry: bool,
        stdin: &Flow,
        span: Span,
    ) -> Flow {
        let ((spec, rules, runners), args) = (known, inv.args);
        let help = runners.is_empty() && asks_for_help(spec, inv);
        if help && rules.iter().any(|rule| !rule.sub.is_empty()) && only_help(inv) {
            return Flow::unknown(Taint::default());
        }
        let matched = self.rules(rules, inv, stdin.present, span);
        let secret = |r: &&&Rule| r.effects.contains(&Effect::Secret);
        let reveals = spec.effects.contains(&Effect::Secret)
            || rules.iter().filter(secret).any(|r| inv.fits(r, stdin.present, self.shared.root));
        if help && !grave(rules, inv, stdin.present) {
            return Flow::unknown(Taint::default());
        }
        let odd =
            |a: &Arg<'_>| a.has_slash() && is_odd_place(&self.shared.workspace.local(&a.text));
        if let Some(first) = args.first().filter(|first| odd(first)) {
            self.first_use(&structural_findings::ODD_PLACE, &first.text, span);
        }
        if !spec.inert {
            self.rules(EVERY_PROGRAM, inv, stdin.present, span);
        }
        if self.shared.root && spec.base >= Tier::Low {
            self.as_root(span);
        }
        if let Some(flow) = self.inner_commands(runners, spec, inv, stdin, span) {
            if spec.sends {
                self.sent(stdin.taint, stdin.taint, span);
            }
            self.option_writes(spec, inv, dry);
            return flow;
        }
        if !spec.exec.is_empty() {
            self.exec_options(spec, inv, span);
        }
        if let Some(interpreter) = &spec.interpreter
            && let Some(flow) = self.interpret(*interpreter, spec, inv, stdin, span)
        {
            self.option_writes(spec, inv, dry);
            return flow;
        }
        if spec.family == "packages" {
            self.shared.file_uses += 1;
            if self.shared.files.iter().any(|(p, _)| is_recipe(p)) {
                self.shared.sign(&structural_findings::WRITE_AND_RUN, Some(span));
            }
        }
        let taint = if dry { Taint::default() } else { self.touches(spec, inv, stdin) };
        self.copied(inv, stdin);
        if matched == Matched::Nothing && !dry && spec.base > Tier::Safe {
            self.base(spec, inv, span);
        }
        let revealed = if reveals { Taint::SECRET } else { Taint::default() };
        let taint = taint.and(stdin.taint).and(revealed);
        if spec.sends {
            self.sent(stdin.taint, taint, span);
        }
        if matched == Matched::Settings {
            return Flow::text(String::new());
        }
        if let Some(flow) = self.output(inv, stdin) {
            return Flow { taint: flow.taint.and(taint), ..flow };
        }
        let fetched = if spec.fetches { self.fetched(inv) } else { Taint::default() };
        Flow::unknown(taint.and(fetched))
    }

    fn base(&mut self, spec: &Spec, inv: &Invocation<'_, 't>, span: Span) {
        objects::note(spec.ordinary, spec.base, inv, span, self.shared.out);
        let message = if spec.message.is_empty() {
            "Changes something on this machine."
        } else {
            spec.message
        };
        let mut finding = Finding::pattern(spec.ordinary, spec.base, message);
        finding.span = Some(span);
        self.shared.out.add(finding);
    }

    fn as_root(&mut self, span: Span) {
        self.shared.out.effect(Effect::Privilege);
        let mut finding = Finding::pattern(
            structural_findings::AS_ROOT.code,
            Tier::Safe,
            structural_findings::AS_ROOT.message,
        );
        finding.factor = Factor::Context;
        finding.weight = Points(30);
        finding.span = Some(span);
        self.shared.out.add(finding);
    }

    /// Data that leaves with this command.
    fn sent(&mut self, stdin: Taint, all: Taint, span: Span) {
        if all.has(Taint::SECRET) {
            self.shared.out.effect(Effect::NetOut);
            self.shared.sign(&structural_findings::EXFILTRATION, Some(span));
        } else if stdin.has(Taint::FILE) {
            self.shared.out.effect(Effect::NetOut);
            self.shared.sign(&structural_findings::UPLOAD, Some(span));
        }
    }

    /// Where a download comes from, by its words.
    fn fetched(&mut self, inv: &Invocation<'_, 't>) -> Taint {
        let mut taint = Taint::NET;
        let mut remote = None;
        for index in &inv.operands {
            let Some(arg) = inv.arg(*index) else { continue };
            if arg.text.contains("://") || arg.text.contains('.') {
                taint = taint.and(self.on_net(&arg.text));
                let path = arg.text.split(['?', '#']).next().unwrap_or_default();
                remote = path.rsplit('/').next().filter(|n| !n.is_empty() && n.len() < path.len());
            }
        }
        let named = inv
            .values
            .iter()
            .find(|(n, _)| matches!(*n, "-o" | "--output" | "-O" | "--output-document" | "--out"));
        // Without `-O`, wget keeps the remote name; curl does with it.
        let file = match named {
            Some((_, value)) => Some(value.text),
            None if !inv.args.first().is_some_and(|a| a.text.ends_with("curl")) => remote,
            None if inv.has_one(&["-O", "--remote-name", "--remote-name-all"]) => remote,
            None => None,
        };
        if let Some(file) = file.filter(|f| *f != "-") {
            self.written(file, false, &Flow::unknown(taint));
        }
        taint
    }

    /// Holds rules against a call.
    fn rules(
        &mut self,
        rules: &[&'static Rule],
        inv: &Invocation<'_, 't>,
        stdin: bool,
        span: Span,
    ) -> Matched {
        let mut matched = Matched::Nothing;
        let mut gravest: Option<&Rule> = None;
        for rule in rules {
            let placed = (!rule.home || self.shared.home_moved)
                && (!rule.unplaced || !self.shared.workspace.is_known());
            if !placed || !inv.fits(rule, stdin, self.shared.root) {
                continue;
            }
            matched = matched.max(if rule.settings { Matched::Settings } else { Matched::Some });
            if rule.tier > gravest.map_or(Tier::Safe, |known| known.tier) {
                gravest = Some(rule);
            }
            rule.effects.iter().for_each(|e| self.shared.out.effect(*e));
            if rule.irreversible {
                self.shared.out.irreversible();
            }
            // A rule of SAFE weighs nothing but says why nobody is asked.
            let mut finding = Finding::pattern(rule.id, self.rule_tier(rule, inv), rule.message);
            finding.suggestion = rule.suggestion.map(Into::into);
            finding.span = Some(span);
            self.shared.out.add(finding);
        }
        if let Some(rule) = gravest {
            objects::note(rule.id, rule.tier, inv, span, self.shared.out);
        }
        matched
    }

    /// What options and operands do to paths and hosts.
    fn touches(&mut self, spec: &'static Spec, inv: &Invocation<'_, 't>, stdin: &Flow) -> Taint {
        let mut taint = Taint::default();
        let recursive = inv.has_any(spec.recursive);
        for (name, value) in &inv.values {
            let touch = match spec.touches.iter().find(|(n, _)| n == name) {
                Some((_, touch)) => touch,
                // The name of an option that takes no value in every program of the list: what
                // stands behind it may be the file.
                None if spec.inert && spec.operands.rest == Touch::Read => &Touch::Named,
                None => continue,
            };
            let Some(word) = inv.args.get(value.word) else { continue };
            let arg = Arg { text: Cow::Owned(value.text.to_owned()), ..word.clone() };
            taint = taint.and(self.value_touch(*touch, &arg, stdin));
        }
        let operands = &spec.operands;
        let lead: &[Touch] = if inv.has_any(spec.first_if) { &[] } else { operands.lead };
        let count = inv.operands.len();
        let tail_from = count.saturating_sub(operands.tail.len()).max(lead.len().min(count));
        let in_place = inv.has_any(spec.in_place);
        let skip_tail = !operands.tail.is_empty()
            && inv.values.iter().any(|(name, _)| {
                let writes = |t: &Touch| matches!(t, Touch::Write | Touch::Build);
                spec.touches.iter().any(|(n, t)| writes(t) && n == name)
            });
        for (i, index) in inv.operands.iter().enumerate() {
            let Some(arg) = inv.arg(*index) else { continue };
            if let Some((_, touch)) = spec.keys.iter().find(|(k, _)| arg.text.starts_with(k)) {
                let value = arg.text.split_once('=').map_or("", |(_, v)| v).to_owned();
                let value = Arg { text: Cow::Owned(value), ..arg.clone() };
                taint = taint.and(self.touch(*touch, &value, recursive));
                continue;
            }
            let mut touch = if let Some(touch) = lead.get(i) {
                *touch
            } else if i >= tail_from && !skip_tail && count > 1 {
                operands.tail.get(i - tail_from).copied().unwrap_or(operands.rest)
            } else {
                operands.rest
            };
            if in_place && touch == Touch::Read {
                touch = Touch::Write;
            }
            if matches!(touch, Touch::Shell | Touch::Sql) {
                taint = taint.and(self.value_touch(touch, arg, stdin));
            } else if touch != Touch::Skip {
                taint = taint.and(self.touch(touch, arg, recursive));
            }
        }
        taint
    }

    /// Like `touch`, for values that may hold text to run.
    fn value_touch(&mut self, touch: Touch, arg: &Arg<'t>, stdin: &Flow) -> Taint {
        match touch {
            Touch::Shell => {
                self.shell_text(arg, stdin);
                Taint::default()
            }
            Touch::Bang => {
                if let Some(text) = arg.text.trim_start_matches(':').strip_prefix('!') {
                    let text = text.replace(UNKNOWN, "$_");
                    self.inside(&text, arg.span, &Flow::none());
                }
                Taint::default()
            }
            Touch::Sql => {
                self.sql_text(&arg.text, arg.span);
                Taint::default()
            }
            Touch::Upload => {
                let from_stdin = stdin.taint.has(Taint::SECRET) && arg.text.ends_with('-');
                if from_stdin || arg.taint.has(Taint::SECRET) {
                    self.shared.out.effect(Effect::NetOut);
                    self.shared.sign(&structural_findings::EXFILTRATION, Some(arg.span));
                }
                self.touch(touch, arg, false)
            }
            Touch::Run => {
                self.shared.out.effect(Effect::Exec);
                if let Some(content) = self.known_file(&arg.text) {
                    self.run_written(content, arg, stdin);
                } else {
                    self.shared.sign(&structural_findings::UNSEEN_CODE, Some(arg.span));
                }
                Taint::default()
            }
            _ => self.touch(touch, arg, false),
        }
    }

    /// Shell text in a word, known or not.
    pub(super) fn shell_text(&mut self, arg: &Arg<'t>, stdin: &Flow) -> Flow {
        if arg.is_unknown() {
            let sign = if arg.taint.has(Taint::NET) {
                Some(self.remote_sign(arg.taint))
            } else if arg.taint.has(Taint::DECODED) {
                Some(&structural_findings::DECODED_CODE)
            } else if arg.text.starts_with(UNKNOWN) {
                Some(&structural_findings::UNSEEN_CODE)
            } else {
                None
            };
            if let Some(sign) = sign {
                self.shared.sign(sign, Some(arg.span));
                self.shared.out.doubt(Doubt::DynamicProgram);
            }
        }
        let text = arg.text.replace(UNKNOWN, "$_");
        self.inside(&text, arg.span, stdin)
    }
}
