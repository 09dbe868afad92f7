//! Batches: order, invalid lines, limits, immediate answers, closed readers.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use super::binary::{countersign, run_with, stdout};
use serde_json::Value;

fn records(args: &[&str], input: &[u8]) -> Vec<Value> {
    let output = run_with(args, input);
    assert_eq!(output.status.code(), Some(0), "{}", super::binary::stderr(&output));
    stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn one_record_a_line_in_the_same_order() {
    let mut input = String::new();
    for number in 0..2000 {
        let command = if number % 2 == 0 { "ls" } else { "rm -rf /" };
        writeln!(input, "{{\"command\": \"{command}\", \"other\": {number}}}").unwrap();
    }
    let records = records(&["assess", "--batch"], input.as_bytes());
    assert_eq!(records.len(), 2000);
    for (number, record) in records.iter().enumerate() {
        let tier = if number % 2 == 0 { "SAFE" } else { "CRITICAL" };
        assert_eq!(record["tier"], tier, "line {number}");
        for key in ["points", "risk", "confidence", "verdict", "reasons"] {
            assert!(record.get(key).is_some(), "{key} is missing");
        }
    }
}

#[test]
fn a_bad_line_is_answered_on_its_line_and_the_run_goes_on() {
    let mut input = Vec::new();
    for line in [
        &b"{\"command\": \"ls\"}"[..],
        b"not json",
        b"",
        b"{\"command\": \"\xff\"}",
        b"{\"command\": \"ls\0\"}",
        b"{\"command\": \"ls\", \"command\": \"rm\"}",
        b"[1, 2]",
        b"{\"neither\": 1}",
        b"{\"command\": 7}",
        b"{\"tool\": \"x\", \"arguments\": 7}",
    ] {
        input.extend_from_slice(line);
        input.push(b'\n');
    }
    input.extend_from_slice("[".repeat(900_000).as_bytes());
    input.extend_from_slice(b"\n");
    input.extend_from_slice("x".repeat(2 * 1024 * 1024).as_bytes());
    input.extend_from_slice(b"\n{\"tool\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}");
    let records = records(&["assess", "--batch"], &input);
    assert_eq!(records.len(), 13);
    assert_eq!(records[0]["tier"], "SAFE");
    for (at, record) in records.iter().enumerate().take(12).skip(1) {
        assert!(record["error"].is_string(), "line {}: {record}", at + 1);
        assert_eq!(record["line"], at + 1);
        assert!(record.get("tier").is_none(), "a bad line is never assessed");
    }
    assert_eq!(records[12]["tool"], "read_file");
}

#[test]
fn whoever_writes_a_line_is_answered_at_once() {
    let mut child = countersign()
        .args(["assess", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for command in ["ls", "rm -rf /", "pwd"] {
        writeln!(stdin, "{{\"command\": \"{command}\"}}").unwrap();
        stdin.flush().unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.contains("\"tier\""), "{line}");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let mut child = countersign()
        .args(["assess", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    writeln!(stdin, "{{\"command\": \"ls\"}}").unwrap();
    let mut first = [0; 1];
    stdout.read_exact(&mut first).unwrap();
    drop(stdout);
    for _ in 0..20_000 {
        if writeln!(stdin, "{{\"command\": \"ls\"}}").is_err() {
            break;
        }
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(super::binary::stderr(&output), "");
}

#[test]
fn flags_hold_for_every_line() {
    let input = b"{\"command\": \"ls\", \"environment\": \"ci\"}\n";
    let records = records(&["assess", "--batch", "--claimed", "high"], input);
    assert_eq!(records[0]["tier"], "HIGH");
}

#[test]
fn texts_are_screened_line_by_line() {
    let input = b"{\"text\": \"I want to kill myself\"}\n{\"text\": \"kill the process\"}\n{}\n";
    let records = records(&["screen", "--batch"], input);
    assert_eq!(records[0]["crisis"], true);
    assert!(records[0]["signals"][0]["span"].is_object(), "{}", records[0]);
    assert_eq!(records[1]["crisis"], false);
    assert!(records[2]["error"].is_string());
}

#[test]
fn plans_come_from_arrays_and_objects() {
    let input = b"[{\"command\": \"ls\"}, {\"command\": \"pwd\"}]\n\
                  {\"calls\": [{\"command\": \"ls\"}]}\n[]\n[{\"command\": 1}]\n7\n";
    let records = records(&["plan", "--batch"], input);
    assert_eq!(records[0]["parallel"], true);
    assert_eq!(records[1]["parallel"], false, "a single call is not parallel");
    assert_eq!(records[2]["parallel"], false);
    assert!(records[3]["error"].as_str().unwrap().contains("call 1"), "{}", records[3]);
    assert!(records[4]["error"].is_string());
}
