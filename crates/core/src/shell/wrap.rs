//! Commands inside commands: `sudo`, `env`, `ssh`, `xargs`, `find -exec`, `docker exec` …

use std::borrow::Cow;

use super::expand::Arg;
use super::flow::{Flow, Taint};
use super::invocation::Invocation;
use super::signs;
use super::tables::{Inner, Spec, Wrapper};
use super::walk::Walker;
use crate::finding::Span;
use crate::limit::Limit;
use crate::paths::UNKNOWN;

/// How many words of standard input `xargs` is followed with.
const FED: Limit = Limit::new("words on standard input", 1024);

impl<'t> Walker<'t, '_, '_, '_> {
    /// The command inside `sudo`, `env`, `ssh`, `docker exec` …; none if there is none.
    pub(super) fn wrapped(
        &mut self,
        wrapper: &Wrapper,
        inv: &Invocation<'_, 't>,
        stdin: &Flow,
        span: Span,
    ) -> Option<Flow> {
        let sub = if wrapper.sub.is_empty() { 0 } else { wrapper.sub.split(' ').count() };
        let skip = sub + usize::from(wrapper.skip);
        let first = usize::from(*inv.operands.get(skip).unwrap_or(&u16::MAX));
        let mut from = match inv.dashes {
            // A `--` further on belongs to the inner command.
            Some(dashes) if wrapper.after_dashes || dashes < first => dashes + 1,
            _ if wrapper.after_dashes => return None,
            _ => first,
        };
        while wrapper.assignments && inv.args.get(from).is_some_and(|a| is_assignment(&a.text)) {
            if let Some((name, value)) = inv.args.get(from).and_then(|a| a.text.split_once('=')) {
                self.assigned(name, value, span);
            }
            from += 1;
        }
        self.swallowed(wrapper, inv, stdin, span);
        let mut inner: Vec<Arg<'t>> = inv.args.get(from..).unwrap_or_default().to_vec();
        if inner.is_empty() {
            if wrapper.shell_when_bare && inv.operands.len() >= skip && !stdin.present {
                self.shared.sign(&signs::SHELL_SESSION, Some(span));
                return Some(Flow::none());
            }
            if wrapper.shell_when_bare && stdin.present {
                return Some(self.run_flow(stdin, span));
            }
            return None;
        }
        if wrapper.feeds {
            feed(&mut inner, inv, stdin);
        }
        let keep = (self.shared.root, self.shared.elsewhere);
        let before = self.shared.folders.clone();
        self.shared.root |= wrapper.root;
        self.shared.elsewhere |= wrapper.elsewhere;
        let stdin = if wrapper.feeds { Flow::none() } else { stdin.clone() };
        let flow = match wrapper.inner {
            Inner::Argv => self.command(&inner, stdin, span),
            Inner::Shell => {
                let mut text = String::new();
                let mut taint = Taint::default();
                for (i, arg) in inner.iter().enumerate() {
                    if i > 0 {
                        text.push(' ');
                    }
                    text.push_str(&arg.text);
                    taint = taint.and(arg.taint);
                }
                let arg = Arg { text: Cow::Owned(text), span, taint, glob: false };
                self.shell_text(&arg, &stdin)
            }
        };
        (self.shared.root, self.shared.elsewhere) = keep;
        // `command cd` really goes; `sudo -D` does not.
        if self.shared.folders != before {
            self.shared.folders.join(before);
        }
        Some(flow)
    }

    /// An option we take to have a value may have none on this system: then that "value" is the
    /// command (`command -p rm …`). Both readings count.
    fn swallowed(&mut self, wrapper: &Wrapper, inv: &Invocation<'_, 't>, stdin: &Flow, span: Span) {
        if wrapper.inner != Inner::Argv || !wrapper.sub.is_empty() {
            return;
        }
        for (_, value) in &inv.values {
            let Some(word) = inv.args.get(value.word).filter(|a| a.text == value.text) else {
                continue;
            };
            if word.is_unknown() || super::program::resolve(&word.text).is_none() {
                continue;
            }
            let other: Vec<Arg<'t>> = inv.args.get(value.word..).unwrap_or_default().to_vec();
            let keep = self.shared.root;
            self.shared.root |= wrapper.root;
            self.command(&other, stdin.clone(), span);
            self.shared.root = keep;
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
            let mut inner: Vec<Arg<'t>> = Vec::new();
            while let Some(word) = inv.args.get(at) {
                at += 1;
                if word.text == ";" || word.text == "+" {
                    break;
                }
                let mut word = word.clone();
                if word.text.contains("{}") {
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

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}
