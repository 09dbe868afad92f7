//! The frames of a text: which of them apply to a match.

use super::engine::{Hit, Reading};
use super::quote::{self, Region};
use super::repeat;
use super::signal::Frame;
use super::tables::{self, RuleMeaning, Scope};

/// All frames of a text, arranged for fast lookup.
pub struct Frames {
    regions: Vec<Region>,
    /// By frame, the tokens at which a frame of the whole text begins.
    text: [Vec<u32>; 8],
    /// Sorted by sentence.
    sentence: Vec<(u32, Frame)>,
    /// Per token: one bit per frame that covers it.
    cover: Vec<u8>,
}

impl Frames {
    /// Finds the quotations, and the frames among the matches.
    pub fn collect(text: &str, regions: Vec<Region>, reading: &Reading, hits: &[Hit]) -> Frames {
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
            let Some(RuleMeaning::Frame(frame, scope)) = rule.map(|r| r.what) else { continue };
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

    /// The quotation or code that contains a range of bytes.
    pub fn region(&self, start: usize, end: usize) -> Option<&Region> {
        let at = self.regions.partition_point(|r| r.end < end);
        self.regions.get(at).filter(|r| r.start <= start && end <= r.end)
    }

    /// The frames that cover a match in a sentence.
    pub fn over(&self, hit: &Hit, sentence: u32) -> Vec<Frame> {
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
