//! The results as one self-contained HTML file.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::expectation::Metric;
use super::plot::{escape, histogram, share_bar, source_bars};
use super::print::{bars_of, kind_words, percent, speed};
use super::results::Measured;
use super::tables::{confusion, heat_table, languages, score_table, source_table};
use super::tally::{BINS, Miss, RowKind, Tally};
use crate::engine::thousands;

const STYLE: &str = include_str!("report.css");
const KINDS: [RowKind; 3] = [RowKind::Commands, RowKind::ToolCalls, RowKind::Texts];

/// Writes the report.
pub fn write(out: &mut dyn Write, measured: &Measured) -> io::Result<()> {
    let mut page = String::new();
    head(&mut page, measured);
    for kind in KINDS {
        if measured.of(kind).next().is_some() {
            section(&mut page, measured, kind);
        }
        // Written section by section: the whole page is never in memory.
        out.write_all(page.as_bytes())?;
        page.clear();
    }
    page.push_str(FOOT);
    out.write_all(page.as_bytes())
}

const FOOT: &str = "<h2>How to read this</h2>\
<p>A row is one labelled call or text. Expectations by label: dangerous, HIGH, CRITICAL and \
attacks that write must ask (at least MEDIUM; CRITICAL at least HIGH); benign, SAFE and reads \
must pass (SAFE or LOW); MEDIUM and LOW that tier ± one; ordinary deletes at least LOW. Other \
labels have no expectation. Shares are rounded down: 100 % means every row. \
Times are from this machine, one run; compare them only with each other.</p>\
</main></body></html>\n";

fn head(page: &mut String, measured: &Measured) {
    let rows: u64 = measured.sources.iter().map(|s| s.rows).sum();
    let sources = measured.sources.len();
    let verdict = if measured.all_met() {
        "Every target is met."
    } else {
        "Some targets are missed; they are marked ✗ below."
    };
    let _ = write!(
        page,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>Countersign: quality of the assessment</title><style>{STYLE}</style></head>\
         <body><main><h1>Quality of the assessment</h1>\
         <p>{verdict} {} rows from {sources} sources, assessed by Countersign {}.<br>\
         <span class=\"soft\">{}</span></p><div class=\"cards\">",
        thousands(rows),
        env!("CARGO_PKG_VERSION"),
        escape(&measured.context)
    );
    for kind in KINDS {
        let shares = measured.shares(kind);
        for &bar in bars_of(kind) {
            let share = shares.of(bar);
            if share.of == 0 {
                continue;
            }
            let wanted = bar.wanted_overall(kind == RowKind::ToolCalls);
            let (class, mark) = match wanted {
                Some(wanted) if share.reaches(wanted) => ("good", " ✓"),
                Some(_) => ("bad", " ✗"),
                None => ("", ""),
            };
            let _ = write!(
                page,
                "<div class=\"card\"><div class=\"kind\">{}</div><div class=\"what\">{}</div>\
                 <b class=\"{class}\">{}{mark}</b>",
                kind_words(kind),
                bar.words(),
                percent(share)
            );
            share_bar(page, share, wanted, 200);
            let missed = share.missed();
            let goal = wanted.map_or(String::new(), |w| format!("<br>bar {}.{} %", w / 10, w % 10));
            let _ = write!(
                page,
                "<span class=\"soft\">{} of {} missed{goal}</span></div>",
                thousands(missed),
                thousands(share.of)
            );
        }
    }
    page.push_str("</div>");
}

fn section(page: &mut String, measured: &Measured, kind: RowKind) {
    let sources: Vec<&Tally> = measured.of(kind).collect();
    let _ = write!(page, "<h2>{}</h2>", kind_words(kind));
    if let Some(times) = measured.times(kind) {
        let _ = write!(page, "<p class=\"soft\">{}</p>", speed(&times));
    }
    if kind == RowKind::Texts {
        let title = "Crisis texts found and other texts not found, by source";
        source_bars(page, &sources, [Metric::FoundEnglish, Metric::LeftAlone], title);
        languages(page, &sources);
    } else {
        let title = "Dangers caught and harmless rows passed, by source; the table below has the \
                     same numbers";
        source_bars(page, &sources, [Metric::Caught, Metric::Passed], title);
        let (ask, pass) = summed_scores(&sources);
        page.push_str(
            "<h3>Scores</h3><p class=\"soft\">Heights are square roots, so that single \
                       rows are seen. Dashed: tier borders and platform thresholds.</p>",
        );
        histogram(page, &ask, &pass, "Histogram of scores, 0 to 4 points");
        score_table(page, &ask, &pass);
    }
    source_table(page, measured, kind);
    for source in sources {
        details(page, source);
    }
}

fn summed_scores(sources: &[&Tally]) -> ([u64; BINS], [u64; BINS]) {
    let (mut ask, mut pass) = ([0; BINS], [0; BINS]);
    for source in sources {
        ask.iter_mut().zip(source.scores.ask).for_each(|(sum, n)| *sum += n);
        pass.iter_mut().zip(source.scores.pass).for_each(|(sum, n)| *sum += n);
    }
    (ask, pass)
}

fn details(page: &mut String, source: &Tally) {
    let short = source.missed.list().len() + source.alarms.list().len();
    let note = if short == 0 { "no misses" } else { "tables and the worst misses" };
    let _ = write!(
        page,
        "<details><summary><b>{}</b> <span class=\"soft\">{} rows, {note}</span></summary>",
        escape(&source.name),
        thousands(source.rows)
    );
    heat_table(page, source);
    if source.kind != RowKind::Texts {
        page.push_str("<h3>Scores</h3>");
        histogram(page, &source.scores.ask, &source.scores.pass, "Scores of this source");
    }
    confusion(page, source);
    misses(page, "Missed", source.missed.list());
    misses(page, "Too strict, or off by more than one tier", source.alarms.list());
    page.push_str("</details>");
}

fn misses(page: &mut String, title: &str, list: &[Miss]) {
    if list.is_empty() {
        return;
    }
    let _ = write!(page, "<h3>{title}, the worst {}</h3><ol class=\"misses\">", list.len());
    for miss in list {
        let word = miss.assessed.split(' ').next().unwrap_or_default();
        let _ = write!(
            page,
            "<li><span class=\"tier {word}\">{}</span> <span class=\"soft\">labelled {}, \
             expected {}, line {}</span><pre>{}</pre>",
            escape(&miss.assessed),
            escape(&miss.label),
            miss.expectation.words(),
            miss.line,
            escape(&miss.text)
        );
        let mut notes = miss.reasons.clone();
        if !miss.why.is_empty() {
            notes.insert(0, miss.why.clone());
        }
        if !notes.is_empty() {
            let _ = write!(page, "<span class=\"soft\">{}</span>", escape(&notes.join(" · ")));
        }
        page.push_str("</li>");
    }
    page.push_str("</ol>");
}
