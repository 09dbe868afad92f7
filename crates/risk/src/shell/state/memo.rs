//! Commands assessed before: the same words, fed the same, in the same place, are assessed once.
//!
//! A text is walked again for every state it may find, and most of its commands cannot tell the
//! difference. An assessment is kept only if nothing was set, written, entered, read or run while
//! it was made: then it depended on nothing but its key.

use super::facts_hold::FactsHold;
use super::folders::Folders;
use super::position::Rights;
use crate::flow::{Flow, Taint};
use crate::shell::arg::Arg;

/// How many assessments are kept.
const MAX_KEPT: usize = 48;

/// The assessments of one call that are kept.
#[derive(Debug, Default)]
pub(super) struct Memo {
    kept: Vec<MemoEntry>,
}

/// One assessment: all that it depended on, and what the command writes.
#[derive(Debug)]
struct MemoEntry {
    /// Rules most of the others out; never decides by itself.
    sum: usize,
    words: Vec<(String, Taint, bool)>,
    stdin: Flow,
    place: Place,
    flow: Flow,
}

/// What an assessment depended on besides words and input.
#[derive(Debug)]
struct Place {
    folders: Folders,
    /// Links are only ever added.
    links: usize,
    /// Set where it looked for a file, found or not, or wrote what was in one already: then no
    /// file may have changed since.
    content_changes: Option<u32>,
    rights: Rights,
    guessing: bool,
    depth: u8,
    facts_hold: FactsHold,
}

/// The same as it is now.
pub(super) struct Now<'s> {
    pub folders: &'s Folders,
    pub links: usize,
    pub content_changes: u32,
    pub rights: Rights,
    pub guessing: bool,
    pub depth: u8,
    pub facts_hold: FactsHold,
}

impl Place {
    fn is(&self, now: &Now<'_>) -> bool {
        self.links == now.links
            && self.content_changes.is_none_or(|changes| changes == now.content_changes)
            && self.rights == now.rights
            && self.guessing == now.guessing
            && self.depth == now.depth
            && self.facts_hold == now.facts_hold
            && self.folders == *now.folders
    }
}

impl Memo {
    /// What the same command wrote when it was assessed before.
    pub fn find(&self, args: &[Arg<'_>], stdin: &Flow, now: &Now<'_>) -> Option<&Flow> {
        let sum = sum(args);
        let same = |j: &&MemoEntry| {
            j.sum == sum && same_words(&j.words, args) && j.stdin == *stdin && j.place.is(now)
        };
        self.kept.iter().find(same).map(|known| &known.flow)
    }

    /// Whether one more assessment can be kept.
    pub fn has_room(&self) -> bool {
        self.kept.len() < MAX_KEPT
    }

    /// Keeps an assessment; `used_files` says that it looked for a file or wrote one.
    pub fn keep(
        &mut self,
        args: &[Arg<'_>],
        stdin: &Flow,
        now: &Now<'_>,
        used_files: bool,
        flow: &Flow,
    ) {
        let place = Place {
            folders: now.folders.clone(),
            links: now.links,
            content_changes: used_files.then_some(now.content_changes),
            rights: now.rights,
            guessing: now.guessing,
            depth: now.depth,
            facts_hold: now.facts_hold,
        };
        self.kept.push(MemoEntry {
            sum: sum(args),
            words: args.iter().map(|a| (a.text.to_string(), a.taint, a.glob)).collect(),
            stdin: stdin.clone(),
            place,
            flow: flow.clone(),
        });
    }

    /// Forgets all assessments.
    pub fn clear(&mut self) {
        self.kept.clear();
    }
}

fn sum(args: &[Arg<'_>]) -> usize {
    args.iter().fold(args.len(), |sum, a| sum.wrapping_mul(31) ^ a.text.len())
}

fn same_words(words: &[(String, Taint, bool)], args: &[Arg<'_>]) -> bool {
    words.len() == args.len()
        && words
            .iter()
            .zip(args)
            .all(|((text, taint, glob), a)| *glob == a.glob && *taint == a.taint && *text == a.text)
}
