//! Commands for every file that is found or named: `xargs` and `find -exec`.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::invocation::Invocation;
use super::program::{Known, resolve};
use super::subject::is_shell;
use crate::command_tables::{ArgumentUse, Spec};
use crate::finding::Span;
use crate::flow::{Flow, Taint};
use crate::limit::Limit;
use crate::name_lists::FIND_NAME_OPTIONS;
use crate::paths::class_of;
use countersign_shell::UNKNOWN;
use countersign_types::tier::Tier;

/// How many words of standard input `xargs` is followed with.
const FED: Limit = Limit::new("words on standard input", 1024);

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// `find … -exec COMMAND ;`
    pub(super) fn exec_options(&mut self, spec: &Spec, inv: &Invocation<'_, 't>, span: Span) {
        let tests = inv.options.len() > 1;
        for start in found_in(inv) {
            let place = if tests {
                format!("{}/{UNKNOWN}", start.trim_end_matches('/'))
            } else {
                start.to_owned()
            };
            self.exec_below(start, &place, spec, inv, span);
        }
        if let Some(path) = protected_below(inv) {
            self.exec_below(".", &path, spec, inv, span);
        }
    }

    /// The same for what is found below one of the folders, as this path.
    fn exec_below(
        &mut self,
        start: &str,
        place: &str,
        spec: &Spec,
        inv: &Invocation<'_, 't>,
        span: Span,
    ) {
        let mut at = 1;
        while let Some(arg) = inv.args.get(at) {
            at += 1;
            if !spec.exec.contains(&arg.text.as_ref()) {
                continue;
            }
            let only_reads = |k: Known| k.0.inert && k.0.in_place.is_empty();
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
                    let place = if reads { place.to_owned() } else { place.replace(UNKNOWN, "*") };
                    word.text = Cow::Owned(word.text.replace("{}", &place));
                    word.glob = true;
                }
                inner.push(word);
            }
            // `-execdir` runs in the folder of each file, where a relative program is another one.
            let leaves = start.starts_with(['/', '~']) || start.starts_with("..");
            let there = leaves && arg.text.ends_with("dir");
            let before = there.then(|| self.in_folder(start.to_owned()));
            self.command(&inner, Flow::unknown(Taint::FILE), span);
            if let Some(before) = before {
                self.shared.folders.set(before);
            }
        }
    }
}

/// The folders in which `find` searches: the words before its first test.
fn found_in<'i>(inv: &Invocation<'i, '_>) -> Vec<&'i str> {
    let follows = |word: &str| matches!(word, "-H" | "-L" | "-P") || word.starts_with("-O");
    let words = inv.args.iter().skip(1).map(|arg| arg.text.as_ref());
    let words = words.skip_while(|word| follows(word));
    let folders: Vec<&str> = words.take_while(|word| !word.starts_with(['-', '(', '!'])).collect();
    if folders.is_empty() { vec!["."] } else { folders }
}

/// The folder that holds everything that `find` lists; none if there is no such folder but `/`.
pub(super) fn found_below(inv: &Invocation<'_, '_>) -> Option<String> {
    let folders = found_in(inv);
    let (first, rest) = folders.split_first()?;
    if rest.is_empty() {
        return Some((*first).to_owned());
    }
    if folders.iter().any(|folder| !folder.starts_with('/') || folder.contains("..")) {
        return None;
    }
    let mut common: Vec<&str> = first.split('/').collect();
    for folder in rest {
        let same = common.iter().zip(folder.split('/')).take_while(|(a, b)| **a == *b).count();
        common.truncate(same);
    }
    (common.len() > 1).then(|| common.join("/"))
}

/// A file whose name `find` is told and that is protected by its name: `-name '.env*'`.
pub(super) fn protected_below(inv: &Invocation<'_, '_>) -> Option<String> {
    let folder = found_in(inv).first().map_or(".", |folder| folder.trim_end_matches('/'));
    let is_name = |name: &str| FIND_NAME_OPTIONS.contains(&name);
    let mut names = inv.values.iter().filter(|(name, _)| is_name(name));
    names.find_map(|(_, value)| {
        let name = value.text.trim_start_matches("*/");
        // `*.[a-z]*` means many files, `.env*` certain ones.
        if name.find(['*', '?', '[']).is_some_and(|at| at < 3) {
            return None;
        }
        let path = format!("{folder}/{name}");
        (class_of(&path, None).read >= Tier::Medium).then_some(path)
    })
}

/// The words of standard input: split at blanks, and where `-0` or `-d` say so.
fn fed_words<'w>(text: &'w str, inv: &Invocation<'_, '_>) -> Vec<&'w str> {
    let marks = inv.values.iter().find(|(n, _)| matches!(*n, "-d" | "--delimiter"));
    let marks = marks.map_or("", |(_, value)| value.text.trim_start_matches('\\'));
    // A text that is read holds no NUL; `\0` is kept as the byte 1.
    let splits = |c: char| c.is_whitespace() || c == '\u{1}' || marks.contains(c);
    text.split(splits).filter(|word| !word.is_empty()).collect()
}

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// What `xargs -a file` reads in place of standard input.
    pub(super) fn fed_file(&mut self, inv: &Invocation<'_, 't>) -> Option<Flow> {
        let named = |name: &str| matches!(name, "-a" | "--arg-file");
        let (_, value) = inv.values.iter().find(|(name, _)| named(name))?;
        let span = inv.args.get(value.word).map_or(Span::new(0, 0), |word| word.span);
        let taint = self.touch_text(ArgumentUse::Read, value.text, span);
        let known = self.known_file(value.text);
        Some(known.unwrap_or_else(|| Flow::unknown(taint)))
    }
}

/// Appends to `xargs`' command what standard input holds.
pub(super) fn feed<'t>(inner: &mut Vec<Arg<'t>>, inv: &Invocation<'_, 't>, stdin: &Flow) {
    let span = inner.last().map_or(Span::new(0, 0), |a| a.span);
    let mut taint = stdin.taint;
    let mut words: Vec<String> = match &stdin.text {
        Some(text) => {
            let words = fed_words(text, inv);
            taint =
                taint.and(FED.check(words.len()).map_or_else(Taint::from, |()| Taint::default()));
            words.into_iter().take(1024).map(str::to_owned).collect()
        }
        None => match &stdin.place {
            // In the text of a shell the name of a file stands for any file there, as behind
            // `find -exec`.
            Some(place) if is_shell(inner) => vec![format!("{}/*", place.trim_end_matches('/'))],
            Some(place) => vec![format!("{}/{UNKNOWN}", place.trim_end_matches('/'))],
            None => {
                taint = taint.and(Taint::COMPUTED);
                vec![UNKNOWN.to_string()]
            }
        },
    };
    words.extend(stdin.protected.clone());
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
        let glob = word.contains([UNKNOWN, '*', '?', '[']);
        inner.push(Arg { text: Cow::Owned(word), span, taint, glob });
    }
}
