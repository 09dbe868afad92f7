//! Shell commands: text to assessment.

use std::hint::black_box;

use countersign_risk::assess::assess;
use countersign_risk::assess::with_all_readers;
use countersign_risk::call::Call;
use countersign_risk::context::Context;
use countersign_risk::finding::Findings;
use countersign_risk::readers::read_shell;
use countersign_risk::verdict::Policy;
use countersign_shell::posix;

use crate::measure::{Contender, round_robin, table};
use crate::yardstick;

/// Measures and prints.
pub fn agent_run(corpus: &[String], rounds: usize) {
    let policy = Policy::default();
    let mut contenders = vec![
        Contender::new("assess a command", |command: &str| {
            black_box(assess(&Call::shell(black_box(command)), &policy));
        }),
        Contender::new("  its shell walk alone", |command: &str| {
            let mut findings = Findings::default();
            read_shell(
                black_box(command),
                0,
                &with_all_readers(Context::default()),
                0,
                &mut findings,
            );
            black_box(findings);
        }),
        Contender::new("  its reader alone", |command: &str| {
            let _ = black_box(posix::check(black_box(command)));
        }),
    ];
    contenders.extend(yardstick::tree_sitter());
    contenders.push(yardstick::sha256());
    contenders.push(yardstick::copy());
    let inputs: Vec<&str> = corpus.iter().map(String::as_str).collect();
    let figures = round_robin(&mut contenders, &inputs, rounds);
    let bytes: usize = corpus.iter().map(String::len).sum();
    let title = format!(
        "shell: {} commands, {} bytes on average, median of {rounds} rounds for each",
        corpus.len(),
        bytes / corpus.len().max(1)
    );
    table(&title, &contenders, &figures);
    slowest(corpus, &policy);
}

/// The commands that cost most, for those who want to know why.
fn slowest(corpus: &[String], policy: &Policy) {
    let cost = |command: &String| {
        let run = || {
            crate::measure::time(|| {
                black_box(assess(&Call::shell(black_box(command)), policy));
            })
        };
        (0..5).map(|_| run()).min().unwrap_or(0)
    };
    let mut costs: Vec<(u64, &String)> = corpus.iter().map(|c| (cost(c), c)).collect();
    costs.sort_unstable_by(|a, b| b.cmp(a));
    println!("slowest:");
    for (nanos, command) in costs.iter().take(5) {
        let shown: String = command.chars().take(70).collect();
        println!(
            "{:>10} µs, {:>6} bytes: {shown:?}",
            crate::measure::micros(*nanos),
            command.len()
        );
    }
}

/// Assesses every command, for those who count instructions.
pub fn count(corpus: &[String], repeat: usize) {
    let policy = Policy::default();
    for _ in 0..repeat {
        for command in corpus {
            black_box(assess(&Call::shell(black_box(command)), &policy));
        }
    }
}
