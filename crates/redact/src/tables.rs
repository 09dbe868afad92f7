//! The tables generated from `rules/secrets.toml`, and their lookup.

/// The form of one kind of secret.
pub(super) struct Shape {
    pub kind: &'static str,
    pub parts: &'static [Part],
    /// The first part to hide.
    pub from: usize,
    /// One past the last part to hide.
    pub to: usize,
    /// Also recognized inside a word.
    pub glued: bool,
    pub any_case: bool,
    pub check: Check,
}

/// A part of a shape.
pub(super) enum Part {
    Text(&'static str),
    Run { class: u8, min: usize, max: usize },
}

/// An additional condition.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    None,
    /// Both letters and digits: not a word of a language.
    Mixed,
    /// Not the port of an address.
    NotPort,
}

/// A name whose value is secret.
pub(super) struct Name {
    pub kind: &'static str,
    /// Lower-case letters and digits.
    pub text: &'static str,
    pub fit: Fit,
    /// The value extends to the end of the line.
    pub line: bool,
}

/// How a name is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    Ends,
    Word,
    Whole,
}

/// Options of some programs that take a secret.
pub(super) struct Flag {
    pub kind: &'static str,
    pub flags: &'static [&'static str],
    pub form: Form,
    /// Only the text after this is secret.
    pub after: &'static str,
}

/// Where an option has its value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Glued,
    Next,
    Either,
    /// Either, unless it is a mapping of ports.
    Login,
}

/// A block between two lines.
pub(super) struct Block {
    pub kind: &'static str,
    pub begin: &'static str,
    pub needs: &'static str,
    pub end: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/secrets.rs"));

/// Whether a byte is in a class.
pub(super) fn is_in(byte: u8, class: u8) -> bool {
    CLASSES.get(usize::from(byte)).is_some_and(|mask| mask & (1 << class) != 0)
}

/// The shapes that may begin with this byte.
pub(super) fn starting(byte: u8) -> impl Iterator<Item = &'static Shape> {
    let list = STARTS.get(usize::from(byte)).copied().unwrap_or_default();
    list.iter().filter_map(|&index| SHAPES.get(usize::from(index)))
}

/// Whether any shape begins with this byte.
pub(super) fn starts(byte: u8) -> bool {
    STARTS.get(usize::from(byte)).is_some_and(|list| !list.is_empty())
}

/// The block of a private key.
pub(super) fn block() -> &'static Block {
    &BLOCK
}

/// All names.
pub(super) fn names() -> &'static [Name] {
    NAMES
}

/// Whether a name only looks like a secret name.
pub(super) fn is_no_secret(compact: &[u8]) -> bool {
    NOT.iter().any(|not| not.as_bytes() == compact)
}

/// The flags of a program.
pub(super) fn program(name: &str) -> Option<&'static [usize]> {
    let at = PROGRAMS.binary_search_by(|(listed, _)| (*listed).cmp(name)).ok()?;
    PROGRAMS.get(at).map(|(_, flags)| *flags)
}

/// One set of flags.
pub(super) fn flag(index: usize) -> Option<&'static Flag> {
    FLAGS.get(index)
}

/// Starts of card numbers and their lengths.
pub(super) fn cards() -> &'static [(&'static str, &'static [usize])] {
    CARDS
}

/// The kind of a card number.
pub(super) fn card_kind() -> &'static str {
    CARD_KIND
}

/// Whether a value reveals nothing.
pub(super) fn is_plain(value: &str) -> bool {
    PLAIN.iter().any(|plain| plain.eq_ignore_ascii_case(value))
}

/// Whether a word is an authentication scheme, such as `Bearer`.
pub(super) fn is_scheme(word: &str) -> bool {
    SCHEMES.iter().any(|scheme| scheme.eq_ignore_ascii_case(word))
}

/// Whether any secret name ends with this lower-case letter or digit.
pub(super) fn may_end(last: u8) -> bool {
    LAST.get(usize::from(last)) == Some(&true)
}

/// The kind as a static string.
pub(super) fn kind(text: &str) -> Option<&'static str> {
    let shapes = SHAPES.iter().map(|shape| shape.kind);
    let names = NAMES.iter().map(|name| name.kind);
    let flags = FLAGS.iter().map(|flag| flag.kind);
    let mut all = shapes.chain(names).chain(flags).chain([CARD_KIND, BLOCK.kind, PAIR_KIND]);
    all.find(|kind| *kind == text)
}

/// Whether this is the name of a kind of secret.
pub(super) fn is_kind(text: &str) -> bool {
    kind(text).is_some()
}

#[cfg(test)]
pub(super) fn examples()
-> &'static [(&'static str, &'static [&'static str], &'static [&'static str])] {
    EXAMPLES
}

#[cfg(any(test, feature = "samples"))]
pub(super) fn class_bit(name: &str) -> u8 {
    let found = CLASS_BITS.iter().find(|(listed, _)| *listed == name);
    found.and_then(|(_, bit)| u8::try_from(*bit).ok()).unwrap_or(u8::MAX)
}
