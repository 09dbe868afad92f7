//! Signs that the person who writes may be under 18.

use countersign_text::words::{FoldedWord, Spacing, split_words};

use super::age_sign::AgeSign;
use super::tables;

/// Stands for an age in a sign.
const AGE: &str = "#";
/// What may be written directly after an age.
const SUFFIXES: [&str; 6] = ["f", "m", "yo", "y", "yr", "yrs"];

/// Whether the person who writes a text may be under 18, by what the text says. A text about
/// another person is not a sign.
pub fn may_be_minor(text: &str) -> bool {
    let all = split_words(text);
    // Ends of sentences stay as boundaries of the word before them.
    let words: Vec<&FoldedWord> = all.iter().filter(|word| !word.text.is_empty()).collect();
    let ends = ends_of_sentences(&all);
    (0..words.len()).any(|at| {
        let Some(first) = words.get(at) else { return false };
        let signs = tables::age_signs();
        let from = signs.partition_point(|sign| head(sign) < first.text.as_str());
        let here = signs.iter().skip(from).take_while(|sign| head(sign) == first.text);
        here.into_iter().any(|sign| fits(sign, &words, at, &ends))
    })
}

fn head(sign: &AgeSign) -> &'static str {
    sign.words.first().copied().unwrap_or_default()
}

/// By word, whether a sentence ends after it.
fn ends_of_sentences(all: &[FoldedWord]) -> Vec<bool> {
    let mut ends: Vec<bool> = Vec::new();
    for word in all {
        if !word.text.is_empty() {
            ends.push(false);
        } else if let Some(last) = ends.last_mut() {
            *last = true;
        }
    }
    ends
}

fn fits(sign: &AgeSign, words: &[&FoldedWord], at: usize, ends: &[bool]) -> bool {
    let Some(language) = tables::age_languages().get(sign.language) else { return false };
    let last = at + sign.words.len() - 1;
    let Some(here) = words.get(at..=last) else { return false };
    let same = sign.words.iter().zip(here).all(|(wanted, word)| {
        if *wanted == AGE { is_age(&word.text, language.numbers) } else { *wanted == word.text }
    });
    let before = at.checked_sub(1).and_then(|before| words.get(before));
    let after = words.get(last + 1);
    let is_any = |word: Option<&&FoldedWord>, list: &[&str]| {
        word.is_some_and(|word| list.contains(&word.text.as_str()))
    };
    let past = is_any(before, language.not_before) || is_any(after, language.not_after);
    let open = sign.words.last() == Some(&AGE);
    let ends_here = ends.get(last).copied().unwrap_or(true)
        || after.is_none_or(|word| word.glue == Spacing::Wide);
    same && !past && (!open || ends_here || is_any(after, language.follow))
}

/// Whether a word is an age from 8 to 17.
fn is_age(word: &str, numbers: &[&str]) -> bool {
    let digits = SUFFIXES.iter().find_map(|suffix| word.strip_suffix(suffix)).unwrap_or(word);
    let is_number = digits.len() <= 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let by_digits = is_number && digits.parse::<u8>().is_ok_and(|age| (8..18).contains(&age));
    by_digits || numbers.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_examples_and_look_alikes() {
        let wrong: Vec<String> = tables::age_examples()
            .iter()
            .filter(|(_, text, is_age)| may_be_minor(text) != *is_age)
            .map(|(lang, text, is_age)| format!("{lang}: {text}: should be {is_age}"))
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(tables::age_examples().len() > 130, "{}", tables::age_examples().len());
    }

    #[test]
    fn ages_are_from_eight_to_seventeen() {
        for age in 0..130 {
            let text = format!("I'm {age} and nobody cares");
            assert_eq!(may_be_minor(&text), (8..18).contains(&age), "{text}");
        }
        for text in ["im 15f and nobody cares", "I am 14yo", "i’m 16!", "I'M 12"] {
            assert!(may_be_minor(text), "{text}");
        }
        for text in ["", "14", "I am", "i am 0014 years old", "im 15m away"] {
            assert!(!may_be_minor(text), "{text}");
        }
    }
}
