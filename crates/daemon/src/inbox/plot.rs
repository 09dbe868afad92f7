//! Plots drawn on the server: small, labelled, with a table for screen readers.

use countersign_text::humanize::thousands;
use countersign_types::tier::Points;
use maud::{Markup, html};

use super::answer_times::{AnswerTime, seconds};
use crate::calibration::ScoreBucket;

/// The drawing area.
const LEFT: f64 = 48.0;
const TOP: f64 = 16.0;
const WIDE: f64 = 560.0;
const HIGH: f64 = 176.0;
const BOTTOM: f64 = TOP + HIGH;
/// The most answers that are drawn and listed.
const MOST: usize = 500;
const LISTED: usize = 50;

/// A position on a logarithmic scale, 0 to 1.
fn share(value: f64, least: f64, most: f64) -> f64 {
    let logs = (value.clamp(least, most).log10(), least.log10(), most.log10());
    (logs.0 - logs.1) / (logs.2 - logs.1)
}

fn real(number: u64) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

/// Horizontal position: bytes of the text.
fn across(bytes: u64) -> f64 {
    LEFT + WIDE * share(real(bytes), 10.0, 100_000.0)
}

/// Vertical position: time of the answer, half a second to an hour.
fn up(millis: u64) -> f64 {
    BOTTOM - HIGH * share(real(millis), 500.0, 3_600_000.0)
}

fn at(place: f64) -> String {
    format!("{place:.1}")
}

const SIZES: [(u64, &str); 5] =
    [(10, "10 bytes"), (100, "100"), (1_000, "1,000"), (10_000, "10,000"), (100_000, "100,000")];
const TIMES: [(u64, &str); 5] =
    [(1_000, "1 s"), (10_000, "10 s"), (60_000, "1 min"), (600_000, "10 min"), (3_600_000, "1 h")];

/// Answer times against the length of the text. `long` and `quick` mark the area where no one can
/// have read the text.
pub fn answers(answers: &[AnswerTime], (long, quick): (u64, u64)) -> Markup {
    let drawn = answers.get(..MOST).unwrap_or(answers);
    html! {
        figure.plot {
            svg viewBox="0 0 640 232" role="img"
                aria-label="Answer time against the length of the text; also in the table below"
            {
                rect.hasty x=(at(across(long))) y=(at(up(quick)))
                    width=(at(LEFT + WIDE - across(long))) height=(at(BOTTOM - up(quick))) {}
                @for (time, name) in TIMES {
                    line.grid x1=(at(LEFT)) x2=(at(LEFT + WIDE)) y1=(at(up(time)))
                        y2=(at(up(time))) {}
                    text x="40" y=(at(up(time) + 4.0)) text-anchor="end" { (name) }
                }
                @for (size, name) in SIZES {
                    @let anchor = match size { 10 => "start", 100_000 => "end", _ => "middle" };
                    text x=(at(across(size))) y="212" text-anchor=(anchor) { (name) }
                }
                text.soft x=(at(LEFT + WIDE - 4.0)) y=(at(BOTTOM - 6.0)) text-anchor="end" {
                    "long and under 2 s"
                }
                @for answer in drawn { (dot(answer)) }
            }
            figcaption {
                span.legend.yes { "● approved" } " " span.legend.no { "× denied" }
                " — the longer the text, the further right; the later the answer, the higher."
            }
            details {
                summary { "The same as a table" }
                table {
                    thead { tr { th { "bytes" } th { "answered after" } th { "answer" } } }
                    tbody { @for answer in answers.iter().take(LISTED) { tr {
                        td { (thousands(answer.bytes)) } td { (seconds(answer.took)) }
                        td { @if answer.yes { "approved" } @else { "denied" } }
                    } } }
                }
                @if answers.len() > LISTED { p.hint { "The newest " (LISTED) "." } }
            }
        }
    }
}

fn dot(answer: &AnswerTime) -> Markup {
    let (x, y) = (across(answer.bytes), up(answer.took));
    let cross = format!("M{:.1} {:.1}l7 7m0 -7l-7 7", x - 3.5, y - 3.5);
    html! {
        @if answer.yes { circle.yes cx=(at(x)) cy=(at(y)) r="3.5" {} }
        @else { path.no d=(cross) {} }
    }
}

/// Tenths of a point from 0 to 4.
const BARS: u16 = 41;

/// Answers by score: approved, denied, not answered; with the threshold.
pub fn scores(buckets: &[ScoreBucket], medium: Points) -> Markup {
    let mut bars = vec![(0_u64, 0_u64, 0_u64); usize::from(BARS)];
    for bucket in buckets {
        if let Some(bar) = bars.get_mut(usize::from(bucket.points.0 / 10)) {
            bar.0 += bucket.approved;
            bar.1 += bucket.denied;
            bar.2 += bucket.expired;
        }
    }
    let most = bars.iter().map(|bar| bar.0 + bar.1 + bar.2).max().unwrap_or(0).max(1);
    let tall = |count: u64| HIGH * real(count) / real(most);
    let x = |points: u16| LEFT + WIDE * f64::from(points) / 410.0;
    html! {
        figure.plot {
            svg #scores viewBox="0 0 640 232" role="img" data-start=(LEFT) data-wide=(WIDE)
                aria-label="Answers by score, 0 to 4 points; the table below says the same" {
                @for (at_points, tier) in
                    [(0, "SAFE"), (100, "LOW"), (200, "MEDIUM"), (300, "HIGH"), (400, "CRITICAL")] {
                    line.grid x1=(at(x(at_points))) x2=(at(x(at_points))) y1=(at(TOP))
                        y2=(at(BOTTOM)) {}
                    @let anchor = if at_points == 400 { "end" } else { "start" };
                    @let place = if at_points == 400 { x(410) } else { x(at_points) };
                    text x=(at(place)) y="212" text-anchor=(anchor) { (tier) }
                }
                text x="40" y=(at(TOP + 4.0)) text-anchor="end" { (thousands(most)) }
                text x="40" y=(at(BOTTOM)) text-anchor="end" { "0" }
                @for (place, bar) in (0_u16..).zip(&bars) {
                    @let (yes, no, none) = (tall(bar.0), tall(bar.1), tall(bar.2));
                    @let left = at(x(place * 10) + 1.0);
                    @for (class, height, above) in
                        [("yes", yes, 0.0), ("no", no, yes), ("none", none, yes + no)] {
                        @if height > 0.0 {
                            rect.(class) x=(left) y=(at(BOTTOM - above - height)) width="11.6"
                                height=(at(height)) {}
                        }
                    }
                }
                line.threshold #threshold x1=(at(x(medium.0))) x2=(at(x(medium.0))) y1="4"
                    y2=(at(BOTTOM)) {}
            }
            figcaption {
                span.legend.yes { "■ approved" } " " span.legend.no { "■ denied" } " "
                span.legend.none { "■ not answered" }
                " — by score. The dashed line is the threshold for MEDIUM below."
            }
            (table(&bars))
        }
    }
}

fn table(bars: &[(u64, u64, u64)]) -> Markup {
    html! {
        details {
            summary { "The same as a table" }
            table {
                thead { tr {
                    th { "points" } th { "approved" } th { "denied" } th { "not answered" }
                } }
                tbody {
                    @for (place, bar) in (0_u16..).zip(bars) { @if bar.0 + bar.1 + bar.2 > 0 { tr {
                        td { (place / 10) "." (place % 10) }
                        @for count in [bar.0, bar.1, bar.2] { td { (thousands(count)) } }
                    } } }
                }
            }
        }
    }
}
