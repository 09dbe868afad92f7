//! The trade-off of each language as one picture: how much is found against how many look-alikes
//! are called a crisis. Colors follow the reader's light or dark mode.

use std::fmt::Write as _;

/// The curve of one language.
pub struct Curve {
    /// Its title.
    pub title: String,
    /// Pairs of false alarms and found crises, in percent, by falling threshold.
    pub points: Vec<(f64, f64)>,
    /// The same at the thresholds in use, with the rules: possible, likely.
    pub in_use: [(f64, f64); 2],
}

const COLUMNS: usize = 6;
/// The size of one plot without its margins, and of its cell.
const PLOT: (f64, f64) = (120.0, 90.0);
const CELL: (f64, f64) = (158.0, 136.0);
const MARGIN: (f64, f64) = (30.0, 26.0);
const HEAD: f64 = 44.0;
/// The right end of the horizontal axis, in percent.
const MOST_ALARMS: f64 = 40.0;

const STYLE: &str = "\
<style>
  .paper { fill: #ffffff } text { fill: #1f2328; font: 11px system-ui, sans-serif }
  .title { font-weight: 600 } .axis { fill: #59636e; font-size: 9px }
  .grid { stroke: #d1d9e0; stroke-width: 1 }
  .curve { fill: none; stroke: #0969da; stroke-width: 1.6 }
  .english { fill: none; stroke: #9198a1; stroke-width: 1; stroke-dasharray: 3 2 }
  .possible { fill: #bc4c00 } .likely { fill: #cf222e }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117 } text { fill: #f0f6fc } .axis { fill: #9198a1 }
    .grid { stroke: #3d444d }
    .curve { stroke: #4493f8 } .english { stroke: #656c76 } .possible { fill: #db6d28 }
    .likely { fill: #f85149 }
  }
</style>
";

/// The picture. The first curve is also drawn in every other plot, for comparison.
pub fn picture(curves: &[Curve]) -> String {
    let rows = curves.len().div_ceil(COLUMNS);
    let (width, height) = (cells(COLUMNS, CELL.0) + 12.0, cells(rows, CELL.1) + HEAD);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>Crises found against look-alikes called a crisis, by language</title>\n{STYLE}\
         <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n"
    );
    let legend = "Found crises (up, 0 to 100 %) against look-alikes called a crisis (right, 0 to 40 \
                  %), by score alone, cross-validated. Dashed: English.";
    let _ = writeln!(out, "<text x=\"12\" y=\"16\">{legend}</text>");
    let _ = writeln!(
        out,
        "<circle class=\"possible\" cx=\"17\" cy=\"29\" r=\"3.5\"/>\
         <text x=\"25\" y=\"33\">possible</text>\
         <circle class=\"likely\" cx=\"87\" cy=\"29\" r=\"3.5\"/>\
         <text x=\"95\" y=\"33\">likely: the thresholds in use, together with the rules</text>"
    );
    for (number, curve) in curves.iter().enumerate() {
        let x = cells(number % COLUMNS, CELL.0) + MARGIN.0;
        let y = cells(number / COLUMNS, CELL.1) + HEAD + MARGIN.1;
        let _ = writeln!(out, "<g transform=\"translate({x} {y})\">");
        let _ = writeln!(out, "<text class=\"title\" x=\"0\" y=\"-6\">{}</text>", curve.title);
        axes(&mut out);
        if let Some(english) = curves.first().filter(|_| number > 0) {
            line(&mut out, "english", &english.points);
        }
        line(&mut out, "curve", &curve.points);
        for (class, point) in ["possible", "likely"].into_iter().zip(curve.in_use) {
            let (x, y) = place(point);
            let _ =
                writeln!(out, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>");
        }
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

fn cells(count: usize, size: f64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or_default()) * size
}

fn place((alarms, found): (f64, f64)) -> (f64, f64) {
    let x = alarms.min(MOST_ALARMS) / MOST_ALARMS * PLOT.0;
    (x, PLOT.1 - found / 100.0 * PLOT.1)
}

fn axes(out: &mut String) {
    let (right, bottom) = PLOT;
    for found in [0, 50, 100] {
        let (_, y) = place((0.0, f64::from(found)));
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"0\" y1=\"{y}\" x2=\"{right}\" y2=\"{y}\"/>\
             <text class=\"axis\" x=\"-4\" y=\"{}\" text-anchor=\"end\">{found}</text>",
            y + 3.0
        );
    }
    for alarms in [0, 20, 40] {
        let (x, _) = place((f64::from(alarms), 0.0));
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{x}\" y1=\"0\" x2=\"{x}\" y2=\"{bottom}\"/>\
             <text class=\"axis\" x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{alarms}</text>",
            bottom + 11.0
        );
    }
}

fn line(out: &mut String, class: &str, points: &[(f64, f64)]) {
    let shown = points.iter().filter(|(alarms, _)| *alarms <= MOST_ALARMS);
    let mut text = String::new();
    let mut last = (f64::MIN, f64::MIN);
    for (x, y) in shown.map(|point| place(*point)) {
        // A point closer than a pixel cannot be seen.
        if (x - last.0).abs() + (y - last.1).abs() >= 1.5 {
            let _ = write!(text, "{x:.1},{y:.1} ");
            last = (x, y);
        }
    }
    let _ = writeln!(out, "<polyline class=\"{class}\" points=\"{}\"/>", text.trim_end());
}
