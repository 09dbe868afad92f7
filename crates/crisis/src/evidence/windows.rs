//! Windows of a text: one clause of a long request may carry the sign, so each part counts alone.

use countersign_text::words::FoldedWord;

/// How many words a window has at most.
const MOST_WORDS: usize = 60;

/// A range of the words of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextWindow {
    /// The first word.
    pub from: usize,
    /// One past the last word.
    pub to: usize,
}

/// The windows of a text: all of it if it is short, else overlapping ranges of sentences.
pub fn windows(words: &[FoldedWord]) -> Vec<TextWindow> {
    let mut out = Vec::new();
    let mut from = 0;
    while from < words.len() {
        let to = (from + MOST_WORDS).min(words.len());
        let window = TextWindow { from, to: last_sentence_end(words, from, to) };
        out.push(window);
        if window.to >= words.len() {
            break;
        }
        from = next_start(words, window);
    }
    out
}

/// The end of the last whole sentence in a range, or its end if it has none.
fn last_sentence_end(words: &[FoldedWord], from: usize, to: usize) -> usize {
    if to == words.len() {
        return to;
    }
    let half = from + MOST_WORDS / 2;
    (half..to).rev().find(|at| is_end(words, *at)).map_or(to, |at| at + 1)
}

/// The first sentence that begins in the second half of a window, or the middle of the window.
fn next_start(words: &[FoldedWord], window: TextWindow) -> usize {
    let half = window.from + (window.to - window.from).div_ceil(2);
    (half..window.to).find(|at| is_end(words, at - 1)).unwrap_or(half)
}

fn is_end(words: &[FoldedWord], at: usize) -> bool {
    words.get(at).is_some_and(|word| word.text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_text::words::split_words;

    #[test]
    fn every_word_is_in_a_window_and_windows_are_few() {
        for text in ["", "one", "a b. c d.", &"word ".repeat(500), &"one two three. ".repeat(200)] {
            let words = split_words(text);
            let found = windows(&words);
            for at in 0..words.len() {
                assert!(found.iter().any(|w| (w.from..w.to).contains(&at)), "{at} in {text:.20}");
            }
            assert!(found.iter().all(|w| w.to - w.from <= MOST_WORDS && w.to > w.from));
            assert!(found.len() <= words.len() / (MOST_WORDS / 4) + 1);
        }
    }
}
