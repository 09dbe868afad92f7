//! Checks recall and false positives of the crisis reader on sentences written for this test.

use countersign_crisis::{Concern, ScreenOptions, screen};

const LINES: [(&str, &str, f64, f64); 15] = [
    ("en", include_str!("crisis/en.txt"), 0.93, 0.015),
    ("ar", include_str!("crisis/ar.txt"), 0.9, 0.03),
    ("de", include_str!("crisis/de.txt"), 0.9, 0.03),
    ("es", include_str!("crisis/es.txt"), 0.9, 0.03),
    ("fr", include_str!("crisis/fr.txt"), 0.9, 0.03),
    ("hi", include_str!("crisis/hi.txt"), 0.9, 0.03),
    ("it", include_str!("crisis/it.txt"), 0.9, 0.03),
    ("ja", include_str!("crisis/ja.txt"), 0.9, 0.03),
    ("ko", include_str!("crisis/ko.txt"), 0.9, 0.03),
    ("nl", include_str!("crisis/nl.txt"), 0.9, 0.03),
    ("pl", include_str!("crisis/pl.txt"), 0.9, 0.03),
    ("pt", include_str!("crisis/pt.txt"), 0.9, 0.03),
    ("ru", include_str!("crisis/ru.txt"), 0.9, 0.03),
    ("uk", include_str!("crisis/uk.txt"), 0.9, 0.03),
    ("zh", include_str!("crisis/zh.txt"), 0.9, 0.03),
];

/// How many of the lines marked so give at least this concern, of all of them, and the others.
fn read(text: &str, mark: &str, concern: Concern) -> (f64, Vec<String>) {
    let (mut found, mut all, mut rest) = (0.0, 0.0, Vec::new());
    for line in text.lines().filter_map(|line| line.strip_prefix(mark)) {
        let reaches = screen(line, &ScreenOptions::default()).concern >= concern;
        all += 1.0;
        found += f64::from(u8::from(reaches));
        if reaches != (mark == "+ ") {
            rest.push(line.to_owned());
        }
    }
    assert!(all >= 40.0, "{all} lines");
    (found / all, rest)
}

/// How many crisis lines must be called likely, and how many others may be called possible.
const LEAST_LIKELY: f64 = 0.5;
const MOST_POSSIBLE: f64 = 0.2;

#[test]
fn crisis_recall_and_false_positives_hold_in_every_language() {
    for (lang, text, least, most) in LINES {
        let (found, missed) = read(text, "+ ", Concern::Possible);
        assert!(found >= least, "{lang}: {found}; missed:\n{}", missed.join("\n"));
        let (likely, missed) = read(text, "+ ", Concern::Likely);
        assert!(likely >= LEAST_LIKELY, "{lang}: {likely}; missed:\n{}", missed.join("\n"));
        let (alarms, wrong) = read(text, "- ", Concern::Likely);
        assert!(alarms <= most, "{lang}: {alarms} likely:\n{}", wrong.join("\n"));
        let (alarms, wrong) = read(text, "- ", Concern::Possible);
        assert!(alarms <= MOST_POSSIBLE, "{lang}: {alarms} possible:\n{}", wrong.join("\n"));
    }
}
