//! Concepts such as dying, being a burden or saying goodbye, by their words in 32 languages.
//!
//! A concept means the same in every language, so what was learned from one language helps in all.

use countersign_text::words::FoldedWord;

/// One word of the lexicon: folded, language, concept, whether any ending may follow.
type LexiconEntry = (&'static str, u8, u8, bool);

include!(concat!(env!("OUT_DIR"), "/lexicon.rs"));

/// A language of the lexicon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LexiconLanguage(u8);

impl LexiconLanguage {
    /// Whether it is English, of which we have the most rows.
    pub fn is_english(self) -> bool {
        self.code() == "en"
    }

    /// Its two letters.
    pub fn code(self) -> &'static str {
        LANGUAGES.get(usize::from(self.0)).copied().unwrap_or("en")
    }

    fn of(code: &str) -> Option<LexiconLanguage> {
        let at = LANGUAGES.iter().position(|language| *language == code)?;
        u8::try_from(at).ok().map(LexiconLanguage)
    }
}

/// The language of a text: by its script where words are not spaced, else by the most known words.
pub fn language(text: &str, words: &[FoldedWord]) -> LexiconLanguage {
    if let Some(unspaced) = unspaced_language(text) {
        return unspaced;
    }
    let mut counts = [0_u32; LANGUAGES.len()];
    for word in words {
        let mut seen = 0_u64;
        for (_, language, _, _) in entries(&word.text) {
            seen |= 1 << language;
        }
        for (at, count) in counts.iter_mut().enumerate() {
            *count += u32::from(seen >> at & 1 != 0);
        }
    }
    let most = counts.iter().copied().max().unwrap_or_default();
    let first = counts.iter().position(|count| *count == most).unwrap_or_default();
    LexiconLanguage(u8::try_from(first).unwrap_or_default())
}

fn unspaced_language(text: &str) -> Option<LexiconLanguage> {
    let mut han = false;
    for c in text.chars().filter(|c| !c.is_ascii()).take(400) {
        match c {
            '\u{3041}'..='\u{30FF}' => return LexiconLanguage::of("ja"),
            '\u{AC00}'..='\u{D7A3}' | '\u{3131}'..='\u{318E}' => return LexiconLanguage::of("ko"),
            '\u{0E01}'..='\u{0E5B}' => return LexiconLanguage::of("th"),
            '\u{4E00}'..='\u{9FFF}' => han = true,
            _ => {}
        }
    }
    if han { LexiconLanguage::of("zh") } else { None }
}

/// The concepts of a sentence in the order of their words.
pub fn concepts(sentence: &[FoldedWord], language: LexiconLanguage) -> Vec<u8> {
    if matches!(language.code(), "ja" | "ko" | "th" | "zh") {
        return unspaced_concepts(sentence, language);
    }
    let mut out = Vec::new();
    for word in sentence {
        let from = out.len();
        let own = entries(&word.text).filter(|(_, of, _, _)| *of == language.0);
        for (_, _, concept, _) in own {
            if out.get(from..).is_some_and(|here| !here.contains(concept)) {
                out.push(*concept);
            }
        }
        if let Some(here) = out.get_mut(from..) {
            here.sort_unstable();
        }
    }
    out
}

/// Without spaces, words are found anywhere in the sentence.
fn unspaced_concepts(sentence: &[FoldedWord], language: LexiconLanguage) -> Vec<u8> {
    let text: String = sentence.iter().map(|word| word.text.as_str()).collect();
    let own = ENTRIES.iter().filter(|(_, of, _, _)| *of == language.0);
    let mut found: Vec<(usize, u8)> =
        own.filter_map(|(word, _, concept, _)| Some((text.find(word)?, *concept))).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|(_, concept)| concept).collect()
}

/// The entries that a folded word matches, in all languages.
fn entries(word: &str) -> impl Iterator<Item = &'static LexiconEntry> {
    let ends = word.char_indices().map(|(at, c)| at + c.len_utf8());
    ends.filter_map(move |end| word.get(..end)).flat_map(move |head| {
        let whole = head.len() == word.len();
        let from = ENTRIES.partition_point(|entry| entry.0 < head);
        let list = ENTRIES.get(from..).unwrap_or_default();
        list.iter().take_while(move |entry| entry.0 == head).filter(move |entry| whole || entry.3)
    })
}
