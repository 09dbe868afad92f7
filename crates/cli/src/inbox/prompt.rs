//! The foot of the screen: a question, a note, or the keys.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::flow::{Break, Piece, flow, width};
use super::look::Look;
use super::state::{Asking, Focus, Inbox, Note, Question};
use crate::core_api::{Tier, thousands};
use crate::gate::page;
use crate::gate::proof::{Proof, either_word};

/// How much of a sentence stands in a question.
const SHORT: usize = 80;

/// The foot.
#[derive(Debug, Default)]
pub struct Prompt {
    /// Its lines; one types on the last.
    pub lines: Vec<Line<'static>>,
    /// The column where one types.
    pub cursor: Option<u16>,
}

/// What stands at the foot now.
pub fn of(inbox: &Inbox, look: Look, area: Rect) -> Prompt {
    let room = usize::from(area.width.saturating_sub(2)).max(1);
    let mut foot = match &inbox.asking {
        Asking::Nothing | Asking::Help => return quiet(inbox, look, area),
        Asking::Filter => {
            let text = vec![("Look for".to_owned(), look.strong())];
            asked(&text, inbox.list.filter(), look, room)
        }
        Asking::Approve(question) => approve(inbox, question, look, room),
        Asking::Deny(question) => {
            let words = page::safe(&question.phrase, 60);
            let text = vec![
                (format!("Deny {words}? "), look.strong()),
                (
                    "Say why (it may be empty); the agent is told. Enter denies.".to_owned(),
                    Style::new(),
                ),
            ];
            asked(&text, &question.typed, look, room)
        }
        Asking::DenyAll { list, typed } => {
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
            (Asking::Approve(_), Some(tier)) => look.accent(tier, crisis),
            _ => look.faint(),
        };
        let rule = Line::styled("━".repeat(usize::from(area.width)), style);
        foot.lines.insert(0, rule);
    }
    foot
}

fn approve(inbox: &Inbox, question: &Question, look: Look, room: usize) -> Prompt {
    let words = page::safe(&question.phrase, 60);
    let how = if question.for_session { "and again in this session" } else { "once" };
    let mut text = vec![(format!("Approve {words}, {how}? "), look.strong())];
    if question.for_session {
        let what = "Exactly this call passes again, for up to 12 hours. ";
        text.push((what.to_owned(), Style::new()));
    }
    if question.unseen > 0 {
        let unseen = format!("{} bytes of it are on no card. ", thousands(question.unseen));
        text.push((unseen, look.wrong()));
    }
    let word = page::safe(&either_word(&question.phrase), 60);
    let entry = inbox.list.by_id(&question.id);
    let tier = entry.map_or(String::new(), |entry| page::safe(&entry.request.tier, 12));
    let style = Style::new();
    match question.proof {
        Proof::Yes => {
            text.push(("y".to_owned(), look.key()));
            text.push((" yes   ".to_owned(), style));
            text.push(("Esc".to_owned(), look.key()));
            text.push((" leave it waiting".to_owned(), style));
            let lines = padded(flow(&text, room, 0, Break::Words));
            return Prompt { lines, cursor: None };
        }
        Proof::Word => {
            text.push((format!("It is {tier}: type {word}, then Enter."), style));
        }
        Proof::OnlyWord => text.push((format!("Type {word}, then Enter."), style)),
        Proof::Reason => {
            let brief = entry.map_or(String::new(), |entry| page::brief(&entry.request));
            let brief = super::flow::cut(&brief, SHORT);
            text.push((format!("It is {tier}. Say why it may happen; "), style));
            text.push((format!("Enter then approves: {brief}"), style));
        }
    }
    asked(&text, &question.typed, look, room)
}

/// A question, and the line to type on: its end is always seen.
fn asked(text: &[Piece], typed: &str, look: Look, room: usize) -> Prompt {
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
    Prompt { lines, cursor }
}

/// A note, or the keys that matter now.
fn quiet(inbox: &Inbox, look: Look, area: Rect) -> Prompt {
    let room = usize::from(area.width.saturating_sub(2)).max(1);
    if let Some(note) = &inbox.note {
        let mut lines = said(note, look, room);
        lines.truncate(usize::from(area.height / 3).max(1));
        return Prompt { lines, cursor: None };
    }
    if area.height < 6 {
        return Prompt::default();
    }
    Prompt { lines: vec![keys(inbox, look, room)], cursor: None }
}

fn said(note: &Note, look: Look, room: usize) -> Vec<Line<'static>> {
    let style = if note.wrong { look.wrong() } else { look.strong() };
    let mut lines = padded(flow(&[(note.text.clone(), style)], room, 0, Break::Words));
    lines.truncate(4);
    lines
}

fn keys(inbox: &Inbox, look: Look, room: usize) -> Line<'static> {
    let some = inbox.list.current().is_some_and(super::list::Entry::waits);
    let all: &[(&str, &str)] = match (inbox.focus, some) {
        _ if inbox.asking == Asking::Help => &[("any key", "back")],
        (_, false) => &[("?", "keys"), ("q", "quit")],
        (Focus::List, true) => &[
            ("a", "approve"),
            ("d", "deny"),
            ("?", "keys"),
            ("q", "quit"),
            ("Enter", "open"),
            ("j k", "move"),
            ("/", "look for"),
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
