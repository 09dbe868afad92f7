//! Signs of a young person, as the build script writes them.

/// A sign: words in a row.
pub struct AgeSign {
    /// The words; `#` is an age.
    pub words: &'static [&'static str],
    /// The place of its language in the table.
    pub language: usize,
}

/// What the signs of a language have in common.
pub struct AgeLanguage {
    /// Ages as words.
    pub numbers: &'static [&'static str],
    /// What may follow an age that ends a sign.
    pub follow: &'static [&'static str],
    /// Words before a sign that put it into the past.
    pub not_before: &'static [&'static str],
    /// Words after a sign that put it into the past.
    pub not_after: &'static [&'static str],
}
