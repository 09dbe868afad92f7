//! Checks recall and false positives of the crisis rules on sentences written for this test.

use countersign_crisis::{ScreenOptions, screen};

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

/// How many of the lines marked so are a crisis, how many there are, and those classified wrongly.
fn read(text: &str, mark: &str) -> (f64, f64, Vec<String>) {
    let (mut found, mut all, mut wrong) = (0.0, 0.0, Vec::new());
    for line in text.lines().filter_map(|line| line.strip_prefix(mark)) {
        let crisis = screen(line, &ScreenOptions::default()).crisis;
        all += 1.0;
        found += f64::from(u8::from(crisis));
        if crisis != (mark == "+ ") {
            wrong.push(line.to_owned());
        }
    }
    (found, all, wrong)
}

#[test]
fn crisis_recall_and_false_positives_hold_in_every_language() {
    for (lang, text, least, most) in LINES {
        let (found, all, missed) = read(text, "+ ");
        assert!(all >= 40.0, "{lang}: {all} lines");
        assert!(found / all >= least, "{lang}: {found} of {all}; missed:\n{}", missed.join("\n"));
        let (false_alarms, all, wrong) = read(text, "- ");
        assert!(all >= 40.0, "{lang}: {all} lines");
        let rate = false_alarms / all;
        assert!(rate <= most, "{lang}: {false_alarms} of {all}:\n{}", wrong.join("\n"));
    }
}
