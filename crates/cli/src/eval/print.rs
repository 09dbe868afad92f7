//! Prints the results in the terminal.

use std::io::{self, Write};

use super::expectation::Metric;
use super::results::Measured;
use super::tally::{Miss, RowKind, Share, Shares, Tally, TimeHistogram};
use crate::engine::thousands;
use crate::terminal::{Paint, columns};

const CALL_BARS: [Metric; 6] = [
    Metric::Caught,
    Metric::Loud,
    Metric::Passed,
    Metric::LookAlikes,
    Metric::Near,
    Metric::Noticed,
];
const TEXT_BARS: [Metric; 3] = [Metric::FoundEnglish, Metric::FoundOther, Metric::LeftAlone];

/// The heading of a kind.
pub fn kind_words(kind: RowKind) -> &'static str {
    match kind {
        RowKind::Commands => "Shell commands",
        RowKind::ToolCalls => "Tool calls",
        RowKind::Texts => "Texts",
    }
}

/// The metrics of a kind.
pub fn bars_of(kind: RowKind) -> &'static [Metric] {
    if kind == RowKind::Texts { &TEXT_BARS } else { &CALL_BARS }
}

/// Prints everything: misses first, numbers last, so that the numbers stay on the screen.
pub fn print(
    out: &mut dyn Write,
    measured: &Measured,
    misses: usize,
    paint: Paint,
) -> io::Result<()> {
    for source in &measured.sources {
        print_misses(out, source, misses, paint)?;
    }
    writeln!(out, "{}", paint.faint(&measured.context))?;
    for kind in [RowKind::Commands, RowKind::ToolCalls, RowKind::Texts] {
        if measured.of(kind).next().is_some() {
            print_kind(out, measured, kind, paint)?;
        }
    }
    writeln!(out)?;
    writeln!(
        out,
        "{}",
        paint.faint("share met, then the number of misses; ✗ is below the target, - has no rows")
    )
}

fn print_kind(
    out: &mut dyn Write,
    measured: &Measured,
    kind: RowKind,
    paint: Paint,
) -> io::Result<()> {
    let shares = measured.shares(kind);
    let present = |bar: &&Metric| shares.of(**bar).of > 0;
    let bars: Vec<Metric> = bars_of(kind).iter().filter(present).copied().collect();
    writeln!(out)?;
    write!(out, "{}", paint.strong(format!("{:<18}{:>7}", kind_words(kind), "rows")))?;
    for bar in &bars {
        write!(out, " {}", paint.strong(format!("{:<11}", bar.short())))?;
    }
    let asks = if kind == RowKind::Texts { "found" } else { "asks" };
    writeln!(out, "{}", paint.strong(format!("{asks:>6}")))?;
    for source in measured.of(kind) {
        let numbers = (source.rows, source.asks, &source.shares);
        print_row(out, &source.name, numbers, &bars, Metric::wanted, paint)?;
    }
    let rows = measured.of(kind).map(|s| s.rows).sum();
    let asks = measured.of(kind).map(|s| s.asks).sum();
    let wanted = |bar: Metric| bar.wanted_overall(kind == RowKind::ToolCalls);
    print_row(out, "all", (rows, asks, &shares), &bars, wanted, paint)?;
    if kind == RowKind::Texts {
        print_languages(out, measured, paint)?;
    }
    if let Some(times) = measured.times(kind) {
        writeln!(out, "{}", paint.faint(speed(&times)))?;
    }
    let disputed: u64 = measured.of(kind).map(|s| s.disputed).sum();
    let no_bar: u64 = measured.of(kind).map(|s| s.no_bar).sum();
    let rest = format!("{no_bar} rows without an expectation, {disputed} disputed and not counted");
    writeln!(out, "{}", paint.faint(rest))
}

/// Median and 99th percentile.
pub fn speed(times: &TimeHistogram) -> String {
    let micros = |nanos: u32| f64::from(nanos) / 1000.0;
    format!(
        "median {:.1} µs a row, p99 {:.1} µs",
        micros(times.quantile(500)),
        micros(times.quantile(990))
    )
}

fn print_row(
    out: &mut dyn Write,
    name: &str,
    (rows, asks, shares): (u64, u64, &Shares),
    bars: &[Metric],
    wanted: impl Fn(Metric) -> Option<u64>,
    paint: Paint,
) -> io::Result<()> {
    let name: String = name.chars().take(18).collect();
    let gap = " ".repeat(18_usize.saturating_sub(columns(&name)));
    write!(out, "{name}{gap}{:>7}", thousands(rows))?;
    for &bar in bars {
        let share = shares.of(bar);
        let failed = wanted(bar).is_some_and(|wanted| !share.reaches(wanted));
        let cell = format!("{:<11}", cell(share, failed));
        write!(out, " {}", paint.with(if failed { "1;38;5;202" } else { "" }, cell))?;
    }
    writeln!(out, "{:>6}", thousands(asks))
}

/// A share as `97.3 % 12`, rounded down.
pub fn percent(share: Share) -> String {
    match share.thousandths() {
        None => "-".to_owned(),
        Some(1000) => "100 %".to_owned(),
        Some(t) => format!("{}.{} %", t / 10, t % 10),
    }
}

fn cell(share: Share, failed: bool) -> String {
    let mark = if failed { "✗" } else { "" };
    let percent = percent(share).replace(" %", "%");
    match share.missed() {
        0 => percent,
        missed => format!("{percent} {missed}{mark}"),
    }
}

fn print_languages(out: &mut dyn Write, measured: &Measured, paint: Paint) -> io::Result<()> {
    let mut all = std::collections::BTreeMap::<&str, Share>::new();
    for source in measured.of(RowKind::Texts) {
        for (lang, share) in &source.languages {
            all.entry(lang).or_default().add(*share);
        }
    }
    let all: Vec<_> = all.into_iter().collect();
    for (at, line) in all.chunks(5).enumerate() {
        let head = if at == 0 { "by language" } else { "" };
        let cells = line.iter().map(|(lang, share)| {
            format!("{:<15}", format!("{lang} {} of {}", percent(*share), share.of))
        });
        let cells = cells.collect::<Vec<_>>().join("  ");
        writeln!(out, "{}", paint.faint(format!("{head:<13}{cells}")))?;
    }
    Ok(())
}

fn print_misses(out: &mut dyn Write, source: &Tally, most: usize, paint: Paint) -> io::Result<()> {
    let lists = [
        ("missed", source.missed.list()),
        ("too strict, or off by more than one tier", source.alarms.list()),
    ];
    for (title, list) in lists {
        if list.is_empty() || most == 0 {
            continue;
        }
        writeln!(out, "{} {title}, the worst:", paint.strong(&source.name))?;
        for miss in list.iter().take(most) {
            print_miss(out, miss, paint)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn print_miss(out: &mut dyn Write, miss: &Miss, paint: Paint) -> io::Result<()> {
    let short: String = miss.text.chars().take(160).collect();
    let more = if short.len() < miss.text.len() { " …" } else { "" };
    let head = format!("line {}: {}, assessed {}", miss.line, miss.label, miss.assessed);
    writeln!(out, "  {}  {short}{more}", paint.with("1", head))?;
    let reasons = miss.reasons.join(", ");
    let why = [miss.why.as_str(), reasons.as_str()];
    let why: Vec<&str> = why.into_iter().filter(|w| !w.is_empty()).collect();
    if why.is_empty() { Ok(()) } else { writeln!(out, "    {}", paint.faint(why.join(" · "))) }
}
