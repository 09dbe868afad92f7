//! Help is a golden file: what people read changes only on purpose.
//!
//! After a wanted change: `UPDATE_GOLDEN=1 cargo test -p countersign --test command`.

use std::fmt::Write as _;

use super::binary::{run, stdout};

#[test]
fn help_is_what_it_was() {
    let mut text = String::new();
    let commands: [&[&str]; 11] = [
        &[],
        &["--help"],
        &["assess", "--help"],
        &["screen", "--help"],
        &["plan", "--help"],
        &["rules", "--help"],
        &["rules", "list", "--help"],
        &["rules", "explain", "--help"],
        &["rules", "check", "--help"],
        &["eval", "--help"],
        &["--version"],
    ];
    for words in commands {
        let output = run(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        writeln!(text, "$ countersign {}\n{}", words.join(" "), stdout(&output)).unwrap();
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/help.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap();
    assert!(text == golden, "help changed; see the head of this file. Now:\n{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 110), "too wide for a terminal");
}
