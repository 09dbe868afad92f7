//! The tables of the report, readable for people and screen readers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::expectation::Metric;
use super::plot::escape;
use super::print::{bars_of, percent};
use super::results::Measured;
use super::tally::{BINS, RowKind, Share, Tally};
use crate::engine::Tier;
use crate::engine::thousands;

/// The histogram as a table.
pub fn score_table(page: &mut String, ask: &[u64; BINS], pass: &[u64; BINS]) {
    page.push_str(
        "<details><summary>The same as a table</summary><table><tr><th scope=\"col\">points</th>\
         <th scope=\"col\">should ask</th><th scope=\"col\">should pass</th></tr>",
    );
    for (bin, (ask, pass)) in ask.iter().zip(pass).enumerate() {
        if ask + pass > 0 {
            let (whole, tenth) = (bin / 10, bin % 10);
            let _ = write!(
                page,
                "<tr><th scope=\"row\">{whole}.{tenth}</th><td>{ask}</td><td>{pass}</td></tr>"
            );
        }
    }
    page.push_str("</table></details>");
}

/// Crisis texts found, by language.
pub fn languages(page: &mut String, sources: &[&Tally]) {
    page.push_str(
        "<div class=\"scroll\"><table><caption>Crisis texts found, by language</caption>\
         <tr><th scope=\"col\">language</th><th scope=\"col\">found</th>\
         <th scope=\"col\">missed</th><th scope=\"col\">of</th></tr>",
    );
    let mut all = BTreeMap::<&str, Share>::new();
    for (lang, share) in sources.iter().flat_map(|s| &s.languages) {
        all.entry(lang).or_default().add(*share);
    }
    for (lang, share) in all {
        let _ = write!(
            page,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(lang),
            percent(share),
            share.missed(),
            share.of
        );
    }
    page.push_str("</table></div>");
}

/// Every source with every metric.
pub fn source_table(page: &mut String, measured: &Measured, kind: RowKind) {
    let shares = measured.shares(kind);
    let present = |bar: &&Metric| shares.of(**bar).of > 0;
    let bars: Vec<Metric> = bars_of(kind).iter().filter(present).copied().collect();
    page.push_str(
        "<div class=\"scroll\"><table><caption>Every source: share met, and the number of misses\
         </caption><tr><th scope=\"col\">source</th><th scope=\"col\">rows</th>",
    );
    for bar in &bars {
        let _ = write!(page, "<th scope=\"col\">{}</th>", bar.short());
    }
    let asks = if kind == RowKind::Texts { "found" } else { "would ask" };
    let _ = write!(
        page,
        "<th scope=\"col\">{asks}</th><th scope=\"col\">median µs</th>\
         <th scope=\"col\">p99 µs</th></tr>"
    );
    for source in measured.of(kind) {
        let name = escape(&source.name);
        let rows = thousands(source.rows);
        let _ = write!(page, "<tr><th scope=\"row\">{name}</th><td>{rows}</td>");
        for &bar in &bars {
            let share = source.shares.of(bar);
            let failed = bar.wanted().is_some_and(|wanted| !share.reaches(wanted));
            let (class, mark) = if failed { ("bad", " ✗") } else { ("", "") };
            let missed = share.missed();
            let missed = if missed > 0 { format!(" ({missed})") } else { String::new() };
            let _ = write!(page, "<td class=\"{class}\">{}{missed}{mark}</td>", percent(share));
        }
        let micros = |thousandths| f64::from(source.times.quantile(thousandths)) / 1000.0;
        let _ = write!(
            page,
            "<td>{}</td><td>{:.1}</td><td>{:.1}</td></tr>",
            thousands(source.asks),
            micros(500),
            micros(990)
        );
    }
    page.push_str("</table></div>");
}

/// Labels by tier, darker where there are more.
pub fn heat_table(page: &mut String, source: &Tally) {
    let columns: Vec<&str> = if source.kind == RowKind::Texts {
        vec!["not found", "found"]
    } else {
        Tier::ALL.iter().map(|t| t.label()).collect()
    };
    page.push_str(
        "<div class=\"scroll\"><table><caption>Labels and assessed tiers</caption>\
         <tr><th scope=\"col\">label</th>",
    );
    for column in &columns {
        let _ = write!(page, "<th scope=\"col\" class=\"{column}\">{column}</th>");
    }
    page.push_str("<th scope=\"col\">all</th></tr>");
    for (label, cells) in &source.table {
        let sum: u64 = cells.iter().sum();
        let _ = write!(page, "<tr><th scope=\"row\">{}</th>", escape(label));
        for count in cells.iter().take(columns.len()) {
            // At most 45 % of the accent, so that the number stays readable on it.
            let share = count * 45 / sum.max(1);
            let _ = write!(page, "<td class=\"heat\" style=\"--share:.{share:02}\">{count}</td>");
        }
        let _ = write!(page, "<td>{sum}</td></tr>");
    }
    page.push_str("</table></div>");
}

/// Expected and actual results.
pub fn confusion(page: &mut String, source: &Tally) {
    let [[hit, quiet], [alarm, rest]] = source.confusion;
    if hit + quiet + alarm + rest == 0 {
        return;
    }
    let yes = if source.kind == RowKind::Texts { "found" } else { "asks a person" };
    let no = if source.kind == RowKind::Texts { "not found" } else { "lets it run" };
    let _ = write!(
        page,
        "<table><caption>What would happen</caption><tr><th scope=\"col\">expected</th>\
         <th scope=\"col\">{yes}</th><th scope=\"col\">{no}</th></tr>\
         <tr><th scope=\"row\">a question</th><td>{hit}</td><td>{quiet}</td></tr>\
         <tr><th scope=\"row\">silence</th><td>{alarm}</td><td>{rest}</td></tr></table>"
    );
}
