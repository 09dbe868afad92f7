//! How to screen a text and how to word the card.

use serde::Serialize;

/// Wording of the card.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Plain and kind.
    #[default]
    Neutral,
    /// The wording of the first version, with its religious line.
    Soul,
}

/// How to screen and how to answer.
#[derive(Debug, Clone, Copy, Default)]
pub struct ScreenOptions<'a> {
    /// ISO 3166 code of the person's country, if known.
    pub country: Option<&'a str>,
    /// Wording of the card.
    pub preset: Preset,
    /// Language of the card; by default the language of the text.
    pub lang: Option<&'a str>,
    /// Also show helplines with only one source, marked as unverified.
    pub unverified: bool,
    /// The person may be under 18, as is known from elsewhere: helplines for young people come
    /// first.
    pub minor: bool,
}
