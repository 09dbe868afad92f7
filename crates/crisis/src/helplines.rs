//! The helplines of each country, and the texts of the card in each language.

use serde::Serialize;

/// How well a number is sourced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Grade {
    /// A page by the operator, a ministry or the press.
    A,
    /// At least two lists agree.
    B,
    /// One list or none.
    C,
}

/// A helpline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Helpline {
    /// Who operates it.
    pub name: &'static str,
    /// The number.
    pub number: &'static str,
    /// How: call, text, chat.
    pub channel: &'static str,
    /// When.
    pub hours: &'static str,
    /// For whom.
    pub audience: &'static str,
    /// How well it is sourced.
    pub grade: Grade,
}

impl Helpline {
    /// Whether it is for children and young people.
    pub fn is_for_youth(&self) -> bool {
        self.audience == "youth" || self.audience.starts_with("under ")
    }
}

/// A country with its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Country {
    /// ISO 3166 code.
    pub code: &'static str,
    /// English name.
    pub name: &'static str,
    /// Emergency number.
    pub emergency: &'static str,
    /// Its helplines.
    pub lines: &'static [Helpline],
}

/// The sentences of the card in one language.
pub struct CardText {
    /// Says that no person has answered, above the whole card.
    pub unanswered: &'static str,
    /// The whole text of a check-in, above a helpline.
    pub check_in: &'static str,
    /// Asks whether the person is safe.
    pub safe: &'static str,
    /// The same for a person who worries about another.
    pub helper: &'static str,
    /// What to do in danger; `{n}` is the number.
    pub emergency: &'static str,
    /// The local emergency number, if it is not known.
    pub local: &'static str,
    /// Introduces the helplines.
    pub reach: &'static str,
    /// Where to find helplines of other countries; `{d}` is the directory.
    pub anywhere: &'static str,
    /// Ends the card.
    pub close: &'static str,
}
