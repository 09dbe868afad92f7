//! Invalid input is rejected in one line with exit code 2, and never assessed as SAFE.

use std::os::unix::ffi::OsStrExt;

use super::binary::{assert_refused, countersign, run, run_with, scratch, stderr, stdout};

#[test]
fn what_is_not_text_is_refused() {
    assert_refused(&run_with(&["assess", "-"], b"ls \xff"), "not UTF-8 at byte 3");
    assert_refused(&run_with(&["assess", "-"], b"ls\0-l"), "NUL byte at byte 2");
    let word = std::ffi::OsStr::from_bytes(b"ls \xff");
    let output = countersign().arg("assess").arg(word).output().unwrap();
    assert_refused(&output, "argument 2 is not UTF-8");
}

#[test]
fn what_is_not_json_is_refused() {
    assert_refused(&run(&["assess", "--tool", "x", "--args", "{\"a\":"]), "--args");
    assert_refused(&run(&["assess", "--tool", "x", "--args", "[1]"]), "JSON object");
    assert_refused(&run(&["assess", "--tool", "x", "--args", "{\"a\":1,\"a\":2}"]), "duplicate");
    assert_refused(&run(&["assess", "--tool", "x", "--args", "@no-such-file"]), "no-such-file");
}

#[test]
fn a_megabyte_of_brackets_is_refused() {
    let path = scratch("brackets.json");
    std::fs::write(&path, "[".repeat(1024 * 1024)).unwrap();
    let at = format!("@{}", path.display());
    assert_refused(&run(&["assess", "--tool", "x", "--args", &at]), "--args");
    let objects = "{\"a\":".repeat(200_000);
    assert_refused(
        &run_with(&["assess", "--tool", "x", "--args", "-"], objects.as_bytes()),
        "--args",
    );
}

#[test]
fn more_than_a_megabyte_is_refused() {
    let text = "a".repeat(1024 * 1024 + 1);
    assert_refused(&run_with(&["assess", "-"], text.as_bytes()), "longer than 1048576 bytes");
}

#[test]
fn unknown_words_are_refused_with_a_hint() {
    assert_refused(&run(&["assess", "--colour", "ls"]), "--colour");
    assert_refused(&run(&["asess", "ls"]), "assess");
    assert_refused(&run(&["assess", "ls", "--env", "moon"]), "production");
    assert_refused(&run(&["assess", "ls", "--claimed", "mild"]), "CRITICAL");
    assert_refused(&run(&["assess"]), "nothing to assess");
    assert_refused(&run(&["screen"]), "nothing to screen");
    assert_refused(&run(&["screen", "x", "--country", "Atlantis"]), "countr");
    assert_refused(&run(&["plan"]), "--batch");
    assert_refused(&run(&["rules"]), "rules list");
    assert_refused(&run(&["rules", "explain", "no.such.rule"]), "no.such.rule");
    assert_refused(&run(&["eval", "no-such-file.jsonl"]), "no-such-file.jsonl");
}

#[test]
fn an_error_cannot_draw_on_the_terminal() {
    let output = run(&["rules", "explain", "x\u{1b}[31m\nsecond line"]);
    assert_refused(&output, "no rule");
    assert!(!stderr(&output).contains('\u{1b}'));
}

#[test]
fn exit_codes_of_assess() {
    let code = |args: &[&str]| run(args).status.code();
    assert_eq!(code(&["assess", "ls"]), Some(0));
    assert_eq!(code(&["assess", "rm -rf /"]), Some(0));
    assert_eq!(code(&["assess", "ls", "--exit-code"]), Some(0));
    assert_eq!(code(&["assess", "rm -rf /", "--exit-code"]), Some(10));
}

#[test]
fn alone_it_says_what_to_do_next() {
    let output = run(&[]);
    assert!(output.status.success());
    assert!(stdout(&output).contains("countersign assess"));
}
