//! Plots as inline SVG: labelled, readable without colour.

use std::fmt::Write;

use super::expectation::Metric;
use super::print::percent;
use super::tally::{BINS, Share, Tally};

/// Text escaped for HTML.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// One small bar with the target as a tick.
pub fn share_bar(out: &mut String, share: Share, wanted: Option<u64>, width: u64) {
    let met = share.thousandths().unwrap_or(0) * width / 1000;
    let class = if wanted.is_none_or(|w| share.reaches(w)) { "pass" } else { "ask" };
    let _ = write!(
        out,
        "<svg width=\"{width}\" height=\"12\" viewBox=\"0 0 {width} 12\" aria-hidden=\"true\">\
         <rect class=\"rail\" y=\"3\" width=\"{width}\" height=\"6\" rx=\"3\"/>\
         <rect class=\"{class}\" y=\"3\" width=\"{met}\" height=\"6\" rx=\"3\"/>"
    );
    if let Some(wanted) = wanted {
        let x = wanted * width / 1000;
        let _ = write!(out, "<path class=\"tick\" d=\"M{x} 0v12\"/>");
    }
    out.push_str("</svg>");
}

/// Two bars per source, with their values and targets.
pub fn source_bars(out: &mut String, sources: &[&Tally], bars: [Metric; 2], title: &str) {
    const LEFT: u64 = 176;
    const WIDE: u64 = 560;
    const ROW: u64 = 40;
    const LINE: u64 = 15;
    let shown: Vec<&&Tally> =
        sources.iter().filter(|s| bars.iter().any(|&bar| s.shares.of(bar).of > 0)).collect();
    let height = 8 + ROW * shown.len() as u64;
    let _ = write!(
        out,
        "<div class=\"scroll\"><svg width=\"900\" height=\"{height}\" \
         viewBox=\"0 0 900 {height}\" role=\"img\" aria-label=\"{}\">",
        escape(title)
    );
    for (at, source) in shown.iter().enumerate() {
        let lines = bars.iter().filter(|&&bar| source.shares.of(bar).of > 0).count() as u64;
        let y = 8 + ROW * at as u64;
        let mut top = y + 16 - lines * LINE / 2 + 2;
        let name: String = source.name.chars().take(24).collect();
        let _ = write!(out, "<text x=\"0\" y=\"{}\">{}</text>", y + 20, escape(&name));
        for (&bar, class) in bars.iter().zip(["ask", "pass"]) {
            let share = source.shares.of(bar);
            let Some(thousandths) = share.thousandths() else { continue };
            let width = thousandths * WIDE / 1000;
            let _ = write!(
                out,
                "<rect class=\"rail\" x=\"{LEFT}\" y=\"{top}\" width=\"{WIDE}\" height=\"11\"/>\
                 <rect class=\"{class}\" x=\"{LEFT}\" y=\"{top}\" width=\"{width}\" height=\"11\"/>"
            );
            if let Some(wanted) = bar.wanted() {
                let x = LEFT + wanted * WIDE / 1000;
                let _ = write!(out, "<path class=\"tick\" d=\"M{x} {}v15\"/>", top - 2);
            }
            let x = LEFT + WIDE + 8;
            let value = format!("{} {} of {}", bar.short(), percent(share), share.of);
            let _ = write!(out, "<text class=\"soft\" x=\"{x}\" y=\"{}\">{value}</text>", top + 10);
            top += LINE;
        }
    }
    out.push_str("</svg></div>");
}

/// Vertical lines: tier boundaries and platform thresholds, in points × 10.
const LIMITS: [(u64, &str); 6] = [
    (10, "1.0 LOW"),
    (15, "1.5 API"),
    (20, "2.0 MEDIUM, Telegram"),
    (25, "2.5 Discord"),
    (30, "3.0 HIGH, terminal"),
    (40, "4.0 CRITICAL"),
];

/// Scores: rows that should ask upward, rows that should pass downward.
pub fn histogram(out: &mut String, ask: &[u64; BINS], pass: &[u64; BINS], title: &str) {
    const LEFT: u64 = 24;
    const STEP: u64 = 20;
    const HALF: u64 = 96;
    const MIDDLE: u64 = 48 + HALF;
    let tallest = ask.iter().chain(pass).copied().max().unwrap_or(1).max(1).isqrt();
    let _ = write!(
        out,
        "<div class=\"scroll\"><svg width=\"900\" height=\"288\" \
         viewBox=\"0 0 900 288\" role=\"img\" aria-label=\"{}\">",
        escape(title)
    );
    for (at, (x10, words)) in LIMITS.into_iter().enumerate() {
        let x = LEFT + x10 * STEP;
        let top = if at % 2 == 0 { 12 } else { 30 };
        let anchor = if x10 == 40 { "end" } else { "middle" };
        let _ = write!(
            out,
            "<path class=\"limit\" d=\"M{x} {}V{}\"/>\
             <text class=\"soft\" x=\"{x}\" y=\"{top}\" text-anchor=\"{anchor}\">{words}</text>",
            top + 4,
            MIDDLE + HALF
        );
    }
    for (bin, (&up, &down)) in ask.iter().zip(pass).enumerate() {
        let x = LEFT + bin as u64 * STEP + 1;
        let bars = [(up, "ask", "should ask"), (down, "pass", "should pass")];
        for (count, class, words) in bars.into_iter().filter(|(count, ..)| *count > 0) {
            // Square roots, so that a single row is visible next to thousands.
            let tall = (count.isqrt() * HALF / tallest).max(2);
            let y = if class == "ask" { MIDDLE - tall } else { MIDDLE };
            let _ = write!(
                out,
                "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{tall}\">\
                 <title>{count} rows at {}.{}: {words}</title></rect>",
                STEP - 2,
                bin / 10,
                bin % 10
            );
        }
    }
    let end = LEFT + 41 * STEP;
    let _ = write!(
        out,
        "<path class=\"rule\" d=\"M{LEFT} {MIDDLE}H{end}\"/>\
         <text class=\"soft\" x=\"{LEFT}\" y=\"260\">0 points</text>\
         <text class=\"soft\" x=\"{end}\" y=\"260\" text-anchor=\"end\">4 points</text>\
         <text x=\"{LEFT}\" y=\"280\">▲ rows that should ask   ▼ rows that should pass\
         </text></svg></div>"
    );
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn nothing_escapes_the_page() {
        assert_eq!(escape("<script a='1'>&\u{1b}"), "&lt;script a=&#39;1&#39;&gt;&amp;\u{fffd}");
    }
}
