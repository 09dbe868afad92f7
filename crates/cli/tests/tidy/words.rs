//! Words that comments, messages and documents do not use: archaic or coined ones.

use crate::files::{all, ending_in, product, read, shown};
use crate::ratchet::{Counts, hold};
use crate::source::{texts, without_tests};

/// Not used anywhere; each with its replacement.
const WORDS: [(&str, &str); 45] = [
    ("nought", "zero, nothing"),
    ("naught", "zero, nothing"),
    ("judged", "assessed"),
    ("the judgement", "the assessment"),
    ("anew", "again"),
    ("thereof", "of it"),
    ("therein", "in it"),
    ("thereby", "so"),
    ("thereupon", "then"),
    ("whereof", "of which"),
    ("wherein", "in which"),
    ("whereupon", "then"),
    ("whence", "from where"),
    ("hence", "so"),
    ("hitherto", "so far"),
    ("heretofore", "so far"),
    ("henceforth", "from now on"),
    ("to be had", "available"),
    ("lies in", "is in"),
    ("lie in", "are in"),
    ("lay in", "was in"),
    ("stands in", "is in"),
    ("stand in", "are in"),
    ("stood in", "was in"),
    ("befalls", "happens to"),
    ("befell", "happened to"),
    ("amiss", "wrong"),
    ("lest", "so that … not"),
    ("whosoever", "who"),
    ("forthwith", "immediately"),
    ("albeit", "although"),
    ("betwixt", "between"),
    ("beside it", "next to it"),
    ("of its own accord", "by itself"),
    ("came of it", "was the outcome"),
    ("what came of", "the outcome of"),
    ("take it back", "revoke it, cancel it"),
    ("took it back", "cancelled it"),
    ("agents' door", "the agent API"),
    ("people's door", "the people API"),
    ("the seed", "what is in the repository"),
    ("graver", "more severe, of a higher tier"),
    ("gravest", "most severe, of the highest tier"),
    ("rung", "escalation level"),
    ("rungs", "escalation levels"),
];

/// Not used in texts that people read, because the actor is known; each with its replacement.
const MESSAGE_WORDS: [(&str, &str); 9] = [
    ("somebody", "a person, or the role"),
    ("nobody", "no person, or say what did not happen"),
    ("something", "name it"),
    ("whoever", "the person who, anyone who"),
    ("taken back", "revoked, cancelled"),
    ("what waits", "pending requests"),
    ("nothing waits", "no pending requests"),
    ("this is no", "invalid"),
    ("there is no such", "not found"),
];

const ENDINGS: [&str; 9] = ["rs", "md", "toml", "py", "ts", "js", "mjs", "html", "css"];

type Word = (&'static str, &'static str);

/// How often each word is in a text, as a word of its own.
fn counted(text: &str, words: &[Word]) -> Vec<(&'static str, usize)> {
    let text = text.to_lowercase();
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let whole = |at: usize, word: &str| {
        let (before, rest) = text.split_at(at);
        let after = rest.strip_prefix(word).and_then(|after| after.chars().next());
        !is_letter(before.chars().next_back()) && !is_letter(after)
    };
    let count = |word: &str| text.match_indices(word).filter(|(at, _)| whole(*at, word)).count();
    words.iter().map(|(word, _)| (*word, count(word))).filter(|(_, count)| *count > 0).collect()
}

fn replacements(words: &[Word]) -> String {
    let all: Vec<String> = words.iter().map(|(word, say)| format!("{word}: {say}")).collect();
    all.join("; ")
}

#[test]
fn words_are_plain() {
    let mut found = Counts::new();
    for path in all() {
        let file = shown(&path);
        let read_here = path.extension().is_some_and(|e| ENDINGS.iter().any(|one| e == *one));
        // The crisis rules quote what people in a crisis write; this file names the words.
        let quotes = file.starts_with("crates/crisis/rules/") || file.ends_with("tidy/words.rs");
        if !read_here || quotes {
            continue;
        }
        let mut text = read(&path);
        // Rule files list programs and their subcommands, such as `anew` and `whence`.
        if file.starts_with("crates/risk/rules/commands/") {
            for (word, _) in WORDS {
                text = text.replace(&format!("\"{word}\""), "");
            }
        }
        for (word, count) in counted(&text, &WORDS) {
            found.insert(format!("{file} {word}"), count);
        }
    }
    hold("words", &found, &format!("write plain words ({})", replacements(&WORDS)));
}

/// The texts of a rule file that people read.
fn rule_texts(toml: &str) -> String {
    let fields = ["message = ", "suggestion = ", "headline = ", "summary = "];
    let shown = |line: &&str| fields.iter().any(|field| line.starts_with(field));
    toml.lines().filter(shown).collect::<Vec<_>>().join("\n")
}

#[test]
fn messages_name_the_actor() {
    let mut found = Counts::new();
    for path in product() {
        for (word, count) in counted(&texts(without_tests(&read(&path))), &MESSAGE_WORDS) {
            found.insert(format!("{} {word}", shown(&path)), count);
        }
    }
    for path in ending_in("toml") {
        let file = shown(&path);
        if file.starts_with("crates/risk/rules/") {
            for (word, count) in counted(&rule_texts(&read(&path)), &MESSAGE_WORDS) {
                found.insert(format!("{file} {word}"), count);
            }
        }
    }
    let what_to_do = format!("name the actor in messages ({})", replacements(&MESSAGE_WORDS));
    hold("message_words", &found, &what_to_do);
}

#[test]
fn only_whole_words_count() {
    assert_eq!(counted("Anew, and renewed: latest news. ANEW", &WORDS), [("anew", 2)]);
    assert_eq!(counted("it stands in a stand-in's place", &WORDS), [("stands in", 1)]);
    let code = "// nobody\nlet a = \"nobody answered\"; let nobody = 1;";
    assert_eq!(counted(&texts(code), &MESSAGE_WORDS), [("nobody", 1)]);
    let rule = "# nobody\nmessage = \"Deletes something.\"\nexamples = [\"echo something\"]";
    assert_eq!(counted(&rule_texts(rule), &MESSAGE_WORDS), [("something", 1)]);
}
