//! Two words from a digest, so that a swapped prompt is visible.

use std::fmt;

use serde::{Serialize, Serializer};

use countersign_json::canonical::Digest;

include!(concat!(env!("OUT_DIR"), "/words.rs"));

/// Two words, such as `olive-tractor`. They help people to see that two screens speak of the same
/// call; at 20 bits they prove nothing, the digest does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WordPair {
    /// From the first list.
    pub first: &'static str,
    /// From the second list.
    pub second: &'static str,
}

/// The two words of a digest, from its last 20 bits: surfaces that also show the first digits of
/// the digest then show bits that differ.
pub fn word_pair(digest: &Digest) -> WordPair {
    let [.., a, b, c] = *digest.as_bytes();
    let bits = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
    let word = |list: &[&'static str; 1024], index: usize| list.get(index).copied();
    WordPair {
        first: word(&FIRST, bits >> 10 & 0x3FF).unwrap_or_default(),
        second: word(&SECOND, bits & 0x3FF).unwrap_or_default(),
    }
}

/// One word for the last 11 bits of a number, from both lists: for passphrases, whose bits the
/// caller draws.
pub fn word(number: usize) -> &'static str {
    let list = if number & 0x400 == 0 { &FIRST } else { &SECOND };
    list.get(number & 0x3FF).copied().unwrap_or_default()
}

impl WordPair {
    /// Whether a person typed both words as they are shown.
    pub fn is(&self, typed: &str) -> bool {
        !self.first.is_empty() && typed.trim().eq_ignore_ascii_case(&self.to_string())
    }

    /// Whether a person typed one of the words, or both.
    pub fn has(&self, typed: &str) -> bool {
        let is = |word: &str| !word.is_empty() && typed.trim().eq_ignore_ascii_case(word);
        is(self.first) || is(self.second) || self.is(typed)
    }
}

impl fmt::Display for WordPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.second)
    }
}

impl Serialize for WordPair {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn either_word_or_both_are_accepted() {
        let pair = WordPair { first: "olive", second: "tractor" };
        for typed in ["olive", "Tractor", " olive-tractor "] {
            assert!(pair.has(typed), "{typed}");
        }
        for typed in ["", " ", "-", "y", "oliv", "olive tractor", "tractor-olive"] {
            assert!(!pair.has(typed), "{typed}");
        }
        assert!(!WordPair { first: "", second: "" }.has(""));
    }

    #[test]
    fn the_words_of_a_digest_are_fixed() {
        let zero = word_pair(&Digest::from_bytes([0; 32]));
        assert_eq!((zero.first, zero.second), (FIRST[0], SECOND[0]));
        let full = word_pair(&Digest::from_bytes([0xFF; 32]));
        assert_eq!((full.first, full.second), (FIRST[1023], SECOND[1023]));
        let mut bytes = [0; 32];
        bytes[29..].copy_from_slice(&[0x00, 0x04, 0x01]);
        let second = word_pair(&Digest::from_bytes(bytes));
        assert_eq!((second.first, second.second), (FIRST[1], SECOND[1]));
        assert_eq!(second.to_string(), format!("{}-{}", FIRST[1], SECOND[1]));
    }

    #[test]
    fn every_word_is_plain_and_stands_once() {
        let mut seen = HashSet::new();
        for word in FIRST.iter().chain(&SECOND) {
            assert!(word.bytes().all(|b| b.is_ascii_lowercase()), "{word}");
            assert!((3..=8).contains(&word.len()), "{word}");
            assert!(seen.insert(word), "{word} stands twice");
        }
        assert_eq!(seen.len(), 2048);
    }

    /// A phrase stands beside a decision: no word of it may sound like one, or hurt.
    #[test]
    fn no_word_reads_as_an_answer() {
        const BARRED: [&str; 20] = [
            "safe", "okay", "good", "trusted", "secure", "valid", "allow", "approve", "accept",
            "deny", "denied", "reject", "danger", "alert", "risk", "fine", "right", "sure",
            "death", "knife",
        ];
        for word in FIRST.iter().chain(&SECOND) {
            assert!(!BARRED.contains(word), "{word}");
        }
    }

    #[test]
    fn words_of_one_list_differ_by_two_letters() {
        for list in [&FIRST, &SECOND] {
            for (index, a) in list.iter().enumerate() {
                for b in &list[index + 1..] {
                    assert!(distance(a, b) >= 2, "{a} and {b}");
                }
            }
        }
    }

    fn distance(a: &str, b: &str) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.bytes().enumerate() {
            let mut corner = row[0];
            row[0] = i + 1;
            for (j, y) in b.bytes().enumerate() {
                let change = corner + usize::from(x != y);
                corner = row[j + 1];
                row[j + 1] = change.min(corner + 1).min(row[j] + 1);
            }
        }
        row[b.len()]
    }
}
