//! Draws the state: a list, a card, and a footer.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::card_lines::{CardLines, sheet};
use super::card_style::CardStyle;
use super::event::{Drawn, Link};
use super::model::{ActivePrompt, Focus};
use super::prompt::{self, Footer};
use super::rows;
use super::state::Inbox;
use super::style::Palette;
use super::wrap::{Break, cut, flow, width};
use crate::engine::thousands;

/// The minimum width for the list and the card next to each other.
const BESIDE: u16 = 100;
/// The minimum size for the card below the list.
const BELOW: (u16, u16) = (60, 18);
/// The minimum number of lines of a call before it is folded.
const LEAST_FOLD: usize = 8;
/// The width of the list next to a card: two fifths, within these limits.
const RAIL: (u16, u16) = (40, 56);

/// Draws everything; returns what was on the screen.
pub fn draw(frame: &mut Frame<'_>, inbox: &Inbox, look: Palette) -> Drawn {
    let area = frame.area();
    if area.width == 0 || area.height == 0 {
        return Drawn::default();
    }
    let bottom = prompt::of(inbox, look, area);
    let height = u16::try_from(bottom.lines.len()).unwrap_or(u16::MAX).min(area.height);
    let body_height = area.height.saturating_sub(height);
    header(frame, inbox, look, Rect { height: area.height.min(1), ..area });
    let body = Rect { y: area.y + 1, height: body_height.saturating_sub(1), ..area };
    // If only the footer fits, only the footer is drawn.
    let foot = Rect { y: area.y + body_height, height, ..area };
    let drawn = if inbox.asking == ActivePrompt::Help {
        help(frame, look, body);
        Drawn { rows: inbox.list.shown().count().max(1), ..Drawn::default() }
    } else if body.height == 0 {
        Drawn::default()
    } else if inbox.list.shown().next().is_none() {
        nothing(frame, inbox, look, body);
        Drawn::default()
    } else {
        parts(frame, inbox, look, body)
    };
    put_prompt(frame, &bottom, foot);
    drawn
}

fn parts(frame: &mut Frame<'_>, inbox: &Inbox, look: Palette, body: Rect) -> Drawn {
    let area = frame.area();
    let asked = matches!(inbox.asking, ActivePrompt::Approve(_) | ActivePrompt::Deny(_));
    if area.width >= BESIDE && area.height >= 12 {
        let wide = (area.width * 2 / 5).clamp(RAIL.0, RAIL.1);
        let rows = rows::tall(frame, inbox, look, Rect { width: wide, ..body });
        let rule = if inbox.focus == Focus::Card { look.strong() } else { look.faint() };
        for y in body.top()..body.bottom() {
            frame.buffer_mut().set_string(body.x + wide, y, "│", rule);
        }
        let card = Rect { x: body.x + wide + 2, width: body.width - wide - 3, ..body };
        return Drawn { rows, ..card_in(frame, inbox, look, card) };
    }
    if area.width >= BELOW.0 && area.height >= BELOW.1 {
        let count = u16::try_from(inbox.list.shown().count()).unwrap_or(u16::MAX);
        // Based on the whole height: a prompt must not move what is above it.
        let height = if inbox.focus == Focus::Card { 3 } else { area.height / 3 - 1 };
        let height = count.min(height).max(1);
        let rows = rows::flat(frame, inbox, look, Rect { height, ..body });
        let style = if inbox.focus == Focus::Card { look.strong() } else { look.faint() };
        let rule = "─".repeat(usize::from(body.width));
        frame.buffer_mut().set_string(body.x, body.y + height, rule, style);
        let card = Rect {
            x: body.x + 1,
            y: body.y + height + 1,
            width: body.width - 2,
            height: body.height.saturating_sub(height + 1),
        };
        return Drawn { rows, ..card_in(frame, inbox, look, card) };
    }
    if inbox.focus == Focus::Card || asked {
        let rows = inbox.list.shown().count().max(1);
        let margin = u16::from(body.width >= 30);
        let card = Rect { x: body.x + margin, width: body.width - 2 * margin, ..body };
        return Drawn { rows, ..card_in(frame, inbox, look, card) };
    }
    let rows = if body.height >= 6 && body.width < BELOW.0 {
        rows::tall(frame, inbox, look, body)
    } else {
        rows::flat(frame, inbox, look, body)
    };
    Drawn { rows, ..Drawn::default() }
}

/// The card, with a note about the lines below.
fn card_in(frame: &mut Frame<'_>, inbox: &Inbox, look: Palette, area: Rect) -> Drawn {
    let (Some(entry), Some(looked)) = (inbox.list.current(), inbox.looked.as_ref()) else {
        return Drawn::default();
    };
    let open = inbox.focus == Focus::Card;
    let room = usize::from(area.width);
    let fold = LEAST_FOLD.max(usize::from(area.height) / 2);
    let pen = CardStyle { look, room, open, fold, now: inbox.at.wall };
    let CardLines { lines, call_end, folded } = sheet(entry, &looked.page, pen);
    let height = usize::from(area.height);
    let fits = lines.len() <= height;
    let page = if fits { height } else { height.saturating_sub(1) };
    let from = inbox.scroll.min(lines.len().saturating_sub(page));
    for (y, line) in (area.top()..area.bottom()).zip(lines.iter().skip(from).take(page)) {
        frame.buffer_mut().set_line(area.x, y, line, area.width);
    }
    let below = lines.len().saturating_sub(from + page);
    if !fits && area.height > 0 {
        let unseen = call_end > from + page && !looked.whole;
        let text = match (below, unseen) {
            (0, _) => "end".to_owned(),
            (more, true) => format!("↓ {more} more lines, part of the call: space"),
            (more, false) => format!("↓ {more} more lines: space"),
        };
        let style = if unseen { look.strong() } else { look.faint() };
        let text = cut(&text, room);
        frame.buffer_mut().set_string(area.x, area.bottom() - 1, text, style);
    }
    Drawn { id: Some(entry.id.clone()), lines: lines.len(), page, from, call_end, folded, rows: 0 }
}

fn header(frame: &mut Frame<'_>, inbox: &Inbox, look: Palette, area: Rect) {
    let waiting = inbox.list.waiting();
    let count = match (inbox.read, waiting) {
        (false, _) => "Countersign".to_owned(),
        (true, 0) => "No pending requests".to_owned(),
        (true, 1) => "1 pending".to_owned(),
        (true, many) => format!("{} pending", thousands(many as u64)),
    };
    let mut spans = vec![Span::styled(format!(" {count}"), look.strong())];
    let filter = inbox.list.filter();
    if !filter.is_empty() && inbox.asking != ActivePrompt::Filter {
        let shown = inbox.list.shown().count();
        let text = format!("  {} with “{}”", thousands(shown as u64), cut(filter, 20));
        spans.push(Span::raw(text));
    }
    let (above, below) = rows::outside(inbox);
    for (sign, count) in [("↑", above), ("↓", below)] {
        if count > 0 {
            let text = format!("  {sign} {}", thousands(count as u64));
            spans.push(Span::styled(text, look.faint()));
        }
    }
    let left = Line::from(spans);
    frame.buffer_mut().set_line(area.x, area.y, &left, area.width);
    let (text, style) = match &inbox.link {
        Link::Opening => ("opening…", look.faint()),
        Link::Up => ("", look.faint()),
        Link::Down(_) if area.width < 60 => ("no daemon", look.wrong()),
        Link::Down(_) => ("the daemon does not respond; reconnecting", look.wrong()),
    };
    let wide = u16::try_from(width(text)).unwrap_or(u16::MAX);
    if usize::from(area.width) > left.width() + usize::from(wide) + 2 {
        frame.buffer_mut().set_string(area.right() - wide - 1, area.y, text, style);
    }
}

fn nothing(frame: &mut Frame<'_>, inbox: &Inbox, look: Palette, area: Rect) {
    let (first, second) = match (&inbox.link, inbox.read) {
        (Link::Down(why), _) => (
            "The daemon is not running; risky calls are blocked.".to_owned(),
            format!("Reconnecting every second. {why}"),
        ),
        (_, false) => ("Loading…".to_owned(), String::new()),
        (_, true) if !inbox.list.filter().is_empty() => {
            ("No pending request matches.".to_owned(), "Esc shows everything.".to_owned())
        }
        (_, true) => (
            "No pending requests.".to_owned(),
            "When an agent requests a risky call, it appears here.".to_owned(),
        ),
    };
    let room = usize::from(area.width.saturating_sub(4)).max(1);
    let mut lines = flow(&[(first, look.strong())], room, 0, Break::Words);
    lines.extend(flow(&[(second, look.faint())], room, 0, Break::Words));
    let count = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let top = area.y + area.height.saturating_sub(count) / 3;
    for (y, line) in (top..area.bottom()).zip(&lines) {
        frame.buffer_mut().set_line(area.x + 2.min(area.width), y, line, area.width.max(2) - 2);
    }
}

fn help(frame: &mut Frame<'_>, look: Palette, area: Rect) {
    const KEYS: [(&str, &str); 16] = [
        ("j k ↓ ↑", "move; in an opened card, scroll"),
        ("Enter", "open the card; Enter alone never approves"),
        ("space b", "scroll the card by a page"),
        ("Esc", "back; cancel; clear the filter"),
        ("a", "approve once; asks for confirmation"),
        ("", "  HIGH: type one of its two words"),
        ("", "  CRITICAL: type a reason"),
        ("s", "approve for this session"),
        ("p", "approve the program for this repository"),
        ("d", "deny, with an optional message to the agent"),
        ("x", "deny all listed"),
        ("F", "freeze: stop every call"),
        ("/", "search"),
        ("↑ ↑↑ !!", "escalated to the next channel, administrators, everyone"),
        ("g G", "go to the start, to the end"),
        ("q", "quit; pending requests stay pending"),
    ];
    for (y, (key, what)) in (area.top()..area.bottom()).zip(KEYS) {
        let line =
            Line::from(vec![Span::styled(format!("  {key:<9}"), look.key()), Span::raw(what)]);
        frame.buffer_mut().set_line(area.x, y, &line, area.width);
    }
}

fn put_prompt(frame: &mut Frame<'_>, bottom: &Footer, area: Rect) {
    // The last lines matter most: the input is there.
    let skipped = bottom.lines.len().saturating_sub(usize::from(area.height));
    for (y, line) in (area.top()..area.bottom()).zip(bottom.lines.iter().skip(skipped)) {
        let blank = " ".repeat(usize::from(area.width));
        frame.buffer_mut().set_string(area.x, y, blank, ratatui::style::Style::reset());
        frame.buffer_mut().set_line(area.x, y, line, area.width);
    }
    if let Some(column) = bottom.cursor
        && area.height > 0
    {
        let x = area.x + column.min(area.width.saturating_sub(1));
        frame.set_cursor_position(Position { x, y: area.bottom() - 1 });
    }
}
