//! Commands inside commands: `sudo`, `env`, `ssh`, `xargs`, `find -exec`, `docker exec` …

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::invocation::Invocation;
use super::nested::{is_assignment, joined};
use super::program::resolve;
use super::state::LinksAside;
use super::xargs::feed;
use crate::command_tables::{Inner, Runner, Spec, Start};
use crate::finding::Span;
use crate::flow::Flow;
use crate::name_lists::NO_SESSION_OPTIONS;
use crate::structural_findings;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Assesses every command that a program would run; the output of the one it exists for.
    pub(super) fn inner_commands(
        &mut self,
        runners: &[&'static Runner],
        spec: &'static Spec,
        inv: &Invocation<'_, 't>,
        stdin: &Flow,
        span: Span,
    ) -> Option<Flow> {
        if !spec.inert {
            self.command_options(spec, inv, stdin);
        }
        let fits = |runner: &&&Runner| inv.may_run(runner);
        // Links that one reading makes exist after all readings, not in the other readings.
        let links = self.shared.folders.link_count();
        let mut aside = LinksAside::default();
        for runner in runners.iter().filter(fits) {
            match runner.start {
                Start::Option => self.in_options(runner, inv, stdin, span),
                Start::Word => self.in_words(runner, inv, stdin),
                Start::Operand | Start::Dashes => continue,
            }
            self.shared.folders.set_links_aside(links, &mut aside);
        }
        let direct = |r: &&&Runner| matches!(r.start, Start::Operand | Start::Dashes);
        if !spec.inert
            && spec.interpreter.is_none()
            && !runners.iter().filter(fits).any(|r| direct(&r))
        {
            self.unexpected_command(inv, stdin, span);
        }
        let mut flow = None;
        let mut starts: Vec<(usize, Inner)> = Vec::new();
        for runner in runners.iter().filter(fits).filter(direct) {
            if let Some(output) = self.wrapped(runner, inv, stdin, &mut starts, span) {
                flow = Some(output);
            }
            self.shared.folders.set_links_aside(links, &mut aside);
        }
        self.shared.folders.restore_links(aside);
        flow
    }

    /// Whether one more reading of the same words may be assessed. Words that allow too many are a
    /// finding.
    pub(super) fn another_reading(&mut self, span: Span) -> bool {
        let fits = self.shared.budget.spend_reading();
        if !fits {
            self.shared.report(&structural_findings::TOO_MANY, Some(span));
        }
        fits
    }

    /// The command inside `sudo`, `env`, `ssh`, `docker exec` …; none if there is none.
    fn wrapped(
        &mut self,
        runner: &Runner,
        inv: &Invocation<'_, 't>,
        stdin: &Flow,
        starts: &mut Vec<(usize, Inner)>,
        span: Span,
    ) -> Option<Flow> {
        let is_lookup = inv.args.first().is_some_and(|a| a.text == "command");
        if is_lookup && inv.has_one(&["-v", "-V"]) {
            // Runs nothing: it prints where the program is.
            let name = inv.operand(0).unwrap_or_default();
            return Some(Flow::text(format!("/usr/bin/{name}")));
        }
        let sub = runner.sub.iter().find_map(|path| inv.sub(path)).unwrap_or(0);
        let skip = sub + usize::from(runner.skip);
        let first = usize::from(*inv.operands.get(skip).unwrap_or(&u16::MAX));
        let mut from = match inv.dashes {
            // A `--` further on belongs to the inner command.
            Some(dashes) if runner.start == Start::Dashes || dashes < first => dashes + 1,
            _ if runner.start == Start::Dashes => return None,
            _ => first,
        };
        if let Some(text) = options_behind(runner, inv, &mut from) {
            return Some(self.placed(runner, |w| w.shell_text(&text, stdin)));
        }
        while runner.assignments && inv.args.get(from).is_some_and(|a| is_assignment(&a.text)) {
            if let Some((name, value)) = inv.args.get(from).and_then(|a| a.text.split_once('=')) {
                self.assigned(name, value, span);
            }
            from += 1;
        }
        if starts.contains(&(from, runner.inner)) {
            return None;
        }
        if !starts.is_empty() && !self.another_reading(span) {
            return None;
        }
        starts.push((from, runner.inner));
        self.swallowed(runner, inv, from, stdin, span);
        let mut inner: Vec<Arg<'t>> = inv.args.get(from..).unwrap_or_default().to_vec();
        if inner.is_empty() {
            return self.without_command(runner, inv, skip, stdin, span);
        }
        if runner.feeds {
            let file = self.fed_file(inv);
            feed(&mut inner, inv, file.as_ref().unwrap_or(stdin));
        }
        let stdin = if runner.feeds { Flow::none() } else { stdin.clone() };
        let words = inv.args.get(..from).unwrap_or_default();
        Some(self.at_home(runner, inv, |w| w.run_on(runner, words, &inner, &stdin, span)))
    }

    /// Assesses the inner command in the form in which the program takes it.
    pub(super) fn run_inner(
        &mut self,
        runner: &Runner,
        inner: &[Arg<'t>],
        stdin: &Flow,
        span: Span,
    ) -> Flow {
        match runner.inner {
            Inner::Argv => self.command(inner, stdin.clone(), span),
            Inner::Shell | Inner::Code(_) => {
                // Some hand the words over as they are: then quotes still hold.
                let quoted = inner.len() > 1 && inner.iter().any(|a| a.text.contains(' '));
                if runner.inner == Inner::Shell && quoted && self.another_reading(span) {
                    self.command(inner, stdin.clone(), span);
                }
                self.inner_text(runner, &joined(inner, span), stdin)
            }
            Inner::Each => {
                let mut flow = Flow::none();
                for word in inner.iter().filter(|a| !a.text.starts_with('-')) {
                    flow = self.shell_text(word, stdin);
                }
                flow
            }
        }
    }

    /// A program that runs others, given no command: it may open a session, or read commands.
    fn without_command(
        &mut self,
        runner: &Runner,
        inv: &Invocation<'_, 't>,
        skip: usize,
        stdin: &Flow,
        span: Span,
    ) -> Option<Flow> {
        let forge = inv.operand(0).is_some_and(|host| host.starts_with("git@"));
        let idle = forge || inv.has_one(NO_SESSION_OPTIONS) || skip == 0 && !inv.options.is_empty();
        if !runner.shell_when_bare || idle {
            return None;
        }
        if stdin.present {
            return Some(self.run_flow(stdin, span));
        }
        if inv.operands.len() < skip {
            return None;
        }
        self.shared.report(&structural_findings::SHELL_SESSION, Some(span));
        Some(Flow::none())
    }

    /// Assesses where and with which rights the inner command runs; afterwards all is as before.
    pub(super) fn placed(
        &mut self,
        runner: &Runner,
        assess: impl FnOnce(&mut Self) -> Flow,
    ) -> Flow {
        let rights = self.shared.rights;
        let before = self.shared.folders.current().clone();
        self.shared.rights.root |= runner.root;
        self.shared.rights.elsewhere |= runner.elsewhere;
        self.shared.rights.remote |= runner.remote;
        self.shared.rights.project |= runner.project;
        let flow = assess(self);
        self.shared.rights = rights;
        // `command cd` really goes; `sudo -D` does not.
        if *self.shared.folders.current() != before {
            self.shared.folders.join(before);
        }
        flow
    }

    /// An option we take to have a value may have none on this system: then that "value" is the
    /// command (`command -p rm …`). And one we do not know may have one: then the command stands
    /// behind it. All readings count.
    fn swallowed(
        &mut self,
        runner: &Runner,
        inv: &Invocation<'_, 't>,
        from: usize,
        stdin: &Flow,
        span: Span,
    ) {
        if runner.inner != Inner::Argv {
            return;
        }
        let mut starts: Vec<usize> = Vec::new();
        if runner.sub.is_empty() {
            let taken = |v: &&(&str, super::invocation::Value<'_>)| {
                inv.args.get(v.1.word).is_some_and(|a| a.text == v.1.text)
            };
            starts.extend(inv.values.iter().filter(taken).map(|(_, value)| value.word));
        }
        let before = from.checked_sub(1).and_then(|at| inv.args.get(at));
        let option = |a: &Arg<'_>| a.text.starts_with('-') && a.text != "--" && a.text.len() > 1;
        if before.is_some_and(|a| option(a) && !a.text.contains('=')) {
            starts.push(from + 1);
        }
        // The word that is taken for a container, host or number may be the command itself.
        if let Some(taken) = usize::from(runner.skip).checked_sub(1) {
            let sub = runner.sub.iter().find_map(|path| inv.sub(path)).unwrap_or(0);
            starts.extend(inv.operands.get(sub + taken).map(|at| usize::from(*at)));
        }
        for at in starts {
            let known = |a: &&Arg<'_>| !a.is_unknown() && resolve(&a.text).is_some();
            if inv.args.get(at).as_ref().is_none_or(|x| !known(x)) || !self.another_reading(span) {
                continue;
            }
            let other: Vec<Arg<'t>> = inv.args.get(at..).unwrap_or_default().to_vec();
            self.placed(runner, |w| w.command(&other, stdin.clone(), span));
        }
    }
}

/// Passes over options of the runner behind its operands (`timeout 5 -- rm`). Returns the text
/// of `flock FILE -c 'text'`.
fn options_behind<'t>(
    runner: &Runner,
    inv: &Invocation<'_, 't>,
    from: &mut usize,
) -> Option<Arg<'t>> {
    while let Some(word) = inv.args.get(*from).filter(|_| runner.skip > 0) {
        let text: &str = &word.text;
        if runner.inner == Inner::Argv
            && matches!(text, "-c" | "--command")
            && let Some(text) = inv.args.get(*from + 1).cloned()
        {
            return Some(text);
        }
        if !text.starts_with('-') || text.len() < 2 {
            break;
        }
        *from += 1;
    }
    None
}
