//! What it costs to take secrets out of a text, and to make a card.

use std::hint::black_box;

use countersign_redact::redact_text;
use countersign_risk::assess::assess;
use countersign_risk::call::Call;
use countersign_risk::call_digest::digest;
use countersign_risk::card::Card;
use countersign_risk::verdict::Policy;

use crate::measure::{Contender, round_robin, table};
use crate::yardstick;

/// Measures and prints. Bars: 2 us for a text of 200 bytes, 10 us for the card of a short call.
pub fn agent_run(corpus: &[String], rounds: usize) {
    let policy = Policy::default();
    let mut contenders: Vec<Contender<'_, [u8]>> = vec![
        Contender::new("redact a command", |bytes: &[u8]| {
            black_box(redact_text(black_box(text(bytes))));
        }),
        Contender::new("assess it", |bytes: &[u8]| {
            black_box(assess(&Call::shell(text(bytes)), &policy));
        }),
        Contender::new("assess it and make its card", |bytes: &[u8]| {
            let call = Call::shell(text(bytes));
            let seen = assess(&call, &policy);
            black_box(Card::new(&call, &seen, &digest(&call, bytes)));
        }),
        yardstick::sha256(),
        yardstick::copy(),
    ];
    let inputs: Vec<&[u8]> = corpus.iter().map(String::as_bytes).collect();
    let figures = round_robin(&mut contenders, &inputs, rounds);
    let title = format!("secrets out, cards: {} commands", corpus.len());
    table(&title, &contenders, &figures);
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}
