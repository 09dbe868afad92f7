//! One command with its final words: what is it, what does it run inside, what does it touch.

use super::apply_rules::Matched;
use super::arg::Arg;
use super::evaluator::Evaluator;
use super::help::{asks_for_help, grave, only_help};
use super::invocation::Invocation;
use super::program::{Known, is_build_file, is_standard_place, resolve};
use crate::command_tables::{Rule, Spec};
use crate::effect::Effect;
use crate::finding::{Doubt, Span};
use crate::flow::{Flow, Taint};
use crate::limit;
use crate::structural_findings;
use countersign_shell::UNKNOWN;
use countersign_types::tier::Tier;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Assesses one command; returns what it would write to its output.
    pub(super) fn command(&mut self, args: &[Arg<'t>], stdin: Flow, span: Span) -> Flow {
        if !self.shared.budget.enter_command() {
            self.shared.report(&structural_findings::TOO_DEEP, Some(span));
            self.shared.out.doubt(Doubt::Unreadable);
            return Flow::unknown(stdin.taint);
        }
        if args.iter().any(|a| a.taint.has(Taint::LOST)) {
            limit::report_lost(self.shared.out, Some(span));
        }
        self.shared.check_facts();
        let outer = self.shared.begin_subject(args, &stdin);
        let flow = self.one_command(args, stdin, span);
        self.shared.out.set_subject(outer);
        self.shared.check_facts();
        self.shared.budget.leave_command();
        flow
    }

    fn one_command(&mut self, args: &[Arg<'t>], stdin: Flow, span: Span) -> Flow {
        let Some(first) = args.first() else { return stdin };
        if first.is_unknown() || first.text.is_empty() {
            // `$DIR/bin/python`: the folder is open, the program is not.
            let known = first.text.rsplit_once('/').filter(|(_, name)| !name.contains(UNKNOWN));
            if let Some(known) = known.and_then(|(_, name)| resolve(name)) {
                self.shared.out.doubt(Doubt::DynamicArguments);
                self.shared.report(&structural_findings::UNKNOWN_FOLDER, Some(first.span));
                return self.memoized(args, &stdin, |w| w.known(known, args, &stdin, span));
            }
            return self.memoized(args, &stdin, |w| w.dynamic(args, &stdin, span));
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
                return self.with_words(args, |w| w.run_written(content, first, &stdin));
            }
            let harmless = self.observed_script(None, args, first.span);
            if let Some(flow) = self.run_remembered(None, args, &stdin, first.span) {
                return flow;
            }
            if !harmless {
                self.run_fetched(&first.text, first.span);
                self.run_made_executable(first);
            }
            if harmless && args.len() == 1 && resolve(&first.text).is_none() {
                self.shared.report(&structural_findings::PROJECT_PROGRAM, Some(first.span));
                return Flow::unknown(stdin.taint);
            }
        } else if let Some(path) = self.shared.program_file(&first.text) {
            // `PATH` may lead there.
            if let Some(content) = self.known_file(&path) {
                self.with_words(args, |w| w.run_written(content, first, &stdin));
            }
        }
        self.program(first, args, &stdin, span)
    }

    /// A command that is neither a function, nor the shell's own, nor a file of this text.
    fn program(&mut self, first: &Arg<'t>, args: &[Arg<'t>], stdin: &Flow, span: Span) -> Flow {
        // zsh: `=rm` is the path of `rm`.
        let named = first.text.strip_prefix('=').and_then(resolve);
        match resolve(&first.text).or(named) {
            Some(known) if known.0.cmdlet || known.0.slash_options => {
                self.memoized(args, stdin, |w| {
                    w.as_powershell_command(args, span);
                    w.windows_command(known, args, stdin, span)
                })
            }
            Some(known) if !known.0.named_only => {
                if first.has_slash() && !is_standard_place(&first.text) {
                    self.shared.report(&structural_findings::PROGRAM_BY_PATH, Some(first.span));
                }
                self.memoized(args, stdin, |w| {
                    w.as_cmd_command(known, args, stdin, span);
                    w.known(known, args, stdin, span)
                })
            }
            _ => self.memoized(args, stdin, |w| {
                w.as_powershell_command(args, span);
                w.unlisted(args, stdin, span)
            }),
        }
    }

    /// A program with a description.
    pub(super) fn known(
        &mut self,
        known: Known,
        args: &[Arg<'t>],
        stdin: &Flow,
        span: Span,
    ) -> Flow {
        let (spec, ..) = known;
        self.with_full_options(known, args, stdin, span);
        let inv = Invocation::new(args, Some(spec));
        self.shared.out.commands.add(inv.command_words());
        spec.effects.iter().for_each(|e| self.shared.out.effect(*e));
        let dry = inv.surely_has_any(&spec.dry);
        let before = self.elsewhere_by_option(&inv);
        let flow = self.known_here(known, &inv, dry, stdin, span);
        if let Some(before) = before {
            self.shared.folders.set(before);
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
        let (spec, rules, runners) = known;
        let help = asks_for_help(spec, inv) && !runners.iter().any(|runner| inv.may_run(runner));
        if help && rules.iter().any(|rule| !rule.sub.is_empty()) && only_help(inv) {
            return Flow::unknown(Taint::default());
        }
        let matched = self.rules(rules, inv, stdin.present, span);
        let has = |effect| has_effect(rules, inv, (stdin.present, self.shared.rights.root), effect);
        let reveals = spec.effects.contains(&Effect::Secret) || has(Effect::Secret);
        let sends = spec.sends || stdin.taint.has(Taint::FILE) && has(Effect::NetOut);
        if help && !grave(rules, inv, stdin.present) {
            return Flow::unknown(Taint::default());
        }
        self.general_rules(spec, inv, stdin.present, span);
        if let Some(flow) = self.what_it_runs(known, inv, stdin, (dry, span)) {
            self.option_writes(spec, inv, dry);
            return flow;
        }
        if spec.family == "packages" {
            self.source_files(inv, span);
            self.run_source(inv, stdin, span);
        }
        if spec.family == "packages" && self.shared.files.find_name(is_build_file).is_some() {
            self.shared.report(&structural_findings::WRITE_AND_RUN, Some(span));
        }
        let taint = if dry { Taint::default() } else { self.touches(spec, inv, stdin) };
        self.copied(inv, stdin);
        self.archived(inv);
        if !dry {
            self.fetched_folder(inv, stdin);
        }
        if matched == Matched::Nothing && !dry && spec.base > Tier::Safe {
            self.base(spec, inv, span);
        }
        if !dry {
            self.observed_destination(known, inv, stdin.present, span);
        }
        let revealed = if reveals { Taint::SECRET } else { Taint::default() };
        let taint = taint.and(stdin.taint).and(revealed);
        if sends {
            self.sent(spec, inv, (stdin.taint, taint), span);
        }
        self.what_it_prints(spec, inv, stdin, (matched, taint))
    }

    /// The output of the command or the code that a program runs; none if it runs none.
    fn what_it_runs(
        &mut self,
        (spec, _, runners): Known,
        inv: &Invocation<'_, 't>,
        stdin: &Flow,
        (dry, span): (bool, Span),
    ) -> Option<Flow> {
        // A program may run its command later, often or elsewhere.
        let inner = self.out_of_order(|w| w.inner_commands(runners, spec, inv, stdin, span));
        if let Some(flow) = inner {
            if spec.sends {
                self.sent(spec, inv, (stdin.taint, stdin.taint), span);
            }
            return Some(flow);
        }
        if !spec.exec.is_empty() {
            self.exec_options(spec, inv, span);
        }
        if !dry {
            self.observed_recipes(spec, inv, span);
        }
        let interpreter = spec.interpreter.as_ref()?;
        self.interpret(*interpreter, spec, inv, stdin, span)
    }

    /// What a program that runs nothing prints.
    fn what_it_prints(
        &mut self,
        spec: &'static Spec,
        inv: &Invocation<'_, 't>,
        stdin: &Flow,
        (matched, taint): (Matched, Taint),
    ) -> Flow {
        if matched == Matched::Settings {
            return Flow::text(String::new());
        }
        if let Some(flow) = self.output(inv, stdin) {
            return Flow { taint: flow.taint.and(taint), ..flow };
        }
        let fetched = if spec.fetches { self.fetched(inv) } else { Taint::default() };
        Flow::unknown(taint.and(fetched))
    }
}

/// Whether a rule with this effect fits the command.
fn has_effect(
    rules: &[&'static Rule],
    inv: &Invocation<'_, '_>,
    (stdin, root): (bool, bool),
    effect: Effect,
) -> bool {
    rules.iter().any(|rule| rule.effects.contains(&effect) && inv.fits(rule, stdin, root))
}
