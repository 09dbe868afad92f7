//! The compiled rule tables and how they are searched.

use super::name::same;
pub(super) use super::role::Role;
use crate::code::Language;
use crate::effect::Effect;
use crate::impact::HumanImpact;
use countersign_json::Value;
use countersign_types::tier::Tier;

#[cfg(test)]
pub(super) mod names_that_run;

/// One described tool.
pub(super) struct Entry {
    pub code: &'static str,
    pub tier: Tier,
    pub effects: &'static [Effect],
    pub irreversible: bool,
    /// The tier is for code that is not understood; other code is assessed by what it does.
    pub assessed_by_code: bool,
    pub human: HumanImpact,
    pub message: &'static str,
    pub suggestion: Option<&'static str>,
    /// Sorted by name.
    pub args: &'static [(&'static str, Role)],
    /// The argument and the values of it for which this entry replaces the plain one.
    pub when: Option<(&'static str, &'static [&'static str])>,
    /// The agent whose own tool this is, where only that agent gives the name this meaning.
    pub host: Option<&'static str>,
}

impl Entry {
    /// Whether the tool runs what it is given: each of its arguments must then be understood.
    pub(super) fn runs_code(&self) -> bool {
        self.effects.contains(&Effect::Exec) || self.args.iter().any(|(_, role)| role.is_code())
    }
}

/// A rule about tools as people read it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    pub code: &'static str,
    pub tier: Tier,
    pub message: &'static str,
    pub suggestion: Option<&'static str>,
}

/// The agent to which a rule's names belong, where they mean this only there.
pub(crate) fn host_of(code: &str) -> Option<&'static str> {
    TOOLS.iter().find(|tool| tool.code == code)?.host
}

/// Every described tool in the order of the files, then the words by which others are guessed.
pub(crate) fn about() -> impl Iterator<Item = About> {
    let bare = |code, tier, message| About { code, tier, message, suggestion: None };
    let tools = TOOLS
        .iter()
        .map(move |t| About { suggestion: t.suggestion, ..bare(t.code, t.tier, t.message) });
    let verbs = VERBS.iter().map(move |v| bare(v.code, v.tier, v.message));
    let nouns = NOUNS.iter().filter(|n| !n.message.is_empty()).map(move |n| {
        let worst = n.on.iter().map(|(_, tier)| *tier).max();
        bare(n.code, worst.unwrap_or(Tier::Safe), n.message)
    });
    tools.chain(verbs).chain(nouns)
}

/// What kind of thing a verb does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Read,
    Find,
    Take,
    Write,
    Manage,
    Delete,
    Send,
    Money,
    Commit,
    Grant,
    Exec,
    Delegate,
    Control,
    End,
}

impl Class {
    /// Whether it only looks.
    pub(super) fn only_looks(self) -> bool {
        matches!(self, Class::Read | Class::Find)
    }
}

/// How surely a word is a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    /// Often a noun.
    Weak,
    /// A verb or a noun: what that means depends on whether it looks.
    Either,
    /// Always a verb.
    Strong,
}

/// A group of verbs with one meaning.
pub(super) struct Verb {
    pub class: Class,
    pub code: &'static str,
    pub tier: Tier,
    pub effects: &'static [Effect],
    pub irreversible: bool,
    pub decides: bool,
    pub message: &'static str,
}

/// A group of nouns with one meaning.
pub(super) struct Noun {
    pub code: &'static str,
    pub message: &'static str,
    pub mild: bool,
    pub human: HumanImpact,
    pub effects: &'static [Effect],
    pub on: &'static [(Class, Tier)],
}

impl Noun {
    pub(super) fn tier(&self, class: Class) -> Option<Tier> {
        self.on.iter().find(|(c, _)| *c == class).map(|(_, tier)| *tier)
    }
}

include!(concat!(env!("OUT_DIR"), "/tools.rs"));

/// A sorted table of words. The number holds the first eight bytes of the word.
type Words<T> = [(u64, &'static str, T)];

fn first_bytes(word: &str) -> u64 {
    let mut number = 0;
    let mut shift = 64;
    for byte in word.bytes().take(8) {
        shift -= 8;
        number |= u64::from(byte) << shift;
    }
    number
}

fn find<T: Copy>(table: &Words<T>, word: &str) -> Option<T> {
    let first = first_bytes(word);
    let at =
        table.binary_search_by(|(key, name, _)| key.cmp(&first).then_with(|| (*name).cmp(word)));
    table.get(at.ok()?).map(|(.., found)| *found)
}

/// The tool of a compact key, and whether the key names its server.
pub(super) fn tool(key: &str, arguments: &Value<'_>) -> Option<(&'static Entry, bool)> {
    if let Some(entry) = in_group(0, key, arguments) {
        return Some((entry, false));
    }
    // Every server's name that begins the key stands before it; the longest comes first.
    let first = key.as_bytes().first()?;
    let before = SERVERS.get(..SERVERS.partition_point(|(name, _)| *name <= key))?;
    before.iter().rev().take_while(|(name, _)| name.as_bytes().first() == Some(first)).find_map(
        |(name, group)| Some((in_group(*group, key.strip_prefix(name)?, arguments)?, true)),
    )
}

/// The own tool of an agent, by its exact name.
pub(super) fn host_tool(host: &str, name: &str, arguments: &Value<'_>) -> Option<&'static Entry> {
    let (_, group) = HOSTS.iter().find(|(known, _)| same(host, known))?;
    in_group(*group, name, arguments)
}

fn in_group(group: u8, key: &str, arguments: &Value<'_>) -> Option<&'static Entry> {
    let plain = TOOLS.get(usize::from(find(TOOL_NAMES.get(usize::from(group))?, key)?))?;
    let start = VARIANTS.partition_point(|(g, name, _)| (*g, *name) < (group, key));
    let variants = VARIANTS.get(start..)?;
    let same_name = variants.iter().take_while(|(g, name, _)| (*g, *name) == (group, key));
    let mut entries = same_name.filter_map(|(.., at)| TOOLS.get(usize::from(*at)));
    entries.find(|entry| fits(entry, arguments)).or(Some(plain))
}

/// Whether the argument that decides between entries has one of this entry's values. An argument
/// given twice in different spellings must fit both times.
fn fits(entry: &Entry, arguments: &Value<'_>) -> bool {
    let (Some((wanted, values)), Value::Object(members)) = (entry.when, arguments) else {
        return false;
    };
    let mut given = members.iter().filter(|(key, _)| same(key, wanted)).peekable();
    given.peek().is_some()
        && given.all(|(_, value)| match value {
            Value::String(text) => values.contains(&text.as_ref()),
            Value::Bool(on) => values.contains(if *on { &"true" } else { &"false" }),
            _ => false,
        })
}

/// The verb of a word, and how surely the word is one.
pub(super) fn verb(word: &str) -> Option<(&'static Verb, Strength)> {
    let (index, strong) = find(VERB_WORDS, word)?;
    Some((VERBS.get(usize::from(index))?, strong))
}

/// Whether a verb of two words begins with this one.
pub(super) fn begins_a_pair(word: &str) -> bool {
    let first = first_bytes(word);
    let at = VERB_WORDS.partition_point(|(key, name, _)| (*key, *name) <= (first, word));
    VERB_WORDS.get(at).is_some_and(|(_, name, _)| {
        name.strip_prefix(word).is_some_and(|rest| rest.starts_with(' '))
    })
}

/// The noun group of a word in singular or plural.
pub(super) fn noun(word: &str) -> Option<&'static Noun> {
    let index = find(NOUN_WORDS, word).or_else(|| find(NOUN_WORDS, singular(word)?))?;
    NOUNS.get(usize::from(index))
}

/// The role of an argument's compact name.
pub(super) fn argument(name: &str) -> Option<Role> {
    find(ARGUMENT_NAMES, name)
}

/// The role of an argument's compact name in a tool that runs what it is given.
pub(super) fn exec_argument(key: &str) -> Option<Role> {
    find(EXEC_ARGUMENTS, key)
}

/// The tier of an action name.
pub(super) fn action(name: &str) -> Option<Tier> {
    find(ACTIONS, name)
}

/// A plural without its `s`; good enough for the words in the tables.
pub(super) fn singular(word: &str) -> Option<&str> {
    let one = word.strip_suffix("es").filter(|w| w.ends_with(['s', 'x', 'h']));
    one.or_else(|| word.strip_suffix('s')).filter(|w| w.len() > 1)
}
