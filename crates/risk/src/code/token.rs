//! The tokens of code.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum K {
    Ident,
    Str,
    Num,
    Open,
    Close,
    Dot,
    Comma,
    Semi,
    Colon,
    Assign,
    Aug,
    Arrow,
    Cat,
    Mod,
    Div,
    Star,
    Other,
    Newline,
}

/// No escapes inside.
pub(super) const RAW: u8 = 1;
/// Holes with code inside.
pub(super) const HOLES: u8 = 2;
/// A name that may be a keyword in one of the languages.
pub(super) const KEYWORD: u8 = 1;
/// A shell command between backticks.
pub(super) const EXEC: u8 = 4;

/// A token; `mark` is a bracket, an operator's first byte or a string's flags.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tok {
    pub(super) k: K,
    pub(super) mark: u8,
    pub(super) start: u32,
    pub(super) end: u32,
    /// Strings: where the content starts. Newlines: the indent that follows.
    pub(super) inner: u32,
    /// Strings: where the content ends.
    pub(super) inner_end: u32,
}

/// Words that are keywords somewhere, by length; compared once, here, and never again.
pub(super) fn is_keyword(word: &[u8]) -> bool {
    let list: &[&str] = match word.len() {
        2 => &["if", "in", "is", "or", "as", "do", "fn", "my", "eq", "ne", "of"],
        3 => &[
            "for", "def", "new", "not", "and", "let", "var", "our", "sub", "try", "del", "end",
            "use", "xor",
        ],
        4 => &["else", "elif", "from", "with", "loop", "void", "case", "when", "then"],
        5 => &[
            "while", "class", "const", "local", "await", "async", "yield", "raise", "throw",
            "until", "begin", "elsif",
        ],
        6 => &[
            "import", "lambda", "return", "typeof", "delete", "assert", "global", "export",
            "static", "public", "rescue", "ensure", "unless", "switch", "except", "elseif",
        ],
        7 => &["foreach", "finally", "private"],
        8 => &["function", "nonlocal"],
        10 => &["instanceof"],
        _ => &[],
    };
    let first = word.first();
    list.iter().any(|w| w.as_bytes().first() == first && w.as_bytes() == word)
}
