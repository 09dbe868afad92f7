//! What it costs to look for signs of a crisis in a message.

use std::hint::black_box;

use countersign_crisis::evidence::{model::MODEL, weigh};
use countersign_crisis::{ScreenOptions, screen, screen_by_rules};

use crate::measure::{Contender, round_robin, table};
use crate::yardstick;

/// Messages of people in 32 languages, half of them crises.
const ROWS: &str = include_str!("../../crates/crisis/evidence/rows/second.jsonl");

/// Measures and prints. Bar: 100 us for a message.
pub fn agent_run(rounds: usize) {
    let texts: Vec<String> = ROWS
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|row| row.get("text")?.as_str().map(str::to_owned))
        .collect();
    let options = ScreenOptions::default();
    let silent = screen_by_rules("");
    let mut contenders: Vec<Contender<'_, [u8]>> = vec![
        Contender::new("weighted evidence", |bytes: &[u8]| {
            black_box(weigh(&MODEL, text(bytes), &silent));
        }),
        Contender::new("rules", |bytes: &[u8]| {
            black_box(screen_by_rules(text(bytes)));
        }),
        Contender::new("both, with the card", |bytes: &[u8]| {
            black_box(screen(text(bytes), &options));
        }),
        yardstick::sha256(),
        yardstick::copy(),
    ];
    let inputs: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
    let figures = round_robin(&mut contenders, &inputs, rounds);
    table(&format!("signs of a crisis: {} messages", texts.len()), &contenders, &figures);
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}
