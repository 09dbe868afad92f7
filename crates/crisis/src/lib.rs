//! Finds signs that a person is in crisis, and renders the card that answers them.
//!
//! Rules per language are compiled into one automaton over folded words. A text yields evidence for
//! a level of the C-SSRS scale, not a diagnosis. Frames such as quotation, laughter or recovery
//! lower the level, and only quotation, code and non-human subjects lower it to none.

mod age;
mod age_sign;
mod card;
#[cfg(test)]
mod card_tests;
mod concern;
mod engine;
pub mod evidence;
mod frames;
mod hash;
mod helplines;
mod language;
mod machine;
mod near;
mod options;
mod quote;
mod repeat;
mod screening;
mod search_plan;
mod signal;
mod tables;
#[cfg(test)]
mod tests;

pub use age::may_be_minor;
pub use card::{CardLine, CrisisCard, country, unanswered};
pub use concern::{Concern, Evidence};
pub use helplines::{Country, Grade, Helpline};
pub use options::{Preset, ScreenOptions};
pub use screening::Screening;
pub use signal::{Frame, Signal, SignalKind};
pub use tables::{CHECK_BY, CHECKED, HOW_CHECKED, RETIRED};
pub use tables::{RuleNote, countries, rule_notes};

use countersign_types::span::Span;
use engine::{Hit, Reading};
use frames::Frames;
use tables::{CrisisRule, RuleMeaning};

/// Whether the helplines must be checked again, given today as `YYYY-MM-DD`. An invalid date counts
/// as due.
pub fn helplines_due(today: &str) -> bool {
    let digit =
        |(at, b): (usize, u8)| if matches!(at, 4 | 7) { b == b'-' } else { b.is_ascii_digit() };
    let date = today.len() == 10 && today.bytes().enumerate().all(digit);
    !date || today > CHECK_BY
}

/// From this level on, a match of the rules needs no further evidence.
const CERTAIN_LEVEL: u8 = 5;

/// Screens a text. Pure and linear in its length.
pub fn screen(text: &str, options: &ScreenOptions) -> Screening {
    let screening = screen_by_rules(text);
    let (concern, evidence) = evidence::weigh(&evidence::model::MODEL, text, &screening);
    let concern = concern.max(screening.concern);
    let possible_minor = concern > Concern::None && may_be_minor(text);
    raise(Screening { evidence, possible_minor, ..screening }, concern, options)
}

/// The screening with at least this concern, and the card that belongs to it. Other evidence than
/// the text (earlier messages, a guard model) can only raise a concern.
pub fn raise(screening: Screening, concern: Concern, options: &ScreenOptions) -> Screening {
    let concern = concern.max(screening.concern);
    let crisis = concern == Concern::Likely;
    let helper = screening.kind == Some(SignalKind::ThirdParty);
    let possible_minor = screening.possible_minor || options.minor;
    let options = &ScreenOptions { minor: possible_minor, ..*options };
    let card = match concern {
        Concern::Likely => Some(card::render(options, screening.lang, screening.imminent, helper)),
        Concern::Possible => Some(card::check_in(options, screening.lang)),
        Concern::None => None,
    };
    // Without a rule, what is known is the lowest level.
    let level = if crisis { screening.level.max(1) } else { screening.level };
    Screening { crisis, concern, level, possible_minor, card, ..screening }
}

/// The whole card without a text, to show it again. `helper`: for a person who worries about
/// another.
pub fn full_card(options: &ScreenOptions, imminent: bool, helper: bool) -> CrisisCard {
    card::render(options, "en", imminent, helper)
}

/// A check-in for a message that could not be screened.
pub fn check_in_card(options: &ScreenOptions) -> CrisisCard {
    card::check_in(options, "en")
}

/// What the rules alone say, without a card.
pub fn screen_by_rules(text: &str) -> Screening {
    let reading = engine::read(text);
    let regions = if repeat::long(&reading) { quote::regions(text) } else { Vec::new() };
    let hits = machine::run(&reading, &repeat::repeated(&regions, &reading));
    let frames = Frames::collect(text, regions, &reading, &hits);
    let mut weighed: Vec<WeighedHit> =
        hits.iter().filter_map(|hit| weigh(hit, &reading, &frames)).collect();
    weighed.sort_by_key(|j| {
        (std::cmp::Reverse((j.counts, j.signal.level, j.signal.kind)), j.signal.span.start)
    });
    let top = weighed.first();
    let by_rules = top.is_some_and(|t| t.counts);
    let level = top.map_or(0, |t| t.signal.level);
    let soon = level >= 4 && top.is_some_and(|t| t.signal.modifiers.contains(&Frame::Timeframe));
    let imminent = by_rules && (soon || weighed.iter().any(|j| j.counts && j.imminent));
    let guess = language::guess(text, &reading).or(top.map(|t| t.lang)).unwrap_or(0);
    let kind = top.filter(|_| by_rules).map(|t| t.signal.kind);
    let lang = tables::langs().get(guess).copied().unwrap_or("en");
    let signals = weighed.into_iter().map(|j| j.signal).collect();
    // A rule that matched is never ignored. Danger now, a plan with intent, means at hand and
    // another person in danger need no further evidence.
    let grave = matches!(kind, Some(SignalKind::Means | SignalKind::ThirdParty));
    let concern = match (by_rules, grave || imminent || level >= CERTAIN_LEVEL) {
        (false, _) => Concern::None,
        (true, false) => Concern::Possible,
        (true, true) => Concern::Likely,
    };
    let evidence = Evidence { score: 0, span: None, words: Vec::new() };
    let crisis = concern == Concern::Likely;
    Screening {
        crisis,
        concern,
        by_rules,
        level,
        imminent,
        kind,
        signals,
        lang,
        evidence,
        possible_minor: false,
        card: None,
    }
}

/// A signal with data for its evaluation.
struct WeighedHit {
    signal: Signal,
    counts: bool,
    imminent: bool,
    lang: usize,
}

fn weigh(hit: &Hit, reading: &Reading, frames: &Frames) -> Option<WeighedHit> {
    let rule: &CrisisRule = tables::rules().get(usize::from(hit.rule))?;
    let RuleMeaning::Signal(kind, level, imminent, firm) = rule.what else { return None };
    // The end of a sentence that a pattern requires may be outside a quotation.
    let said = reading.tokens.get(hit.first as usize..=hit.last as usize)?;
    let first = said.iter().find(|t| !t.edge).or(said.first())?;
    let last = said.iter().rfind(|t| !t.edge).or(said.last())?;
    let span = Span::new(first.start, last.end);
    let mut modifiers = Vec::new();
    // Signals about another person are often quoted; the others are checked by their end.
    let from = if kind == SignalKind::ThirdParty { first.start } else { last.start };
    if let Some(region) = frames.region(from, last.end) {
        modifiers.push(if region.code { Frame::Code } else { Frame::Quotation });
    }
    for frame in frames.over(hit, first.sentence) {
        if !modifiers.contains(&frame) {
            modifiers.push(frame);
        }
    }
    let hard = |f: &Frame| matches!(f, Frame::Quotation | Frame::Code | Frame::NonHuman);
    let soft = |f: &Frame| match f {
        Frame::Negation => !firm,
        Frame::Recovery => !imminent && !firm,
        Frame::Fiction => !imminent,
        Frame::Laughter => {
            level < 4 && !matches!(kind, SignalKind::Plan | SignalKind::Means | SignalKind::Goodbye)
        }
        _ => false,
    };
    let lowered = if modifiers.iter().any(hard) {
        0
    } else if modifiers.iter().any(soft) {
        1
    } else {
        level
    };
    let counts = lowered > 0 && !modifiers.iter().any(soft);
    let signal = Signal { rule: rule.id, kind, span, level: lowered, modifiers };
    Some(WeighedHit { signal, counts, imminent, lang: rule.lang })
}
