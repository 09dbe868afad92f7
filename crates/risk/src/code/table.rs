//! The static tables built from `rules/code`: a trie of dotted names, rules, combinations.

use crate::code::Language;
use crate::effect::Effect;
use countersign_types::tier::Tier;

/// How the arguments of a call are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The call alone says it.
    Plain,
    /// Deletes a path.
    Delete,
    /// Deletes a path with everything below.
    Tree,
    /// Writes a path.
    Write,
    /// Reads a path.
    Read,
    /// Opens a path; the mode tells.
    Open,
    /// From one path to another.
    Copy,
    /// A shell line.
    Shell,
    /// A list of words, or a shell line.
    Start,
    /// A program and its words as separate arguments.
    Spread,
    /// Code as text.
    Eval,
    /// SQL as text.
    Sql,
    /// Fetches an address.
    Fetch,
    /// An HTTP request whose method and body tell.
    Request,
    /// Ends a process.
    Kill,
    /// Changes rights.
    Mode,
    /// Enters a folder.
    Enter,
}

/// What a call means for the value it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// Nothing known.
    None,
    /// A module by name.
    Import,
    /// An attribute by name.
    Getattr,
    /// All names.
    Globals,
    /// Character codes to text.
    Chr,
    /// Base64 to text.
    Base64,
    /// Hex digits to text.
    Hex,
    /// Percent escapes to text.
    Unquote,
    /// Rot13 (or another codec) to text.
    Rot13,
    /// Numbers to text.
    Bytes,
    /// The argument itself.
    Same,
    /// Path pieces.
    Join,
    /// A function over a list.
    Map,
    /// A home folder.
    Home,
    /// Bytes with an encoding named.
    Buffer,
    /// The receiver itself.
    Parent,
    /// Entries below the receiver.
    Iter,
    /// Calls its first argument with the rest.
    Call,
    /// A line to words.
    Split,
}

/// A name in the trie.
#[derive(Debug)]
pub(crate) struct Node {
    /// Ordered by the first eight bytes of the name as a number.
    pub(crate) children: &'static [(u64, &'static str, u16)],
    pub(crate) calls: &'static [u16],
    pub(crate) reads: &'static [u16],
    pub(crate) op: Op,
    pub(crate) is: u16,
    pub(crate) gives: u32,
}

/// A rule, or (with signs to be seen together) a combination.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) id: &'static str,
    pub(crate) tier: Tier,
    pub(crate) effects: &'static [Effect],
    pub(crate) message: &'static str,
    pub(crate) suggestion: &'static str,
    pub(crate) kind: Kind,
    pub(crate) signs: u32,
    pub(crate) arg: u8,
    pub(crate) needs: &'static str,
}

/// All that is known about one language.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) nodes: &'static [Node],
    pub(crate) rules: &'static [Rule],
    pub(crate) combos: &'static [Rule],
}

impl Table {
    /// The child of a name.
    pub(crate) fn child(&self, node: u16, name: &str) -> Option<u16> {
        let children = self.nodes.get(usize::from(node))?.children;
        if children.is_empty() {
            return None;
        }
        let key = head(name);
        let at = children.partition_point(|c| c.0 < key);
        let same = children.get(at..)?.iter().take_while(|c| c.0 == key);
        same.into_iter().find(|c| c.1 == name).map(|c| c.2)
    }

    /// A dotted name from the top.
    pub(crate) fn dotted(&self, name: &str) -> Option<u16> {
        name.split(['.', '/']).try_fold(0, |at, part| self.child(at, part))
    }

    /// A name's entry.
    pub(crate) fn node(&self, node: u16) -> Option<&'static Node> {
        self.nodes.get(usize::from(node))
    }

    /// A rule by number.
    pub(crate) fn rule(&self, rule: u16) -> Option<&'static Rule> {
        self.rules.get(usize::from(rule))
    }
}

/// The first eight bytes as a number: names differ there, mostly.
fn head(name: &str) -> u64 {
    let bytes = name.as_bytes();
    if let Some(first) = bytes.first_chunk::<8>() {
        return u64::from_be_bytes(*first);
    }
    let filled = bytes.iter().fold(0, |n, &b| n << 8 | u64::from(b));
    filled << (8 * (8 - bytes.len().min(8)) % 64)
}

/// A name to look up by: numbers are compared before text.
pub(crate) type Id<'a> = (u64, &'a str);

/// The name to look up by.
pub(crate) fn id(name: &str) -> Id<'_> {
    (head(name), name)
}

/// The table of a language.
pub(crate) fn of(language: Language) -> &'static Table {
    match language {
        Language::Python => &PYTHON,
        Language::JavaScript => &JAVASCRIPT,
        Language::Perl => &PERL,
        Language::Ruby => &RUBY,
        Language::Php => &PHP,
        Language::Other => &OTHER,
    }
}

include!(concat!(env!("OUT_DIR"), "/code.rs"));
