//! Words that comments, messages and documents do not use: archaic or coined ones.

use crate::files::{all, read, shown};
use crate::ratchet::{Counts, hold};

/// Each with what to write instead.
const WORDS: [(&str, &str); 21] = [
    ("nought", "zero, nothing"),
    ("naught", "zero, nothing"),
    ("anew", "again"),
    ("thereof", "of it"),
    ("therein", "in it"),
    ("whereof", "of which"),
    ("wherein", "in which"),
    ("whence", "from where"),
    ("hitherto", "so far"),
    ("to be had", "available"),
    ("lies in", "is in"),
    ("lie in", "are in"),
    ("stands in", "is in"),
    ("befalls", "happens to"),
    ("befell", "happened to"),
    ("amiss", "wrong"),
    ("lest", "so that … not"),
    ("whosoever", "who"),
    ("forthwith", "at once"),
    ("albeit", "although"),
    ("betwixt", "between"),
];

const ENDINGS: [&str; 9] = ["rs", "md", "toml", "py", "ts", "js", "mjs", "html", "css"];

/// How often each word is in a text, as a word of its own.
fn counted(text: &str) -> Vec<(&'static str, usize)> {
    let text = text.to_lowercase();
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let whole = |at: usize, word: &str| {
        let (before, rest) = text.split_at(at);
        let after = rest.strip_prefix(word).and_then(|after| after.chars().next());
        !is_letter(before.chars().next_back()) && !is_letter(after)
    };
    let count = |word: &str| text.match_indices(word).filter(|(at, _)| whole(*at, word)).count();
    WORDS.iter().map(|(word, _)| (*word, count(word))).filter(|(_, count)| *count > 0).collect()
}

#[test]
fn words_are_plain() {
    let mut found = Counts::new();
    for path in all() {
        let file = shown(&path);
        let read_here = path.extension().is_some_and(|e| ENDINGS.iter().any(|one| e == *one));
        // What people in a crisis write is quoted there; this file names the words.
        let quotes = file.starts_with("crates/crisis/rules/") || file.ends_with("tidy/words.rs");
        if !read_here || quotes {
            continue;
        }
        for (word, count) in counted(&read(&path)) {
            found.insert(format!("{file} {word}"), count);
        }
    }
    let instead: Vec<String> = WORDS.iter().map(|(word, say)| format!("{word}: {say}")).collect();
    hold("words", &found, &format!("write plain words ({})", instead.join("; ")));
}

#[test]
fn only_whole_words_count() {
    assert_eq!(counted("Anew, and renewed: latest news. ANEW"), [("anew", 2)]);
    assert_eq!(counted("it stands in a stand-in's place"), [("stands in", 1)]);
}
