//! Where a long text says again what it said before: there nothing new can begin.

use super::engine::{Reading, Token};
use super::quote::Region;

/// Texts of fewer words are read whole: looking for repetition would cost more than it saves.
const SHORT: usize = 1_024;
/// So many words before a place, and so many after it, must be the same as at the earlier place.
/// Patterns, combinations and frames reach 80 words at most.
const BEFORE: usize = 512;
const AFTER: usize = 256;
/// A repetition is first noticed by so many words in a row.
const SEED: usize = 8;
/// How many beginnings of repetitions are remembered.
const SLOTS: usize = 4_096;

/// Whether a text is so long that a repetition in it is worth finding.
pub fn long(reading: &Reading) -> bool {
    reading.tokens.len() >= SHORT
}

/// For every word whether all around it was said before, word for word and quoted alike; empty
/// for a text that does not repeat itself.
pub fn repeated(regions: &[Region], reading: &Reading) -> Vec<bool> {
    if !long(reading) {
        return Vec::new();
    }
    let ids = identities(regions, reading);
    let mut out = Vec::new();
    let mut table = vec![u32::MAX; SLOTS];
    // How far back the same words stand, and for how many words that has been so.
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

/// A number for each token: the same for words that mean the same to the rules, and are quoted
/// the same way.
fn identities(regions: &[Region], reading: &Reading) -> Vec<u32> {
    let mut next = 0;
    let number = |token: &Token| {
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

/// How far back the last words stand that are the same as those that end here.
fn earlier(ids: &[u32], at: usize, table: &mut [u32]) -> Option<usize> {
    let here = ids.get((at + 1).checked_sub(SEED)?..=at)?;
    let hash = here.iter().fold(0_u32, |h, id| (h.rotate_left(5) ^ id).wrapping_mul(0x9E37_79B1));
    let slot = table.get_mut((hash >> 8) as usize % SLOTS)?;
    let before = std::mem::replace(slot, u32::try_from(at).ok()?) as usize;
    let there = ids.get((before.checked_add(1)?).checked_sub(SEED)?..=before)?;
    (there == here).then(|| at - before)
}
