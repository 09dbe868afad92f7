//! Commands judged before: the same words, fed the same, in the same place, are judged once.
//!
//! A text is walked again for every state it may find, and most of its commands cannot tell the
//! difference. What may be skipped is not guessed: a judgement is kept only if, while it was made,
//! nothing was set, written, entered, looked up or run, so that it hung on nothing but its key.

use super::expand::Arg;
use super::flow::{Flow, Taint};
use super::folders::Folders;
use super::walk::{Shared, Walker};
use crate::effect::Effect;

/// How many judgements are kept.
const MAX_KEPT: usize = 48;

/// One judgement: all that it hung on, and what the command writes.
#[derive(Debug)]
pub(super) struct Judged {
    /// Rules most of the others out; never decides by itself.
    sum: usize,
    words: Vec<(String, Taint, bool)>,
    stdin: Flow,
    place: Place,
    flow: Flow,
}

/// What a judgement hangs on besides words and input.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    folders: Folders,
    /// Links are only ever added.
    links: usize,
    /// Set where it looked for a file, found or not, or wrote what was in one already: then no
    /// file may have changed since.
    file_turns: Option<u32>,
    root: bool,
    elsewhere: bool,
    guessing: bool,
    texts: u8,
}

impl Shared<'_, '_> {
    /// Whether the same command may well come by again.
    fn walks_again(&self) -> bool {
        self.nesting > 0 || self.calls > 0 || self.loops > 0 || !self.former.is_empty()
    }

    /// Everything that a judgement could have changed or asked besides what is in its key.
    fn marks(&self) -> (u32, u32, u32, bool) {
        (self.edits, self.changes, self.asks, self.out.effects.has(Effect::Secret))
    }
}

impl<'t> Walker<'t, '_, '_, '_> {
    /// Judges a command unless the very same was judged before.
    pub(super) fn judged(
        &mut self,
        args: &[Arg<'t>],
        stdin: &Flow,
        judge: impl FnOnce(&mut Self) -> Flow,
    ) -> Flow {
        if !self.shared.walks_again() || !self.shared.process.is_empty() {
            return judge(self);
        }
        let shared = &*self.shared;
        let sum = args.iter().fold(args.len(), |sum, a| sum.wrapping_mul(31) ^ a.text.len());
        let same = |j: &&Judged| {
            let place = &j.place;
            j.sum == sum
                && same_words(&j.words, args)
                && j.stdin == *stdin
                && place.links == shared.links.len()
                && place.file_turns.is_none_or(|turns| turns == shared.file_turns)
                && place.root == shared.root
                && place.elsewhere == shared.elsewhere
                && place.guessing == shared.guessing
                && place.texts == shared.texts
                && place.folders == shared.folders
        };
        if let Some(known) = shared.judged.iter().find(same) {
            return known.flow.clone();
        }
        let (marks, file_uses) = (shared.marks(), shared.file_uses);
        let flow = judge(self);
        let shared = &mut *self.shared;
        if shared.marks() == marks && shared.failed.is_none() && shared.judged.len() < MAX_KEPT {
            let words = args.iter().map(|a| (a.text.to_string(), a.taint, a.glob)).collect();
            let place = Place {
                folders: shared.folders.clone(),
                links: shared.links.len(),
                file_turns: (shared.file_uses != file_uses).then_some(shared.file_turns),
                root: shared.root,
                elsewhere: shared.elsewhere,
                guessing: shared.guessing,
                texts: shared.texts,
            };
            let (stdin, flow) = (stdin.clone(), flow.clone());
            shared.judged.push(Judged { sum, words, stdin, place, flow });
        }
        flow
    }
}

fn same_words(words: &[(String, Taint, bool)], args: &[Arg<'_>]) -> bool {
    words.len() == args.len()
        && words
            .iter()
            .zip(args)
            .all(|((text, taint, glob), a)| *glob == a.glob && *taint == a.taint && *text == a.text)
}
