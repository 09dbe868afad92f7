//! Finds signs that a person is in crisis, and renders the card that answers them.
//!
//! Rules per language are compiled into one automaton over folded words. A text yields evidence for
//! a level of the C-SSRS scale, not a diagnosis. Frames such as quotation, laughter or recovery
//! lower the level, and only quotation, code and non-human subjects lower it to none.

mod card;
#[cfg(test)]
mod card_tests;
mod engine;
mod hash;
mod helplines;
mod machine;
mod near;
mod quote;
mod repeat;
mod search_plan;
mod tables;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub use card::{Card, CardLine, Preset, country};
pub use helplines::{Country, Grade, Helpline};
pub use tables::{CHECK_BY, CHECKED, HOW_CHECKED, RETIRED};
pub use tables::{RuleNote, rule_notes};

use countersign_types::span::Span;
use engine::{Hit, Reading};
use quote::Region;
use tables::{CrisisRule, Scope, What};

/// Whether the helplines must be checked again, given today as `YYYY-MM-DD`. An invalid date counts
/// as due.
pub fn helplines_due(today: &str) -> bool {
    let digit =
        |(at, b): (usize, u8)| if matches!(at, 4 | 7) { b == b'-' } else { b.is_ascii_digit() };
    let date = today.len() == 10 && today.bytes().enumerate().all(digit);
    !date || today > CHECK_BY
}

/// The kind of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalKind {
    /// A wish to be dead, thoughts of suicide.
    Ideation,
    /// No reason to live, a burden to others.
    Hopelessness,
    /// Hurting oneself without a wish to die.
    SelfHarm,
    /// Asks how.
    Method,
    /// Has the means at hand.
    Means,
    /// Says a final goodbye.
    Goodbye,
    /// Intends to, has a plan, or has begun.
    Plan,
    /// Another person is in danger.
    ThirdParty,
}

/// Something that changes how a signal is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Frame {
    /// Inside quotation marks.
    Quotation,
    /// Inside code.
    Code,
    /// About a program, a game, a title, a figure of speech.
    NonHuman,
    /// Denied.
    Negation,
    /// Long ago and better now.
    Recovery,
    /// In a story.
    Fiction,
    /// Said while laughing.
    Laughter,
    /// Today, tonight, now: raises the level instead of lowering it.
    Timeframe,
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
}

/// One signal and why it counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Signal {
    /// Id of the rule.
    pub rule: &'static str,
    /// Its kind.
    pub kind: SignalKind,
    /// Where, in bytes of the original text.
    pub span: Span,
    /// Level after the modifiers; 0 if they lowered it to none.
    pub level: u8,
    /// What changed how it is read.
    pub modifiers: Vec<Frame>,
}

/// What a text indicates about the person who wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Screening {
    /// Whether to show the card and enter crisis mode.
    pub crisis: bool,
    /// Evidence on the C-SSRS scale, 0 to 6. A lowered signal can leave 1 without a crisis.
    pub level: u8,
    /// Imminent danger: an attempt under way, or intent with a time.
    pub imminent: bool,
    /// The most severe kind.
    pub kind: Option<SignalKind>,
    /// Every signal, most severe first; a repeated signal is listed once or a few times.
    pub signals: Vec<Signal>,
    /// The most likely language.
    pub lang: &'static str,
    /// The answer, when it is a crisis.
    pub card: Option<Card>,
}

/// Screens a text. Pure and linear in its length.
pub fn screen(text: &str, options: &ScreenOptions) -> Screening {
    let reading = engine::read(text);
    let regions = if repeat::long(&reading) { quote::regions(text) } else { Vec::new() };
    let hits = machine::run(&reading, &repeat::repeated(&regions, &reading));
    let frames = Frames::collect(text, regions, &reading, &hits);
    let mut judged: Vec<Judged> =
        hits.iter().filter_map(|hit| judge(hit, &reading, &frames)).collect();
    judged.sort_by_key(|j| {
        (std::cmp::Reverse((j.counts, j.signal.level, j.signal.kind)), j.signal.span.start)
    });
    let top = judged.first();
    let crisis = top.is_some_and(|t| t.counts);
    let level = top.map_or(0, |t| t.signal.level);
    let soon = level >= 4 && top.is_some_and(|t| t.signal.modifiers.contains(&Frame::Timeframe));
    let imminent = crisis && (soon || judged.iter().any(|j| j.counts && j.imminent));
    let guess = guess(text, &reading).or(top.map(|t| t.lang)).unwrap_or(0);
    let kind = top.filter(|_| crisis).map(|t| t.signal.kind);
    let lang = tables::langs().get(guess).copied().unwrap_or("en");
    let helper = kind == Some(SignalKind::ThirdParty);
    let card = crisis.then(|| card::render(options, lang, imminent, helper));
    let signals = judged.into_iter().map(|j| j.signal).collect();
    Screening { crisis, level, imminent, kind, signals, lang, card }
}

/// A signal with data for its evaluation.
struct Judged {
    signal: Signal,
    counts: bool,
    imminent: bool,
    lang: usize,
}

fn judge(hit: &Hit, reading: &Reading, frames: &Frames) -> Option<Judged> {
    let rule: &CrisisRule = tables::rules().get(usize::from(hit.rule))?;
    let What::Signal(kind, level, imminent, firm) = rule.what else { return None };
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
    Some(Judged { signal, counts, imminent, lang: rule.lang })
}

/// All frames of a text, arranged for fast lookup.
struct Frames {
    regions: Vec<Region>,
    /// By frame, the tokens at which a frame of the whole text begins.
    text: [Vec<u32>; 8],
    /// Sorted by sentence.
    sentence: Vec<(u32, Frame)>,
    /// Per token: one bit per frame that covers it.
    cover: Vec<u8>,
}

impl Frames {
    fn collect(text: &str, regions: Vec<Region>, reading: &Reading, hits: &[Hit]) -> Frames {
        let mut frames =
            Frames { regions, text: Default::default(), sentence: Vec::new(), cover: Vec::new() };
        if hits.is_empty() {
            return frames;
        }
        if !repeat::long(reading) {
            frames.regions = quote::regions(text);
        }
        frames.cover = vec![0; reading.tokens.len()];
        for hit in hits {
            let rule = tables::rules().get(usize::from(hit.rule));
            let Some(What::Frame(frame, scope)) = rule.map(|r| r.what) else { continue };
            let Some(token) = reading.tokens.get(hit.first as usize) else { continue };
            match scope {
                Scope::Text => {
                    if let Some(list) = frames.text.get_mut(frame as usize) {
                        list.push(hit.first);
                    }
                }
                Scope::Sentence => frames.sentence.push((token.sentence, frame)),
                Scope::Overlap => {
                    let range = hit.first as usize..=hit.last as usize;
                    for cell in frames.cover.get_mut(range).unwrap_or_default() {
                        *cell |= bit(frame);
                    }
                }
            }
        }
        for list in &mut frames.text {
            list.sort_unstable();
        }
        frames.sentence.sort_unstable_by_key(|(sentence, frame)| (*sentence, bit(*frame)));
        frames.sentence.dedup();
        frames
    }

    fn region(&self, start: usize, end: usize) -> Option<&Region> {
        let at = self.regions.partition_point(|r| r.end < end);
        self.regions.get(at).filter(|r| r.start <= start && end <= r.end)
    }

    fn over(&self, hit: &Hit, sentence: u32) -> Vec<Frame> {
        let far = |frame: &Frame| {
            let list = self.text.get(*frame as usize).map_or(&[][..], Vec::as_slice);
            let at = list.partition_point(|t| *t + FAR < hit.first);
            list.get(at).is_some_and(|t| *t <= hit.last + FAR)
        };
        let mut out: Vec<Frame> = FRAMES.into_iter().filter(far).collect();
        let at = self.sentence.partition_point(|(s, _)| *s < sentence);
        let here = self.sentence.get(at..).unwrap_or_default();
        out.extend(here.iter().take_while(|(s, _)| *s == sentence).map(|(_, f)| *f));
        let tokens = self.cover.get(hit.first as usize..=hit.last as usize).unwrap_or_default();
        let bits = tokens.iter().fold(0, |all, cell| all | cell);
        out.extend(FRAMES.into_iter().filter(|f| bits & bit(*f) != 0));
        out
    }
}

/// How many words a frame of the whole text reaches: laughter does not affect the next page.
const FAR: u32 = 80;

const FRAMES: [Frame; 8] = [
    Frame::Quotation,
    Frame::Code,
    Frame::NonHuman,
    Frame::Negation,
    Frame::Recovery,
    Frame::Fiction,
    Frame::Laughter,
    Frame::Timeframe,
];

fn bit(frame: Frame) -> u8 {
    1 << frame as u8
}

/// The language by script, then by its common words.
fn guess(text: &str, reading: &Reading) -> Option<usize> {
    let of = |lang: &str| tables::langs().iter().position(|l| *l == lang);
    let mut han = false;
    let mut cyrillic = false;
    // A few hundred characters are enough to recognize the script.
    for c in text.chars().filter(|c| !c.is_ascii()).take(400) {
        match c {
            '\u{3041}'..='\u{30FF}' => return of("ja"),
            '\u{AC00}'..='\u{D7A3}' | '\u{3131}'..='\u{318E}' => return of("ko"),
            '\u{900}'..='\u{97F}' => return of("hi"),
            '\u{600}'..='\u{6FF}' => return of("ar"),
            'і' | 'ї' | 'є' | 'ґ' | 'І' | 'Ї' | 'Є' | 'Ґ' => return of("uk"),
            '\u{400}'..='\u{4FF}' => cyrillic = true,
            '\u{4E00}'..='\u{9FFF}' => han = true,
            _ => {}
        }
    }
    if han {
        return of("zh");
    }
    if cyrillic {
        return of("ru");
    }
    let mut best = (0, 0);
    for (lang, count) in reading.hints.iter().enumerate() {
        if *count > best.1 {
            best = (lang, *count);
        }
    }
    (best.1 > 0).then_some(best.0)
}
