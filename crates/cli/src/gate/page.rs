//! Tables: aligned columns, one line per row.

use std::io::{self, Write};

use countersign_client::{DecisionRecord, RequestRecord, RequestStatus, Time};

use super::now::relative_time;
use crate::engine::{self, Tier};
use crate::terminal::{Paint, accent, columns};

/// How much of an id is shown in lists: its time and a little more.
const SHORT_ID: usize = 12;

/// Text that is already sanitized stays as it is; any other text is sanitized now.
pub fn safe(text: &str, limit: usize) -> String {
    let ours = |c: char| matches!(c, '\u{27e8}' | '\u{27e9}' | '\u{23ce}' | '\u{21e5}');
    let probe: String = text.chars().filter(|&c| !ours(c)).collect();
    let plain = engine::sanitize(&probe, usize::MAX) == probe;
    if plain && text.len() <= limit { text.to_owned() } else { engine::sanitize(text, limit) }
}

/// The first part of an id.
pub fn short(id: Option<&str>) -> &str {
    id.and_then(|id| id.get(..SHORT_ID)).unwrap_or("-")
}

/// The summary in one sentence.
pub fn brief(request: &RequestRecord) -> String {
    let brief = request.brief.as_deref().unwrap_or_default();
    if brief.is_empty() { safe(&request.tool, 80) } else { safe(brief, 160) }
}

/// The summary; for an edited call what it does now, and what was requested.
fn what(request: &RequestRecord) -> String {
    let brief = brief(request);
    match (&request.drill, &request.edited) {
        (Some(_), _) => format!("(a drill) {brief}"),
        (None, Some(edited)) => {
            let (tier, now) = (safe(&edited.tier, 12), safe(&edited.brief, 160));
            format!("(edited, {tier}) {now} Original: {brief}")
        }
        (None, None) => match &request.proposed_edit {
            Some(edit) if request.decision.is_none() => {
                let (by, original) = (safe(&edit.by, 80), safe(&edit.original.brief, 160));
                format!("(edited by {by}) {brief} Original: {original}")
            }
            _ => brief,
        },
    }
}

/// Rows with aligned columns; the last column has no limit.
pub fn table(out: &mut dyn Write, rows: &[Vec<String>]) -> io::Result<()> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| {
        rows.iter().filter_map(|row| row.get(at)).map(|cell| columns(cell)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count.saturating_sub(1)).map(width).collect();
    for row in rows {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            line.push_str(cell);
            if let Some(width) = widths.get(at) {
                let gap = width.saturating_sub(columns(cell)) + 2;
                line.extend(std::iter::repeat_n(' ', gap));
            }
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Requests as lines: words, tier, agent, time, summary.
pub fn requests(
    out: &mut dyn Write,
    list: &[RequestRecord],
    now: Time,
    paint: Paint,
) -> io::Result<()> {
    let rows: Vec<Vec<String>> = list
        .iter()
        .map(|request| {
            let tier = Tier::parse(&request.tier);
            let emoji = tier.map_or("?", Tier::emoji);
            let when = match request.state {
                RequestStatus::Pending => relative_time(request.deadline, now),
                state => {
                    let decided = request.decision.as_ref();
                    let scope = decided.map_or("", DecisionRecord::scope_text);
                    format!("{}{scope}, {}", state.as_str(), relative_time(request.created, now))
                }
            };
            vec![
                short(request.id.as_deref()).to_owned(),
                safe(&request.phrase, 60),
                format!("{emoji} {}", safe(&request.tier, 12)),
                safe(&request.asking_name(), 24),
                when,
                what(request),
            ]
        })
        .collect();
    let mut plain = Vec::new();
    table(&mut plain, &rows)?;
    // Coloured after alignment, because escape sequences have no width.
    let text = String::from_utf8_lossy(&plain);
    for (line, request) in text.lines().zip(list) {
        let tier = Tier::parse(&request.tier);
        match tier {
            Some(tier) if request.state == RequestStatus::Pending => {
                let style = if request.crisis { crate::terminal::CRISIS } else { accent(tier) };
                writeln!(out, "{}", paint.with(style, line))?;
            }
            _ => writeln!(out, "{line}")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_core_hid_stays_readable_and_nothing_else_gets_through() {
        let hidden = "Sends ⟨hidden: github token, 40 characters⟩.";
        assert_eq!(safe(hidden, 200), hidden);
        assert!(!safe("a\u{1b}[2Jb", 200).contains('\u{1b}'));
        assert!(!safe("a\u{202e}b", 200).contains('\u{202e}'));
        assert!(!safe("a\nb", 200).contains('\n'));
    }

    #[test]
    fn columns_stand_below_each_other() {
        let mut out = Vec::new();
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        table(&mut out, &[row(["a", "字", "x"]), row(["bbb", "c", "y"])]).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a    字  x\nbbb  c   y\n");
    }
}
