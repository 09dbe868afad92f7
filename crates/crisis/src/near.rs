//! Combinations: marks that are close together, in any order, and together make a signal.

use super::engine::{Hit, Reading};
use super::tables::{self, Combo, RuleMeaning};

/// Of the marks a text may have, by language, those that some combination can use.
pub fn useful(marks: &[u64; 15]) -> [u64; 15] {
    let mut out = [0; 15];
    for (lang, (has, set)) in marks.iter().zip(&mut out).enumerate() {
        // One mark alone makes no signal.
        if has.count_ones() < 2 {
            continue;
        }
        for combo in of_lang(lang) {
            if has & combo.all == combo.all {
                *set |= combo.all | combo.none;
            }
        }
    }
    out
}

fn of_lang(lang: usize) -> &'static [Combo] {
    let combos = tables::combos();
    let from = combos.partition_point(|c| c.lang < lang);
    let to = combos.partition_point(|c| c.lang <= lang);
    combos.get(from..to).unwrap_or_default()
}

/// Whether a rule is used: not a mark that no combination needs.
pub fn is_useful(rule: u16, useful: &[u64; 15]) -> bool {
    let Some(rule) = tables::rules().get(usize::from(rule)) else { return false };
    match rule.what {
        RuleMeaning::Mark(bit) => useful.get(rule.lang).is_some_and(|set| set >> bit & 1 == 1),
        _ => true,
    }
}

/// Removes the marks from the matches and adds the signals they make.
pub fn combine(reading: &Reading, hits: &mut Vec<Hit>) {
    let mut marks: Vec<(usize, Mark)> = Vec::new();
    hits.retain(|hit| {
        let rule = tables::rules().get(usize::from(hit.rule));
        let Some((lang, RuleMeaning::Mark(bit))) = rule.map(|r| (r.lang, r.what)) else {
            return true;
        };
        let sentence = reading.tokens.get(hit.last as usize).map_or(0, |t| t.sentence);
        marks.push((lang, Mark { bit, first: hit.first, last: hit.last, sentence }));
        false
    });
    marks.sort_unstable_by_key(|(lang, m)| (*lang, m.last, m.first, m.bit));
    marks.dedup();
    for same in marks.chunk_by(|a, b| a.0 == b.0) {
        let Some((lang, _)) = same.first() else { continue };
        if foreign(*lang, &reading.hints) {
            continue;
        }
        let list: Vec<Mark> = same.iter().map(|(_, mark)| *mark).collect();
        pass(&list, of_lang(*lang), hits);
    }
}

/// Whether a text is clearly in another language, because neighbouring languages share words.
/// Checked only for languages in Latin letters other than English.
fn foreign(lang: usize, hints: &[u32; 15]) -> bool {
    let own = hints.get(lang).copied().unwrap_or(0);
    let most = hints.iter().copied().max().unwrap_or(0);
    (1..=7).contains(&lang) && own * 2 < most
}

/// A mark found in the text.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mark {
    bit: u8,
    first: u32,
    last: u32,
    sentence: u32,
}

/// The widest combination.
const WIDEST: u32 = 64;

fn pass(marks: &[Mark], combos: &[Combo], hits: &mut Vec<Hit>) {
    let in_sentence = by_sentence(marks);
    let mut latest = [Mark { bit: 0, first: 0, last: 0, sentence: 0 }; 64];
    // The marks within reach: how often each occurs, and which occur at all.
    let (mut counts, mut near, mut oldest) = ([0_u32; 64], 0_u64, marks.iter());
    let mut old = oldest.next();
    for mark in marks {
        let slot = usize::from(mark.bit);
        if let (Some(latest), Some(count)) = (latest.get_mut(slot), counts.get_mut(slot)) {
            *latest = *mark;
            *count += 1;
        }
        near |= 1 << mark.bit;
        while let Some(gone) = old.filter(|o| o.last + WIDEST < mark.last) {
            if let Some(count) = counts.get_mut(usize::from(gone.bit)) {
                *count -= 1;
                near &= !(u64::from(*count == 0) << gone.bit);
            }
            old = oldest.next();
        }
        for combo in combos {
            if combo.all >> mark.bit & 1 == 1
                && near & combo.all == combo.all
                && let Some(first) = fits(combo, mark, &latest)
                && !barred(combo, first.sentence, mark.sentence, &in_sentence)
            {
                let start = first.first.min(mark.first);
                hits.push(Hit { rule: combo.rule, first: start, last: mark.last });
            }
        }
    }
}

/// The marks of each sentence.
fn by_sentence(marks: &[Mark]) -> Vec<(u32, u64)> {
    let mut out: Vec<(u32, u64)> = Vec::new();
    for mark in marks {
        match out.last_mut() {
            Some((sentence, set)) if *sentence == mark.sentence => *set |= 1 << mark.bit,
            _ => out.push((mark.sentence, 1 << mark.bit)),
        }
    }
    out
}

/// The first mark of a combination that ends with `mark`, if they are close enough.
fn fits(combo: &Combo, mark: &Mark, latest: &[Mark; 64]) -> Option<Mark> {
    let mut first = *mark;
    let mut rest = combo.all;
    while rest != 0 {
        let part = latest.get(rest.trailing_zeros() as usize)?;
        if part.last < first.last {
            first = *part;
        }
        rest &= rest - 1;
    }
    let wide = mark.last - first.last > u32::from(combo.width);
    let apart = !combo.across && first.sentence != mark.sentence;
    (!wide && !apart && !doubled(combo, latest)).then_some(first)
}

/// Whether one range of text is the match of two of the marks.
fn doubled(combo: &Combo, latest: &[Mark; 64]) -> bool {
    let heavy = combo.all & !combo.light;
    let mut spans = [(0, 0); 6];
    let mut count = 0;
    let mut rest = heavy;
    while let Some(mark) = latest.get(rest.trailing_zeros() as usize) {
        rest &= rest - 1;
        let known = spans.get(..count).unwrap_or_default();
        if known.iter().any(|(first, last)| mark.first <= *last && *first <= mark.last) {
            return true;
        }
        if let Some(slot) = spans.get_mut(count) {
            *slot = (mark.first, mark.last);
            count += 1;
        }
    }
    false
}

/// Whether a mark that the combination excludes is in its sentences.
fn barred(combo: &Combo, from: u32, to: u32, in_sentence: &[(u32, u64)]) -> bool {
    let at = in_sentence.partition_point(|(sentence, _)| *sentence < from);
    let here = in_sentence.get(at..).unwrap_or_default();
    combo.none != 0
        && here.iter().take_while(|(s, _)| *s <= to).any(|(_, set)| set & combo.none != 0)
}
