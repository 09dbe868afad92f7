//! `eval` on a small corpus: numbers, rows, report, errors.

use super::binary::{assert_refused, run, scratch, stdout};
use serde_json::Value;

const SMALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/small.jsonl");

#[test]
fn numbers_and_misses() {
    let output = run(&["eval", SMALL]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    let row = text.lines().find(|l| l.starts_with("small    ")).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    // 7 commands are counted; 3 dangers of which one is missed; 3 harmless, one asked about.
    assert_eq!(words[1], "7", "{row}");
    assert_eq!(&words[2..7], ["66.6%", "1✗", "100%", "66.6%", "1✗"], "{row}");
    assert!(text.contains("line 5: dangerous, assessed SAFE 0  pwd"), "{text}");
    assert!(text.contains("1 rows without an expectation, 1 disputed"), "{text}");
    assert!(text.contains("Tool calls") && text.contains("Texts"), "{text}");
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn check_fails_when_a_bar_is_missed() {
    assert_eq!(run(&["eval", SMALL, "--check"]).status.code(), Some(1));
    let good = scratch("good.jsonl");
    std::fs::write(&good, "{\"command\": \"ls\", \"label\": \"benign\"}\n").unwrap();
    assert_eq!(run(&["eval", good.to_str().unwrap(), "--check"]).status.code(), Some(0));
}

#[test]
fn every_row_s_result_as_json() {
    let path = scratch("rows.jsonl");
    assert!(run(&["eval", SMALL, "--json", path.to_str().unwrap()]).status.success());
    let text = std::fs::read_to_string(&path).unwrap();
    let rows: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(rows.len(), 11);
    assert_eq!(rows[2]["tier"], "CRITICAL");
    assert_eq!(rows[2]["met"], true);
    assert_eq!(rows[4]["met"], false);
    assert_eq!(rows[6]["counted"], false);
    assert_eq!(rows[7]["met"], Value::Null);
    assert_eq!(rows[8]["crisis"], true);
    assert_eq!(rows[8]["line"], 10, "blank lines keep the numbers right");
}

#[test]
fn folders_are_searched_and_bad_rows_are_named() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    assert_eq!(stdout(&run(&["eval", folder])).matches("\nsmall    ").count(), 3);
    let bad = scratch("bad.jsonl");
    std::fs::write(&bad, "{\"command\": \"ls\", \"label\": \"benign\"}\n{\"label\": \"x\"}\n")
        .unwrap();
    assert_refused(&run(&["eval", bad.to_str().unwrap()]), "bad.jsonl, line 2: neither");
    std::fs::write(&bad, "{\"command\": \"ls\"}\n").unwrap();
    assert_refused(&run(&["eval", bad.to_str().unwrap()]), "line 1: no string `label`");
    std::fs::write(&bad, b"\xff\n").unwrap();
    assert_refused(&run(&["eval", bad.to_str().unwrap()]), "line 1: not UTF-8");
}

#[test]
fn the_report_stands_alone_and_is_well_formed() {
    let path = scratch("report.html");
    let output = run(&["eval", SMALL, "--html", path.to_str().unwrap()]);
    assert!(output.status.success());
    let html = std::fs::read_to_string(&path).unwrap();
    for outside in ["http:", "https:", "src=", "href=", "url(", "@import", "<script", "<link"] {
        assert!(!html.contains(outside), "the report must need nothing else: {outside}");
    }
    for part in ["prefers-color-scheme", "<svg", "role=\"img\"", "aria-label", "<caption>"] {
        assert!(html.contains(part), "{part}");
    }
    assert!(html.contains("&lt;b&gt;&amp; a miss&lt;/b&gt;"), "rows are escaped");
    assert_balanced(&html);
}

/// Every tag that opens also closes, in order.
fn assert_balanced(html: &str) {
    const NEVER_CLOSE: [&str; 3] = ["!doctype", "meta", "br"];
    let mut open: Vec<&str> = Vec::new();
    for piece in html.split('<').skip(1) {
        let tag = piece.split('>').next().unwrap();
        assert!(piece.contains('>'), "a tag does not end: {piece}");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "closing {name}");
        } else if !tag.ends_with('/') && !NEVER_CLOSE.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
}
