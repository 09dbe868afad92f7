//! The patterns of the rule tables. There are thousands, so each is a place in one text.

pub(crate) mod static_list;

use std::ops::Deref;

use self::static_list::{StaticList, TableValue};
use countersign_text::glob::GlobShape;

// `GLOB_TEXT`: the literal texts of all patterns, one behind the other; then their lists.
include!(concat!(env!("OUT_DIR"), "/globs.rs"));

/// A pattern of the rule tables. A leading `(?i)` in the rule file ignores ASCII case.
#[derive(Debug, Clone, Copy)]
pub struct Glob {
    /// The bytes that a matching text contains, as a set from `bytes_of`.
    pub needs: u64,
    /// Where its literal text starts in the text of all patterns.
    pub at: u32,
    /// The length of its literal text.
    pub len: u16,
    /// Its shape.
    pub shape: GlobShape,
    /// Ignores ASCII case.
    pub fold: bool,
}

impl Glob {
    /// Whether a text matches, given its set of bytes. Most patterns are rejected by the set alone.
    #[inline]
    pub fn fits(&self, text: &str, bytes: u64) -> bool {
        self.needs & !bytes == 0 && self.compare(text)
    }

    #[inline(never)]
    fn compare(&self, text: &str) -> bool {
        let start = self.at as usize;
        let pattern = GLOB_TEXT.get(start..start + usize::from(self.len));
        pattern.is_some_and(|pattern| self.shape.compare(pattern, self.fold, text))
    }
}

/// Several patterns, of which any may match.
#[derive(Debug, Clone, Copy)]
pub struct Globs {
    /// The bytes that all of the patterns need.
    pub needs: u64,
    /// The rarest byte of each pattern: a text without any of them matches none.
    pub marks: u64,
    /// The patterns grouped by their rarest byte, each group with the bytes that all its patterns
    /// need.
    pub runs: StaticList<(u64, StaticList<Glob>)>,
}

impl Globs {
    /// No patterns.
    pub const NONE: Globs = Globs { needs: 0, marks: 0, runs: StaticList::NONE };

    /// Whether there are no patterns.
    pub const fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Whether any of the patterns matches.
    #[inline]
    pub fn fit(&self, text: &str, bytes: u64) -> bool {
        let likely = |(needs, run): &(u64, StaticList<Glob>)| {
            needs & !bytes == 0 && run.iter().any(|p| p.fits(text, bytes))
        };
        self.needs & !bytes == 0 && self.marks & bytes != 0 && self.runs.iter().any(likely)
    }
}

static NO_GLOBS: Globs = Globs::NONE;

/// A set of patterns by its number. Most rules have none of most kinds.
#[derive(Debug, Clone, Copy)]
pub struct GlobsRef(u16);

impl GlobsRef {
    /// The set with this number in the table of all sets.
    pub(crate) const fn new(number: u16) -> GlobsRef {
        GlobsRef(number)
    }

    /// Whether there are no patterns.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl Deref for GlobsRef {
    type Target = Globs;

    #[inline]
    fn deref(&self) -> &Globs {
        GLOB_SETS.get(usize::from(self.0)).unwrap_or(&NO_GLOBS)
    }
}
