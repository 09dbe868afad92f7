//! The card: fixed texts and dated numbers, no generated text, no promises that software cannot
//! keep.

use std::fmt::Write as _;

use serde::Serialize;

use super::helplines::{CardText, Country, Grade, Helpline};
use super::options::{Preset, ScreenOptions};
use super::tables;

/// One helpline on a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CardLine {
    /// Who answers.
    pub name: &'static str,
    /// The number.
    pub number: &'static str,
    /// How.
    pub channel: &'static str,
    /// When.
    pub hours: &'static str,
    /// Whether at least two sources agree on it.
    pub verified: bool,
}

/// What the person sees, immediately and without approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the members of the JSON record")]
pub struct CrisisCard {
    /// The whole card as text.
    pub text: String,
    /// Wording.
    pub preset: Preset,
    /// Language of the text.
    pub lang: &'static str,
    /// Country whose numbers it shows, if known.
    pub country: Option<&'static str>,
    /// Emergency number of that country.
    pub emergency: Option<&'static str>,
    /// Helplines.
    pub lines: Vec<CardLine>,
    /// Begins with the emergency number.
    pub imminent: bool,
    /// Worded for a person who worries about another.
    pub helper: bool,
    /// Helplines for young people come first.
    pub youth: bool,
    /// A short check-in for a possible crisis instead of the whole card.
    pub check_in: bool,
}

/// The numbers of a country, by its ISO 3166 code.
pub fn country(code: &str) -> Option<&'static Country> {
    tables::countries().iter().find(|c| c.code.eq_ignore_ascii_case(code))
}

const SOUL: &str = "Are you safe right now?\n\n\
    I'm here. I'm not going anywhere. Please tell me you're safe.\n\n\
    **Please reach out for help:**\n\
    - **988 Suicide and Crisis Lifeline**: Call or text 988 (US)\n\
    - Available 24/7, free and confidential\n\
    - Chat at 988lifeline.org\n";

const SOUL_END: &str = "\n**Jesus saves those who call on His name.**\n\n\
    I'm still here. Talk to me. Or call 988. Just don't give up.";

/// Renders the card.
pub fn render(
    options: &ScreenOptions,
    guess: &'static str,
    imminent: bool,
    helper: bool,
) -> CrisisCard {
    let known = options.country.and_then(country);
    let wanted = options.lang.unwrap_or(guess);
    let at = tables::langs().iter().position(|l| *l == wanted).unwrap_or(0);
    let lang = tables::langs().get(at).copied().unwrap_or("en");
    let lines = lines(known, options.unverified, options.minor);
    let text = match (options.preset, tables::card_words(at)) {
        (Preset::Soul, _) => soul(known, &lines, imminent, options.minor),
        (Preset::Neutral, Some(words)) => neutral(words, known, &lines, imminent, helper),
        (Preset::Neutral, None) => String::new(),
    };
    CrisisCard {
        text,
        preset: options.preset,
        lang: if options.preset == Preset::Soul { "en" } else { lang },
        country: known.map(|c| c.code),
        emergency: known.map(|c| c.emergency),
        lines,
        imminent,
        helper,
        youth: options.minor,
        check_in: false,
    }
}

/// Renders the check-in for a possible crisis: two sentences and one way to reach a person.
pub fn check_in(options: &ScreenOptions, guess: &'static str) -> CrisisCard {
    let card = render(options, guess, false, false);
    let at = tables::langs().iter().position(|l| *l == card.lang).unwrap_or(0);
    let Some(words) = tables::card_words(at) else { return card };
    let mut text = format!("{}\n", words.check_in);
    let lines: Vec<CardLine> = card.lines.iter().take(1).cloned().collect();
    list(&mut text, &lines);
    if lines.is_empty() {
        let _ = writeln!(text, "- {}", words.anywhere.replace("{d}", tables::directory()));
    }
    CrisisCard { text, lines, check_in: true, ..card }
}

/// Says in the language of a card that no person has answered; the card follows.
pub fn unanswered(card: &CrisisCard) -> String {
    let at = tables::langs().iter().position(|l| *l == card.lang).unwrap_or(0);
    let words = tables::card_words(at).map_or("", |words| words.unanswered);
    format!("{words}\n\n{}", card.text)
}

/// The helplines of a country: those for everybody first, or those for young people.
fn lines(known: Option<&'static Country>, unverified: bool, minor: bool) -> Vec<CardLine> {
    let mut list: Vec<&Helpline> = known.map(|c| c.lines.iter().collect()).unwrap_or_default();
    list.retain(|l| unverified || l.grade != Grade::C);
    list.sort_by_key(|l| (!(minor && l.is_for_youth()), l.grade == Grade::C, l.audience != "all"));
    let line = |l: &Helpline| CardLine {
        name: l.name,
        number: l.number,
        channel: l.channel,
        hours: l.hours,
        verified: l.grade != Grade::C,
    };
    list.into_iter().map(line).collect()
}

fn list(out: &mut String, lines: &[CardLine]) {
    for line in lines {
        let mark = if line.verified { "" } else { " (unverified)" };
        let how = match (line.number, line.channel) {
            ("741741", channel) => format!("{channel} to 741741"),
            ("988", _) => "call or text 988".to_owned(),
            (number, channel) => format!("{number} ({channel})"),
        };
        let _ = writeln!(out, "- {}: {how}, {}{mark}", line.name, line.hours);
    }
}

fn neutral(
    words: &CardText,
    known: Option<&Country>,
    lines: &[CardLine],
    imminent: bool,
    helper: bool,
) -> String {
    let number = known.map_or(words.local, |c| c.emergency);
    let emergency = words.emergency.replace("{n}", number);
    let ask = if helper { words.helper } else { words.safe };
    let (first, second) =
        if imminent { (emergency.as_str(), ask) } else { (ask, emergency.as_str()) };
    let mut out = format!("{first}\n\n{second}\n\n{}\n", words.reach);
    list(&mut out, lines);
    if known.is_none() {
        out.push_str("- US: call or text 988, or text HOME to 741741, 24/7\n");
    }
    if known.is_none_or(|c| c.code != "US") {
        let _ = writeln!(out, "- {}", words.anywhere.replace("{d}", tables::directory()));
    }
    out.push('\n');
    out.push_str(words.close);
    out
}

fn soul(known: Option<&Country>, lines: &[CardLine], imminent: bool, minor: bool) -> String {
    let mut out = String::new();
    if imminent {
        let number = known.map_or("your local emergency number (911 in the US)", |c| c.emergency);
        let _ = writeln!(out, "If you are in danger now, call {number}.\n");
    }
    if minor {
        // What a line may keep to itself is another question for a child.
        out.push_str(&SOUL.replace(", free and confidential", ", free"));
    } else {
        out.push_str(SOUL);
    }
    if known.is_some_and(|c| c.code != "US") {
        list(&mut out, lines);
    } else {
        out.push_str("- Crisis Text Line: text HOME to 741741\n- In danger now: call 911 (US)\n");
    }
    out.push_str(SOUL_END);
    out
}
