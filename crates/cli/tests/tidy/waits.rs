//! Tests wait for events, not for time: no sleep outside a polling loop, no limit on how long
//! something took.

use crate::files::{ending_in, read, shown};
use crate::source::{code, without_tests};

/// Files that sleep for another reason than waiting for an event.
const SLEEPS: [(&str, &str); 8] = [
    ("crates/channels/tests/telegram/fake_telegram.rs", "a stand-in with latency"),
    ("crates/net/src/connect.rs", "a stand-in with latency, in paused time"),
    ("proofs/tests/people/fake_platform.rs", "a stand-in with latency"),
    ("proofs/tests/people/fake_server.rs", "a stand-in with latency"),
    ("proofs/tests/mcp/web.rs", "a stand-in with latency"),
    ("proofs/tests/gate/cards.rs", "paces its requests"),
    ("proofs/tests/gate/clock.rs", "lets a deadline pass on every clock of the machine"),
    ("proofs/tests/gate/kill_nine.rs", "kills at random moments"),
];

/// Scripts of browsers that wait for a time on purpose.
const SCRIPT_WAITS: [(&str, &str); 3] = [
    ("proofs/tests/gate/keys.mjs", "presses keys at random times"),
    ("proofs/tests/people/telegram.mjs", "polls"),
    ("proofs/tests/people/drill.mjs", "shows that a card stays longer than others"),
];

/// Files that limit how long something took on purpose.
const LIMITS: [(&str, &str); 2] = [
    ("crates/client/tests/screening.rs", "must not wait for a time-out of half a minute"),
    ("crates/daemon/src/gate/tests.rs", "a clock that only the test moves"),
];

/// The only limit that a duration is compared with: so long takes only what hangs.
const HANG: &str = "HANG";

/// The test code of a file: all of it in `tests/`, `proofs/` and files of tests; otherwise the
/// unit tests at its end.
fn test_code(name: &str, text: &str) -> String {
    let stem = name.rsplit('/').next().unwrap_or(name).trim_end_matches(".rs");
    let is_test = name.contains("/tests/")
        || name.starts_with("proofs/")
        || stem.ends_with("tests")
        || stem.starts_with("test_");
    let from = if is_test { 0 } else { without_tests(text).len() };
    code(text.get(from..).unwrap_or_default())
}

/// The lines of sleeps that are in no `loop` or `while`. Formatted source indents what a block
/// holds.
fn sleeps(code: &str) -> Vec<usize> {
    let lines: Vec<&str> = code.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let polls = |at: usize| {
        let mut inner = lines.get(at).map_or(0, |line| indent(line));
        lines.iter().take(at).rev().filter(|line| !line.trim().is_empty()).any(|line| {
            let opens = indent(line) < inner;
            inner = inner.min(indent(line));
            let line = line.trim_start();
            opens && (line.starts_with("while ") || line.ends_with("loop {"))
        })
    };
    let found =
        lines.iter().enumerate().filter(|(at, line)| line.contains("sleep(") && !polls(*at));
    found.map(|(at, _)| at).collect()
}

/// The lines that compare how long something took with an upper limit, or set `HANG` too low.
fn time_limits(code: &str) -> Vec<usize> {
    let measures = ["elapsed()", ".as_secs()", ".as_millis()", ".as_micros()", "took"];
    let limits = |line: &str| {
        let is_short = line.contains("const HANG: Duration") && !line.contains("::from_mins(");
        let measured = |sign: &str, (at, _): (usize, &str)| {
            let (before, after) = line.split_at(at);
            let after = after.trim_start_matches(sign);
            let limited = measures.iter().any(|name| before.ends_with(name))
                || line.contains("assert") && after.starts_with("Duration::from_");
            limited && !after.starts_with(HANG)
        };
        let compares = |sign: &&str| line.match_indices(*sign).any(|found| measured(sign, found));
        is_short || [" < ", " <= "].iter().any(compares)
    };
    code.lines().enumerate().filter(|(_, line)| limits(line)).map(|(at, _)| at).collect()
}

#[test]
fn tests_wait_for_events_and_not_for_time() {
    let mut complaints = Vec::new();
    for path in ending_in("rs") {
        let (name, text) = (shown(&path), read(&path));
        if name.starts_with("benches/") {
            continue;
        }
        let code = test_code(&name, &text);
        let line = |at: usize| code.lines().nth(at).unwrap_or_default().trim().to_owned();
        if SLEEPS.iter().all(|(file, _)| *file != name) {
            for at in sleeps(&code) {
                complaints.push(format!("{name}: a sleep outside a polling loop: {}", line(at)));
            }
        }
        let is_listed = LIMITS.iter().any(|(file, _)| *file == name);
        for at in if is_listed { Vec::new() } else { time_limits(&code) } {
            complaints.push(format!("{name}: a limit that is not `{HANG}`: {}", line(at)));
        }
    }
    let what = "wait for an event, use the injected clock, or measure in benches/";
    assert!(complaints.is_empty(), "{what}:\n{}", complaints.join("\n"));
}

#[test]
fn scripts_wait_for_events_and_not_for_time() {
    for path in ending_in("mjs") {
        let name = shown(&path);
        let waits = read(&path).contains("waitForTimeout(");
        let listed = SCRIPT_WAITS.iter().any(|(file, _)| *file == name);
        assert_eq!(waits, listed, "{name}: wait for an event instead, or change the list");
    }
}

#[test]
fn every_listed_file_still_sleeps() {
    for (name, why) in SLEEPS {
        let text = read(&crate::files::root().join(name));
        assert!(!sleeps(&test_code(name, &text)).is_empty(), "{name} ({why}): remove it here");
    }
}

#[test]
fn a_sleep_is_found_unless_it_polls() {
    let hopes = "fn f() {\n    g();\n    thread::sleep(T);\n    assert!(h());\n}\n";
    assert_eq!(sleeps(hopes), [2]);
    let polls = "fn f() {\n    while !h() {\n        g();\n        thread::sleep(T);\n    }\n}\n";
    assert!(sleeps(polls).is_empty());
    let nested = "fn f() {\n    loop {\n        if h() {\n            sleep(T).await;\n        }\n    }\n}\n";
    assert!(sleeps(nested).is_empty());
    // A loop that has ended, one of another function, and one with a number of rounds.
    let after = "fn f() {\n    while h() {\n        g();\n    }\n    sleep(T);\n}\n";
    assert_eq!(sleeps(after), [4]);
    let other = "fn e() {\n    loop {\n    }\n}\nfn f() {\n    sleep(T);\n}\n";
    assert_eq!(sleeps(other), [5]);
    let rounds = "fn f() {\n    for _ in 0..9 {\n        sleep(T);\n    }\n}\n";
    assert_eq!(sleeps(rounds), [2]);
}

#[test]
fn a_time_limit_is_found_unless_only_a_hang_reaches_it() {
    for limit in [
        "assert!(start.elapsed() < Duration::from_secs(2));",
        "assert!(start.elapsed().as_millis() < 500, x);",
        "assert!(took < Duration::from_secs(9));",
        "assert!(took <= Duration::from_secs(9));",
        "assert!(middle <= Duration::from_millis(50));",
        "const HANG: Duration = Duration::from_secs(2);",
    ] {
        assert_eq!(time_limits(limit), [0], "{limit}");
    }
    for fine in [
        "assert!(start.elapsed() < HANG);",
        "const HANG: Duration = Duration::from_mins(1);",
        "assert!(start.elapsed() >= Duration::from_secs(2));",
        "assert!(Instant::now() < end);",
        "let took = start.elapsed();",
    ] {
        assert!(time_limits(fine).is_empty(), "{fine}");
    }
}

#[test]
fn unit_tests_and_whole_test_files_are_test_code() {
    let both = "fn f() {\n    sleep(T);\n}\n\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n";
    assert!(!test_code("crates/a/src/b.rs", both).contains("sleep"));
    for name in ["crates/a/src/b/tests.rs", "crates/a/tests/b.rs", "proofs/src/b.rs"] {
        assert!(test_code(name, both).contains("sleep"), "{name}");
    }
}
