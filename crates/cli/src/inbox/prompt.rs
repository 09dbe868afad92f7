//! The footer: a prompt, a note, or the keys.

use countersign_client::DecisionScope;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::model::{ActivePrompt, ApprovalPrompt, Focus, StatusNote};
use super::state::Inbox;
use super::style::Palette;
use super::wrap::{Break, Piece, flow, width};
use crate::engine::{Tier, thousands};
use crate::gate::confirmation::{Confirmation, either_word};
use crate::gate::page;

/// The maximum length of a summary in a prompt.
const SHORT: usize = 80;

/// The foot.
#[derive(Debug, Default)]
pub struct Footer {
    /// Its lines; the input is on the last.
    pub lines: Vec<Line<'static>>,
    /// The column of the cursor.
    pub cursor: Option<u16>,
}

/// The current footer.
pub fn of(inbox: &Inbox, look: Palette, area: Rect) -> Footer {
    let room = usize::from(area.width.saturating_sub(2)).max(1);
    let mut foot = match &inbox.asking {
        ActivePrompt::Nothing | ActivePrompt::Help => return quiet(inbox, look, area),
        ActivePrompt::Filter => {
            let text = vec![("Search".to_owned(), look.strong())];
            asked(&text, inbox.list.filter(), look, room)
        }
        ActivePrompt::Approve(question) => approve(inbox, question, look, room),
        ActivePrompt::Deny(question) => {
            let words = page::safe(&question.phrase, 60);
            let text = vec![
                (format!("Deny {words}? "), look.strong()),
                ("Message to the agent (optional). Enter denies.".to_owned(), Style::new()),
            ];
            asked(&text, &question.typed, look, room)
        }
        ActivePrompt::DenyAll { list, typed } => {
            let count = thousands(list.len() as u64);
            let text = vec![
                (format!("Deny all {count}? "), look.strong()),
                ("Type yes, then Enter.".to_owned(), Style::new()),
            ];
            asked(&text, typed, look, room)
        }
    };
    if let Some(note) = &inbox.note {
        let at = foot.lines.len().saturating_sub(1);
        let lines = said(note, look, room);
        foot.lines.splice(at..at, lines);
    }
    if area.height > 8 {
        let entry = inbox.list.current();
        let tier = entry.map(|entry| Tier::parse(&entry.request.tier));
        let crisis = entry.is_some_and(|entry| entry.request.crisis);
        let style = match (&inbox.asking, tier) {
            (ActivePrompt::Approve(_), Some(tier)) => look.accent(tier, crisis),
            _ => look.faint(),
        };
        let rule = Line::styled("━".repeat(usize::from(area.width)), style);
        foot.lines.insert(0, rule);
    }
    foot
}

fn approve(inbox: &Inbox, question: &ApprovalPrompt, look: Palette, room: usize) -> Footer {
    let words = page::safe(&question.phrase, 60);
    let (how, what) = match question.scope {
        DecisionScope::Once => ("once", None),
        DecisionScope::Session => (
            "for this session",
            Some("The same command in this folder passes for up to 12 hours. "),
        ),
        DecisionScope::Repository => {
            ("for this repository", Some("This program passes in this repository for 90 days. "))
        }
    };
    let mut text = vec![(format!("Approve {words}, {how}? "), look.strong())];
    text.extend(what.map(|what| (what.to_owned(), Style::new())));
    if question.unseen > 0 {
        let unseen = format!("{} bytes of the call are not stored. ", thousands(question.unseen));
        text.push((unseen, look.wrong()));
    }
    let word = page::safe(&either_word(&question.phrase), 60);
    let entry = inbox.list.by_id(&question.id);
    let tier = entry.map_or(String::new(), |entry| page::safe(&entry.request.tier, 12));
    let style = Style::new();
    match question.proof {
        Confirmation::Yes => {
            text.push(("y".to_owned(), look.key()));
            text.push((" approve   ".to_owned(), style));
            text.push(("Esc".to_owned(), look.key()));
            text.push((" leave it pending".to_owned(), style));
            let lines = padded(flow(&text, room, 0, Break::Words));
            return Footer { lines, cursor: None };
        }
        Confirmation::Word => {
            text.push((format!("It is {tier}: type {word}, then Enter."), style));
        }
        Confirmation::OnlyWord => text.push((format!("Type {word}, then Enter."), style)),
        Confirmation::Reason => {
            let brief = entry.map_or(String::new(), |entry| page::brief(&entry.request));
            let brief = super::wrap::cut(&brief, SHORT);
            text.push((format!("{tier}. Reason (required); "), style));
            text.push((format!("Enter then approves: {brief}"), style));
        }
    }
    asked(&text, &question.typed, look, room)
}

/// A prompt and its input line, whose end is always visible.
fn asked(text: &[Piece], typed: &str, look: Palette, room: usize) -> Footer {
    let mut lines = padded(flow(text, room, 0, Break::Words));
    let space = room.saturating_sub(3).max(1);
    let mut tail = typed;
    while width(tail) > space {
        let mut rest = tail.chars();
        rest.next();
        tail = rest.as_str();
    }
    let tail = if tail.len() < typed.len() && tail.chars().count() > 1 {
        format!("…{}", tail.chars().skip(1).collect::<String>())
    } else {
        tail.to_owned()
    };
    let cursor = u16::try_from(width(&tail) + 3).ok();
    lines.push(Line::from(vec![Span::styled(" › ", look.key()), Span::raw(tail)]));
    Footer { lines, cursor }
}

/// A note, or the keys that are useful now.
fn quiet(inbox: &Inbox, look: Palette, area: Rect) -> Footer {
    let room = usize::from(area.width.saturating_sub(2)).max(1);
    if let Some(note) = &inbox.note {
        let mut lines = said(note, look, room);
        lines.truncate(usize::from(area.height / 3).max(1));
        return Footer { lines, cursor: None };
    }
    if area.height < 6 {
        return Footer::default();
    }
    Footer { lines: vec![keys(inbox, look, room)], cursor: None }
}

fn said(note: &StatusNote, look: Palette, room: usize) -> Vec<Line<'static>> {
    let style = if note.wrong { look.wrong() } else { look.strong() };
    let mut lines = padded(flow(&[(note.text.clone(), style)], room, 0, Break::Words));
    lines.truncate(4);
    lines
}

fn keys(inbox: &Inbox, look: Palette, room: usize) -> Line<'static> {
    let some = inbox.list.current().is_some_and(super::list::ListEntry::waits);
    let all: &[(&str, &str)] = match (inbox.focus, some) {
        _ if inbox.asking == ActivePrompt::Help => &[("any key", "back")],
        (_, false) => &[("?", "keys"), ("q", "quit")],
        (Focus::List, true) => &[
            ("a", "approve"),
            ("d", "deny"),
            ("?", "keys"),
            ("q", "quit"),
            ("Enter", "open"),
            ("j k", "move"),
            ("/", "search"),
            ("x", "deny all"),
            ("s", "for this session"),
        ],
        (Focus::Card, true) => &[
            ("a", "approve"),
            ("d", "deny"),
            ("Esc", "back"),
            ("?", "keys"),
            ("space", "scroll"),
            ("s", "for this session"),
            ("q", "quit"),
        ],
    };
    let mut spans = vec![Span::raw(" ")];
    let mut used = 0;
    for (key, what) in all {
        let wide = width(key) + width(what) + 4;
        if used + wide > room + 3 {
            break;
        }
        used += wide;
        spans.push(Span::styled((*key).to_owned(), look.key()));
        spans.push(Span::styled(format!(" {what}   "), look.faint()));
    }
    Line::from(spans)
}

fn padded(lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
    let pad = |mut line: Line<'static>| {
        line.spans.insert(0, Span::raw(" "));
        line
    };
    lines.into_iter().map(pad).collect()
}
