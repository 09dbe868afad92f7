//! The rows of the list: shape, tier, summary, time left; the selected one is marked.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::list::ListEntry;
use super::model::Focus;
use super::state::Inbox;
use super::style::{Palette, shape};
use super::time_left::thread;
use super::wrap::{cut, width};
use crate::engine::Tier;
use crate::gate::page;

/// The width of the bar of the time left.
const THREAD: usize = 9;

/// One line each, for wide areas. Returns how many fit.
pub fn flat(frame: &mut Frame<'_>, inbox: &Inbox, look: Palette, area: Rect) -> usize {
    let fit = usize::from(area.height);
    let room = usize::from(area.width);
    let from = inbox.list.top();
    for (y, entry) in (area.top()..area.bottom()).zip(inbox.list.shown().skip(from)) {
        let tier = Tier::parse(&entry.request.tier);
        let mut line = start(inbox, look, entry);
        if room >= 40 {
            let name = page::safe(&entry.request.tier, 12);
            line.push(Span::styled(format!("{name:<8} "), tone(look, entry, tier)));
            line.extend(left(inbox, look, entry));
            line.push(Span::raw(format!(" {:<2} ", escalation(entry))));
        }
        let words = page::safe(&entry.request.phrase, 60);
        let used: usize = line.iter().map(Span::width).sum();
        let tail = if room >= 60 { width(&words) + 3 } else { 0 };
        let space = room.saturating_sub(used + tail);
        let what = cut(&page::brief(&entry.request), space);
        let gap = space.saturating_sub(width(&what)) + 2;
        line.push(Span::styled(what, body(look, entry)));
        if tail > 0 {
            line.push(Span::raw(" ".repeat(gap)));
            line.push(Span::styled(words, look.faint()));
        }
        put(frame, inbox, entry, &[line], Rect { y, height: 1, ..area });
    }
    fit
}

/// Two lines each, for narrow areas. Returns how many fit.
pub fn tall(frame: &mut Frame<'_>, inbox: &Inbox, look: Palette, area: Rect) -> usize {
    let fit = usize::from(area.height / 2);
    let room = usize::from(area.width);
    let from = inbox.list.top();
    for (at, entry) in inbox.list.shown().skip(from).take(fit).enumerate() {
        let tier = Tier::parse(&entry.request.tier);
        let mut first = start(inbox, look, entry);
        let used: usize = first.iter().map(Span::width).sum();
        let sentence = cut(&page::brief(&entry.request), room.saturating_sub(used + 1));
        first.push(Span::styled(sentence, body(look, entry)));
        let name = page::safe(&entry.request.tier, 12);
        let words = page::safe(&entry.request.phrase, 60);
        let agent = page::safe(&entry.request.asking_name(), 24);
        let above = escalation(entry);
        let space = room.saturating_sub(4 + width(&name) + THREAD + width(above) + 3);
        let with_agent = format!(" · {words} · {agent}");
        // A truncated name is less useful than none.
        let by = if width(&with_agent) <= space { with_agent } else { format!(" · {words}") };
        let by = cut(&by, space);
        let gap = space.saturating_sub(width(&by)) + 1;
        let mut second = vec![
            Span::raw("    "),
            Span::styled(name, tone(look, entry, tier)),
            Span::styled(by, look.faint()),
            Span::raw(" ".repeat(gap)),
            Span::raw(format!("{above} ")),
        ];
        second.extend(left(inbox, look, entry));
        let y = area.y + u16::try_from(at * 2).unwrap_or(u16::MAX);
        put(frame, inbox, entry, &[first, second], Rect { y, height: 2, ..area });
    }
    fit.max(1)
}

/// How many are above and below the visible rows.
pub fn outside(inbox: &Inbox) -> (usize, usize) {
    let rows = inbox.drawn.rows;
    let count = inbox.list.shown().count();
    let top = inbox.list.top();
    let shown_to = top.saturating_add(rows);
    if rows == 0 { (0, 0) } else { (top, count.saturating_sub(shown_to)) }
}

fn is_current(inbox: &Inbox, entry: &ListEntry) -> bool {
    inbox.list.current().is_some_and(|current| current.id == entry.id)
}

fn start(inbox: &Inbox, look: Palette, entry: &ListEntry) -> Vec<Span<'static>> {
    let tier = Tier::parse(&entry.request.tier);
    let marker = if is_current(inbox, entry) { "› " } else { "  " };
    let sign = if entry.request.crisis { "♥" } else { shape(tier) };
    vec![
        Span::styled(marker, look.strong()),
        Span::styled(format!("{sign} "), tone(look, entry, tier)),
    ]
}

fn tone(look: Palette, entry: &ListEntry, tier: Option<Tier>) -> Style {
    if entry.waits() { look.accent(tier, entry.request.crisis) } else { look.faint() }
}

fn body(look: Palette, entry: &ListEntry) -> Style {
    if entry.waits() { Style::new() } else { look.faint() }
}

/// The escalation level, if escalated.
fn escalation(entry: &ListEntry) -> &'static str {
    match entry.request.level.as_str() {
        "first" => "",
        _ if !entry.waits() => "",
        "next" => "↑",
        "administrators" => "↑↑",
        _ => "!!",
    }
}

/// The time left, or how it ended.
fn left(inbox: &Inbox, look: Palette, entry: &ListEntry) -> Vec<Span<'static>> {
    let word = match (&entry.request.decision, entry.waits()) {
        _ if entry.sending => Some("sends…"),
        (Some(decision), _) => Some(match decision.result.as_str() {
            "approved" => "approved",
            "denied" => "denied",
            "cancelled" => "cancelled",
            _ => "ended",
        }),
        (None, false) => Some("ended"),
        (None, true) => None,
    };
    if let Some(word) = word {
        return vec![Span::styled(format!("{word:<THREAD$}"), look.faint())];
    }
    let tier = Tier::parse(&entry.request.tier);
    let (full, rest) = thread(&entry.request, inbox.at.wall, THREAD);
    vec![Span::styled(full, tone(look, entry, tier)), Span::styled(rest, look.faint())]
}

fn put(
    frame: &mut Frame<'_>,
    inbox: &Inbox,
    entry: &ListEntry,
    lines: &[Vec<Span<'static>>],
    area: Rect,
) {
    let area = area.intersection(frame.area());
    for (y, line) in (area.top()..area.bottom()).zip(lines) {
        frame.buffer_mut().set_line(area.x, y, &Line::from(line.clone()), area.width);
    }
    if is_current(inbox, entry) && inbox.focus == Focus::List {
        frame.buffer_mut().set_style(area, Palette::chosen());
    }
}
