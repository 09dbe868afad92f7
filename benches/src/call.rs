//! Tool calls: bytes of JSON to assessment.

use std::hint::black_box;

use countersign_json as json;
use countersign_risk::assess::assess;
use countersign_risk::call::Call;
use countersign_risk::call_digest;
use countersign_risk::verdict::Policy;

use crate::measure::{Contender, round_robin, table};
use crate::yardstick;

/// Calls of tools that are not a shell.
const OTHERS: [(&str, &str); 10] = [
    ("Read", r#"{"file_path":"/home/u/project/src/main.rs","limit":200}"#),
    ("Write", r#"{"file_path":"/home/u/project/notes.md","content":"Notes\n\nTo do: tests."}"#),
    ("Edit", r#"{"file_path":"src/lib.rs","old_string":"fn a() {}","new_string":"fn b() {}"}"#),
    ("Grep", r#"{"pattern":"TODO|FIXME","path":"src","-n":true}"#),
    ("WebFetch", r#"{"url":"https://docs.example.org/guide","prompt":"Summarise the guide."}"#),
    ("send_email", r#"{"to":["a@example.org","b@example.org"],"subject":"Hi","body":"See you."}"#),
    ("query", r#"{"sql":"SELECT id, name FROM users WHERE active = true ORDER BY id LIMIT 20"}"#),
    ("create_payment", r#"{"amount":"120.00","currency":"EUR","recipient":"acct_1"}"#),
    ("slack_post_message", r##"{"channel":"#general","text":"The release is out."}"##),
    ("execute_code", r#"{"language":"python","code":"import math\nprint(math.sqrt(2))\n"}"#),
];

/// Measures and prints.
pub fn agent_run(corpus: &[String], rounds: usize) {
    let shell = corpus.iter().filter_map(|c| {
        let command = serde_json::to_string(c).ok()?;
        Some(call("Bash", &format!("{{\"command\":{command},\"description\":\"As asked\"}}")))
    });
    let shell: Vec<String> = shell.collect();
    measure("calls of a shell tool, as JSON", &shell, rounds);
    let others: Vec<String> =
        OTHERS.iter().map(|(tool, arguments)| call(tool, arguments)).collect();
    measure("calls of other tools, as JSON", &others, rounds.max(99));
}

fn call(tool: &str, arguments: &str) -> String {
    format!(
        "{{\"tool\":\"{tool}\",\"arguments\":{arguments},\"agent\":\"coder\",\"session\":\"s-1\",\
         \"platform\":\"cli\",\"cwd\":\"/home/u/project\",\"environment\":\"workstation\"}}"
    )
}

fn measure(title: &str, calls: &[String], rounds: usize) {
    let policy = Policy::default();
    let mut contenders: Vec<Contender<'_, [u8]>> = vec![
        Contender::new("bytes to assessment", |bytes: &[u8]| {
            let Ok(value) = json::parse_bytes(black_box(bytes)) else { return };
            let Ok(call) = Call::from_json(&value) else { return };
            black_box(assess(&call, &policy));
        }),
        Contender::new("  with its digests", |bytes: &[u8]| {
            let Ok(value) = json::parse_bytes(black_box(bytes)) else { return };
            let Ok(call) = Call::from_json(&value) else { return };
            black_box(call_digest::digest(&call, bytes));
            black_box(assess(&call, &policy));
        }),
        Contender::new("  its JSON alone", |bytes: &[u8]| {
            let _ = black_box(json::parse_bytes(black_box(bytes)));
        }),
        Contender::new("serde_json to a Value", |bytes: &[u8]| {
            let _ = black_box(serde_json::from_slice::<serde_json::Value>(black_box(bytes)));
        }),
        yardstick::sha256(),
        yardstick::copy(),
    ];
    let inputs: Vec<&[u8]> = calls.iter().map(String::as_bytes).collect();
    let figures = round_robin(&mut contenders, &inputs, rounds);
    let bytes: usize = calls.iter().map(String::len).sum();
    let average = bytes / calls.len().max(1);
    let title = format!("{title}: {} calls, {average} bytes on average", calls.len());
    table(&title, &contenders, &figures);
}
