//! Finds repetitions in a long text: no new match can begin in them.

use super::engine::{Reading, TextToken};
use super::quote::Region;

/// Shorter texts are read completely: a search for repetitions would cost more than it saves.
const SHORT: usize = 1_024;
/// How many words before and after a position must be the same as at the earlier position.
/// Patterns, combinations and frames span at most 80 words.
const BEFORE: usize = 512;
const AFTER: usize = 256;
/// How many equal words in a row start a repetition.
const SEED: usize = 8;
/// How many starts of repetitions are remembered.
const SLOTS: usize = 4_096;

/// Whether a text is long enough for a search for repetitions.
pub fn long(reading: &Reading) -> bool {
    reading.tokens.len() >= SHORT
}

/// For each word whether its surroundings repeat an earlier part, word for word and quoted alike;
/// empty for a text without repetitions.
pub fn repeated(regions: &[Region], reading: &Reading) -> Vec<bool> {
    if !long(reading) {
        return Vec::new();
    }
    let ids = identities(regions, reading);
    let mut out = Vec::new();
    let mut table = vec![u32::MAX; SLOTS];
    // The distance to the earlier occurrence, and for how many words it has held.
    let (mut back, mut run) = (0, 0);
    for (at, id) in ids.iter().enumerate() {
        if back > 0 && ids.get(at - back) == Some(id) {
            run += 1;
        } else {
            (back, run) = (0, 0);
            if let Some(found) = earlier(&ids, at, &mut table) {
                (back, run) = (found, SEED);
            }
        }
        if run >= BEFORE + AFTER {
            out.resize(ids.len(), false);
            if let Some(place) = out.get_mut(at - AFTER) {
                *place = true;
            }
        }
    }
    out
}

/// A number for each token: equal for words that mean the same to the rules and are quoted alike.
fn identities(regions: &[Region], reading: &Reading) -> Vec<u32> {
    let mut next = 0;
    let number = |token: &TextToken| {
        while regions.get(next).is_some_and(|r| r.end < token.end) {
            next += 1;
        }
        let inside = regions.get(next).filter(|r| r.start <= token.start);
        let quoted = inside.map_or(0, |r| 1 + u32::from(r.code));
        let word = match token.classes {
            _ if token.edge => 0,
            (from, to) if from == to => 1,
            (from, _) => from.saturating_add(2),
        };
        word.saturating_mul(3).saturating_add(quoted)
    };
    reading.tokens.iter().map(number).collect()
}

/// The distance to the last occurrence of the words that end here.
fn earlier(ids: &[u32], at: usize, table: &mut [u32]) -> Option<usize> {
    let here = ids.get((at + 1).checked_sub(SEED)?..=at)?;
    let hash = here.iter().fold(0_u32, |h, id| (h.rotate_left(5) ^ id).wrapping_mul(0x9E37_79B1));
    let slot = table.get_mut((hash >> 8) as usize % SLOTS)?;
    let before = std::mem::replace(slot, u32::try_from(at).ok()?) as usize;
    let there = ids.get((before.checked_add(1)?).checked_sub(SEED)?..=before)?;
    (there == here).then(|| at - before)
}
