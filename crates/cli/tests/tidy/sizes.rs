//! Sizes: files, functions, columns; the first line of each file.

use crate::files::{ending_in, product, read, shown};
use crate::ratchet::{Counts, hold};
use crate::source::{code, without_tests};

const SOFT_LINES: usize = 250;
const HARD_LINES: usize = 500;
const FUNCTION_LINES: usize = 50;
const COLUMNS: usize = 100;
const LONG_TEXT: usize = 60;
const RULE_COLUMNS: usize = 200;

fn lines_of_code(text: &str) -> usize {
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    text.lines().filter(is_code).count()
}

#[test]
fn every_file_says_what_it_is_and_keeps_the_hard_limits() {
    let mut complaints = Vec::new();
    for path in ending_in("rs") {
        let (name, text) = (shown(&path), read(&path));
        if !text.starts_with("//! ") {
            complaints.push(format!("{name}: the first line must be `//! what this is`"));
        }
        let lines = lines_of_code(&text);
        if lines > HARD_LINES {
            complaints.push(format!("{name}: {lines} lines of code, at most {HARD_LINES}"));
        }
        for (at, line) in text.lines().enumerate() {
            // A long text in quotes cannot be broken without making it harder to read.
            let quoted = line.split('"').skip(1).step_by(2).map(str::len).max().unwrap_or(0);
            if line.chars().count() > COLUMNS && quoted <= LONG_TEXT {
                complaints.push(format!("{name}:{}: wider than {COLUMNS} columns", at + 1));
            }
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn rule_files_can_be_read_without_scrolling_sideways() {
    let mut complaints = Vec::new();
    for path in ending_in("toml") {
        let name = shown(&path);
        if !name.contains("/rules/") {
            continue;
        }
        for (at, line) in read(&path).lines().enumerate() {
            if line.chars().count() > RULE_COLUMNS {
                complaints.push(format!("{name}:{}: wider than {RULE_COLUMNS} columns", at + 1));
            }
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn product_files_stay_below_the_soft_limit() {
    let mut found = Counts::new();
    for path in product() {
        if lines_of_code(without_tests(&read(&path))) > SOFT_LINES {
            found.insert(shown(&path), 1);
        }
    }
    let what_to_do =
        format!("more than {SOFT_LINES} lines of code without tests: split these files");
    hold("file_sizes", &found, &what_to_do);
}

/// The functions that are longer than allowed, by name. Formatted source closes a function at the
/// column where it began.
fn long_functions(code: &str) -> Vec<String> {
    let lines: Vec<&str> = code.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(name) = function(line) else { continue };
        let inside = lines.iter().skip(start);
        // A function of a trait without a body ends with a semicolon, one on a line with a brace.
        let signature = inside.clone().find(|line| line.trim_end().ends_with(['{', ';', '}']));
        if !signature.is_some_and(|line| line.trim_end().ends_with('{')) {
            continue;
        }
        let indent: String = line.chars().take_while(|c| *c == ' ').collect();
        let body = inside.take_while(|line| **line != format!("{indent}}}"));
        if body.filter(|line| !line.trim().is_empty()).count() > FUNCTION_LINES {
            found.push(name);
        }
    }
    found
}

/// The name of the function that a line begins.
fn function(line: &str) -> Option<String> {
    let words = ["pub", "pub(crate)", "pub(super)", "const", "async", "unsafe"];
    let mut rest = line.trim_start();
    while let Some((_, after)) = rest.split_once(' ').filter(|(word, _)| words.contains(word)) {
        rest = after;
    }
    let rest = rest.strip_prefix("fn ")?;
    Some(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
}

#[test]
fn functions_are_short() {
    let mut found = Counts::new();
    for path in product() {
        for name in long_functions(&code(without_tests(&read(&path)))) {
            *found.entry(format!("{} {name}", shown(&path))).or_default() += 1;
        }
    }
    let what_to_do = format!("more than {FUNCTION_LINES} lines: split these functions");
    hold("function_sizes", &found, &what_to_do);
}

#[test]
fn long_functions_are_found() {
    let body = "    x();\n".repeat(FUNCTION_LINES);
    let long = format!("pub async fn long(\n    a: u8,\n) -> u8 {{\n{body}}}\n");
    assert_eq!(long_functions(&format!("fn short() {{\n    y();\n}}\n{long}")), ["long"]);
    assert!(long_functions(&format!("trait T {{\n    fn one(&self);\n{body}}}\n")).is_empty());
}
