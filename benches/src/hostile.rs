//! Hostile texts of nearly 64 KiB: how long at worst, and how the work grows with the text.

use std::hint::black_box;

use countersign_crisis::{ScreenOptions, screen};
use countersign_json as json;
use countersign_risk::assess::assess;
use countersign_risk::call::Call;
use countersign_risk::verdict::Policy;
use proofs::families::{Family, JSON, SHELL, TEXT};

use crate::measure::{at, micros, ratio, time};

/// Just below the shell reader's limit: over it a text is refused at once.
const LARGE: usize = 63 * 1024;
const SMALL: usize = LARGE / 10;
/// Runs of one family: as many as fit into this, up to the number that makes a p99.9.
const BUDGET: u64 = 250_000_000;
const RUNS: u64 = 1_000;
/// A family that would take longer than this is not run at full size.
const PATIENCE: u64 = 3_000_000_000;

/// Measures and prints, slowest first.
pub fn agent_run(part: &str) {
    let policy = Policy::default();
    families("hostile shell texts", part, SHELL, |text| {
        black_box(assess(&Call::shell(black_box(text)), &policy));
    });
    families("hostile texts, screened", part, TEXT, |text| {
        black_box(screen(black_box(text), &ScreenOptions::default()));
    });
    families("hostile JSON texts, read and made canonical", part, JSON, |text| {
        if let Ok(value) = json::parse(black_box(text)) {
            black_box(countersign_json::canonical::canonical(&value));
        }
    });
}

struct Row {
    name: &'static str,
    runs: usize,
    median: u64,
    worst: u64,
    growth: f64,
    skipped: bool,
}

fn families(title: &str, part: &str, families: &[Family], work: impl Fn(&str)) {
    let one = |family: &Family| {
        // Said as it goes: if one never ends, its name stands last.
        eprint!("{}\r", format_args!("{:60}", family.0));
        measure(*family, &work)
    };
    let mut rows: Vec<Row> = families.iter().filter(|f| f.0.contains(part)).map(one).collect();
    eprint!("{:60}\r", "");
    rows.sort_by_key(|row| std::cmp::Reverse(row.median));
    println!("\n{title}, {} KiB; growth is time(10 n) / time(n)", LARGE / 1024);
    println!("{:34} {:>6} {:>12} {:>12} {:>8}", "µs", "runs", "median", "p99.9", "growth");
    for row in rows {
        let sign = if row.skipped || row.worst > 5_000_000 || row.growth > 20.0 { "!" } else { "" };
        let note = if row.skipped { "  not run at full size" } else { "" };
        println!(
            "{:34} {:>6} {:>12} {:>12} {:>8.1} {sign}{note}",
            row.name,
            row.runs,
            micros(row.median),
            micros(row.worst),
            row.growth
        );
    }
}

fn measure((name, make): Family, work: &impl Fn(&str)) -> Row {
    let tiny = median(&make(SMALL / 10), 9, work);
    let small_text = make(SMALL);
    let once = time(|| work(&small_text));
    // Were it to grow on as it did, the next step would cost this.
    let ahead = once.saturating_mul(once / tiny.max(1) + 1);
    if once > PATIENCE / 10 || ahead > PATIENCE {
        let growth = ratio(once, tiny);
        return Row { name, runs: 1, median: once, worst: once, growth, skipped: true };
    }
    let small = median(&small_text, 9, work);
    let text = make(LARGE);
    let first = time(|| work(&text)).max(1);
    let wanted = (BUDGET / first).clamp(3, RUNS);
    let mut runs: Vec<u64> = (0..wanted).map(|_| time(|| work(&text))).collect();
    runs.sort_unstable();
    let middle = at(&runs, 500);
    let growth = ratio(middle, small);
    Row { name, runs: runs.len(), median: middle, worst: at(&runs, 999), growth, skipped: false }
}

fn median(text: &str, rounds: usize, work: &impl Fn(&str)) -> u64 {
    let mut runs: Vec<u64> = (0..rounds).map(|_| time(|| work(text))).collect();
    runs.sort_unstable();
    at(&runs, 500)
}
