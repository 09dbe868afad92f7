//! Commands inside commands: `sudo`, `env`, `ssh`, `xargs`, `find -exec`, `docker exec` …

use std::borrow::Cow;

use super::expand::Arg;
use super::flow::{Flow, Taint};
use super::invocation::Invocation;
use super::nested::{begins_command, is_assignment, joined, option_value, quoted, texts_behind};
use super::program::resolve;
use super::signs;
use super::tables::{COMMAND_OPTIONS, COMMAND_WORDS, Inner, Runner, Spec, Speech, Start};
use super::walk::Walker;
use crate::finding::Span;
use crate::limit::Limit;
use crate::paths::UNKNOWN;
use countersign_text::glob::bytes_of;
use countersign_types::tier::Tier;

/// Options with which a login starts no shell: a test, a tunnel, a question.
const NO_SESSION: [&str; 9] = ["-T", "-N", "-G", "-V", "-Q", "-O", "-W", "--version", "--help"];

/// In how many ways the words of one text may be read as commands beside the first way.
const MAX_READINGS: u16 = 2048;

/// How many words of standard input `xargs` is followed with.
const FED: Limit = Limit::new("words on standard input", 1024);

impl<'t> Walker<'t, '_, '_, '_> {
    /// Judges every command that a program would run; the output of the one it exists for.
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
        let fits = |runner: &&&Runner| {
            runner.sub.is_empty() || runner.sub.iter().any(|path| inv.sub(path).is_some())
        };
        for runner in runners.iter().filter(fits) {
            match runner.start {
                Start::Option => self.in_options(runner, inv, stdin, span),
                Start::Word => self.in_words(runner, inv, stdin),
                Start::Operand | Start::Dashes => {}
            }
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
        }
        flow
    }

    /// Whether one more reading of the same words may be judged. Words that allow too many are a
    /// finding.
    fn another_reading(&mut self, span: Span) -> bool {
        self.shared.readings = self.shared.readings.saturating_add(1);
        if self.shared.readings > MAX_READINGS {
            self.shared.sign(&signs::TOO_MANY, Some(span));
            return false;
        }
        true
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
        // `flock FILE -c 'text'`, `timeout 5 -- rm`: options of the runner behind its operands.
        while let Some(word) = inv.args.get(from).filter(|_| runner.skip > 0) {
            let text: &str = &word.text;
            if runner.inner == Inner::Argv
                && matches!(text, "-c" | "--command")
                && let Some(text) = inv.args.get(from + 1).cloned()
            {
                return Some(self.placed(runner, |w| w.shell_text(&text, stdin)));
            }
            if !text.starts_with('-') || text.len() < 2 {
                break;
            }
            from += 1;
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
            feed(&mut inner, inv, stdin);
        }
        let stdin = if runner.feeds { Flow::none() } else { stdin.clone() };
        let before = self.shared.out.iter().len();
        let flow = self.placed(runner, |w| w.run_inner(runner, &inner, &stdin, span));
        let hosts = inv.args.get(1..from).unwrap_or_default();
        if runner.remote && hosts.iter().any(|a| is_production(&a.text)) {
            let mut found = self.shared.out.iter().skip(before);
            if found.any(|finding| finding.weight.tier() >= Tier::Low) {
                self.shared.sign(&signs::PRODUCTION_HOST, Some(span));
            }
        }
        Some(flow)
    }

    /// Judges the inner command in the form in which the program takes it.
    fn run_inner(&mut self, runner: &Runner, inner: &[Arg<'t>], stdin: &Flow, span: Span) -> Flow {
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
        let idle = forge || inv.has_one(&NO_SESSION) || skip == 0 && !inv.options.is_empty();
        if !runner.shell_when_bare || idle {
            return None;
        }
        if stdin.present {
            return Some(self.run_flow(stdin, span));
        }
        if inv.operands.len() < skip {
            return None;
        }
        self.shared.sign(&signs::SHELL_SESSION, Some(span));
        Some(Flow::none())
    }

    /// Judges where and with which rights the inner command runs; afterwards all is as before.
    fn placed(&mut self, runner: &Runner, judge: impl FnOnce(&mut Self) -> Flow) -> Flow {
        let keep = (self.shared.root, self.shared.elsewhere);
        let before = self.shared.folders.clone();
        self.shared.root |= runner.root;
        self.shared.elsewhere |= runner.elsewhere;
        let flow = judge(self);
        (self.shared.root, self.shared.elsewhere) = keep;
        // `command cd` really goes; `sudo -D` does not.
        if self.shared.folders != before {
            self.shared.folders.join(before);
        }
        flow
    }

    /// The value of an option is the command, or the command stands behind the option.
    fn in_options(&mut self, runner: &Runner, inv: &Invocation<'_, 't>, stdin: &Flow, span: Span) {
        for (at, word) in inv.args.iter().enumerate().skip(1) {
            let Some(attached) = runner.options.iter().find_map(|o| option_value(&word.text, o))
            else {
                continue;
            };
            let attached = Some(attached).filter(|text| !text.is_empty());
            if runner.inner == Inner::Argv {
                let mut inner: Vec<Arg<'t>> = inv.args.get(at + 1..).unwrap_or_default().to_vec();
                if inner.get(1).is_some_and(|a| a.text == "--") {
                    inner.remove(1);
                }
                if let Some(text) = attached {
                    inner.insert(0, Arg { text: Cow::Owned(text.to_owned()), ..word.clone() });
                }
                if !inner.is_empty() && self.another_reading(span) {
                    self.placed(runner, |w| w.command(&inner, stdin.clone(), span));
                }
                return;
            }
            let text = match attached {
                Some(text) => Arg { text: Cow::Owned(text.to_owned()), ..word.clone() },
                None => match inv.args.get(at + 1) {
                    Some(next) => next.clone(),
                    None => continue,
                },
            };
            self.text_behind(runner, &text, stdin);
        }
    }

    /// The command stands behind a prefix in any word.
    fn in_words(&mut self, runner: &Runner, inv: &Invocation<'_, 't>, stdin: &Flow) {
        for word in inv.args.iter().skip(1) {
            self.text_behind(runner, word, stdin);
        }
    }

    /// Judges the text behind the runner's prefix, or all of it where the runner has none.
    fn text_behind(&mut self, runner: &Runner, word: &Arg<'t>, stdin: &Flow) {
        let texts: Vec<String> = if runner.prefixes.is_empty() {
            vec![word.text.to_string()]
        } else {
            runner.prefixes.iter().flat_map(|prefix| texts_behind(&word.text, prefix)).collect()
        };
        for text in texts.iter().filter(|t| !t.trim().is_empty()) {
            if !self.another_reading(word.span) {
                return;
            }
            // What is only put before another command ends with an operator.
            let text = text.trim_end().trim_end_matches(['&', '|', ';']);
            let arg = Arg { text: Cow::Owned(format!("{}{text}", runner.lead)), ..word.clone() };
            self.placed(runner, |w| w.inner_text(runner, &arg, stdin));
        }
    }

    /// Judges a text in the language that the runner hands it to.
    fn inner_text(&mut self, runner: &Runner, arg: &Arg<'t>, stdin: &Flow) -> Flow {
        let Inner::Code(speech) = runner.inner else { return self.shell_text(arg, stdin) };
        let statements = matches!(speech, Speech::Sql | Speech::Redis | Speech::Mongo);
        if !statements {
            let sign = signs::Sign { tier: Tier::Low, ..signs::INLINE_CODE };
            self.shared.sign(&sign, Some(arg.span));
        }
        self.speech(speech, arg, stdin)
    }

    /// An option such as `--exec` holds a command in whatever program it stands.
    fn command_options(&mut self, spec: &Spec, inv: &Invocation<'_, 't>, stdin: &Flow) {
        for index in &inv.options {
            let Some(word) = inv.arg(*index).filter(|a| a.text.starts_with("--")) else { continue };
            let name = word.text.split('=').next().unwrap_or_default();
            let described = spec.touches.iter().any(|(n, _)| *n == name);
            if described || !COMMAND_OPTIONS.fit(name, bytes_of(name)) {
                continue;
            }
            let value = match word.text.split_once('=') {
                Some((_, value)) => Arg { text: Cow::Owned(value.to_owned()), ..word.clone() },
                None => match inv.args.get(usize::from(*index) + 1) {
                    Some(next) => next.clone(),
                    None => continue,
                },
            };
            let begins = begins_command(&value.text, |first| resolve(first).is_some());
            if begins && self.another_reading(word.span) {
                self.shell_text(&value, stdin);
            }
        }
    }

    /// A program without a description may be a runner: a word that is a command is one.
    pub(super) fn undescribed_runner(
        &mut self,
        inv: &Invocation<'_, 't>,
        stdin: &Flow,
        span: Span,
    ) {
        let listed = |first: &str| {
            let name = crate::paths::last_part(first);
            COMMAND_WORDS.binary_search(&name).is_ok()
        };
        for (at, word) in inv.args.iter().enumerate().skip(1) {
            let text: &str = &word.text;
            let behind_dashes = inv.dashes.is_some_and(|d| d + 1 == at);
            if !behind_dashes && names_a_value(inv, at) {
                continue;
            }
            if (listed(text) || behind_dashes && resolve(text).is_some())
                && self.another_reading(span)
            {
                let inner: Vec<Arg<'t>> = inv.args.get(at..).unwrap_or_default().to_vec();
                self.command(&inner, stdin.clone(), span);
                return;
            }
            let value = if text.starts_with('-') {
                text.split_once('=').map_or("", |(_, value)| value)
            } else {
                text
            };
            if value.contains(' ') && begins_command(value, listed) && self.another_reading(span) {
                let arg = Arg { text: Cow::Owned(value.to_owned()), ..word.clone() };
                self.shell_text(&arg, stdin);
            }
        }
    }

    /// A command where the description of a program knows of none: behind `--`, or so plain that it
    /// cannot be anything else.
    fn unexpected_command(&mut self, inv: &Invocation<'_, 't>, stdin: &Flow, span: Span) {
        for (at, word) in inv.args.iter().enumerate().skip(2) {
            let name = crate::paths::last_part(&word.text);
            let Some(next) = inv.args.get(at + 1) else { return };
            if COMMAND_WORDS.binary_search(&name).is_err() {
                continue;
            }
            let behind_dashes = inv.dashes.is_some_and(|d| d + 1 == at);
            let plain = match name {
                "rm" => ["-rf", "-fr", "-Rf", "-fR"].iter().any(|f| next.text.starts_with(f)),
                "sh" | "bash" | "zsh" | "dash" | "ksh" => {
                    ["-c", "-lc", "-ec", "-xc", "-ic"].contains(&next.text.as_ref())
                }
                "sudo" => true,
                _ => false,
            };
            if (behind_dashes || plain) && self.another_reading(span) {
                let inner: Vec<Arg<'t>> = inv.args.get(at..).unwrap_or_default().to_vec();
                self.command(&inner, stdin.clone(), span);
                return;
            }
        }
    }

    /// Commands in the quoted texts of code that no reader knows: `Sys.command "rm -rf x"`,
    /// `System.cmd("rm", ["-rf", "x"])`.
    pub(super) fn quoted_commands(&mut self, code: &str, span: Span) {
        let listed =
            |first: &str| COMMAND_WORDS.binary_search(&crate::paths::last_part(first)).is_ok();
        let texts = quoted(code);
        for (at, text) in texts.iter().enumerate() {
            if !begins_command(text, listed) || !self.another_reading(span) {
                continue;
            }
            let words = texts.get(at..).unwrap_or_default();
            let line = if text.contains(' ') { text.clone() } else { words.join(" ") };
            self.inside(&line, span, &Flow::none());
        }
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

    /// `find … -exec COMMAND ;`
    pub(super) fn exec_options(&mut self, spec: &Spec, inv: &Invocation<'_, 't>, span: Span) {
        let tests = inv.options.len() > 1;
        let start = inv.operand(0).filter(|o| !o.starts_with(['(', '!'])).unwrap_or(".");
        let place = if tests {
            format!("{}/{UNKNOWN}", start.trim_end_matches('/'))
        } else {
            start.to_owned()
        };
        let mut at = 1;
        while let Some(arg) = inv.args.get(at) {
            at += 1;
            if !spec.exec.contains(&arg.text.as_ref()) {
                continue;
            }
            let only_reads = |k: super::program::Known| k.0.inert && k.0.in_place.is_empty();
            let reads = inv.args.get(at).and_then(|a| resolve(&a.text)).is_some_and(only_reads);
            let mut inner: Vec<Arg<'t>> = Vec::new();
            while let Some(word) = inv.args.get(at) {
                at += 1;
                if word.text == ";" || word.text == "+" {
                    break;
                }
                let mut word = word.clone();
                if word.text.contains("{}") {
                    // Any file below: a pattern, so that what is protected there counts.
                    let place = if reads { place.clone() } else { place.replace(UNKNOWN, "*") };
                    word.text = Cow::Owned(word.text.replace("{}", &place));
                    word.glob = true;
                }
                inner.push(word);
            }
            self.command(&inner, Flow::unknown(Taint::FILE), span);
        }
    }
}

/// The words of standard input: split at blanks, and where `-0` or `-d` say so.
fn fed_words<'w>(text: &'w str, inv: &Invocation<'_, '_>) -> Vec<&'w str> {
    let marks = inv.values.iter().find(|(n, _)| matches!(*n, "-d" | "--delimiter"));
    let marks = marks.map_or("", |(_, value)| value.text.trim_start_matches('\\'));
    // A NUL cannot stand in a text of ours; `\0` is kept as the byte 1.
    let splits = |c: char| c.is_whitespace() || c == '\u{1}' || marks.contains(c);
    text.split(splits).filter(|word| !word.is_empty()).collect()
}

/// Whether a host or app is called production.
fn is_production(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    parts.any(|part| {
        matches!(
            part.trim_end_matches(|c: char| c.is_ascii_digit()),
            "prod" | "production" | "live" | "prd"
        )
    })
}

/// Appends to `xargs`' command what standard input holds.
fn feed<'t>(inner: &mut Vec<Arg<'t>>, inv: &Invocation<'_, 't>, stdin: &Flow) {
    let span = inner.last().map_or(Span::new(0, 0), |a| a.span);
    let mut taint = stdin.taint;
    let words: Vec<String> = match &stdin.text {
        Some(text) => {
            let words = fed_words(text, inv);
            taint =
                taint.and(FED.check(words.len()).map_or_else(Taint::from, |()| Taint::default()));
            words.into_iter().take(1024).map(str::to_owned).collect()
        }
        None => match &stdin.place {
            Some(place) => vec![format!("{}/{UNKNOWN}", place.trim_end_matches('/'))],
            None => vec![UNKNOWN.to_string()],
        },
    };
    let place = inv.values.iter().find(|(n, _)| matches!(*n, "-I" | "-i" | "--replace" | "-J"));
    if let Some((_, mark)) = place {
        let all = words.join(" ");
        for arg in inner.iter_mut().filter(|a| a.text.contains(mark.text) && !mark.text.is_empty())
        {
            arg.text = Cow::Owned(arg.text.replace(mark.text, &all));
            arg.taint = arg.taint.and(taint);
        }
        return;
    }
    for word in words {
        // An unknown list of files is as wide as a star.
        let glob = word.contains(UNKNOWN);
        inner.push(Arg { text: Cow::Owned(word), span, taint, glob });
    }
}

/// Whether a word is more likely the value of an option than a command: `--shell zsh`.
fn names_a_value(inv: &Invocation<'_, '_>, at: usize) -> bool {
    let Some((spec, ..)) = inv.args.get(at).and_then(|a| resolve(&a.text)) else {
        return false;
    };
    if spec.interpreter.is_none() {
        return false;
    }
    let Some(next) = inv.args.get(at + 1) else { return true };
    let before = at.checked_sub(1).and_then(|n| inv.args.get(n));
    let option = before.is_some_and(|a| a.text.starts_with("--") && a.text.len() > 2);
    let runs = ["-c", "-e", "-r", "-lc", "-ic", "-m"].iter().any(|f| next.text.starts_with(f));
    option && !runs
}
