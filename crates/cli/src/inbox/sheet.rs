//! A card as lines: what would happen, the exact call, why, who asks, how long there is.

use countersign_client::{Request, Time};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::flow::{Break, Piece, flow, width};
use super::list::Entry;
use super::look::{Look, shape};
use super::state::Page;
use super::written::{self, Written};
use crate::core_api::{self, Card, Impact, Reason, Tier, Touched, thousands};
use crate::gate::now::apart;
use crate::gate::page;
use crate::terminal;

/// How many reasons stand on a card before "all 7 reasons".
const REASONS: usize = 3;
/// How much of a text is shown.
const TEXT: usize = 2000;
/// Where facts begin.
const FACTS: usize = 9;
/// Entries of one kind before "and 3 more", on a card that is not opened.
const LISTED: usize = 4;

/// How a card is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Pen {
    /// Colours.
    pub look: Look,
    /// How many columns there are.
    pub room: usize,
    /// Whether it is opened: nothing is folded then.
    pub open: bool,
    /// How many lines of the call are shown before the rest is folded.
    pub fold: usize,
    /// The time, for "3 min ago".
    pub now: Time,
}

/// The lines of a card.
#[derive(Debug, Default)]
pub struct Sheet {
    /// All of them.
    pub lines: Vec<Line<'static>>,
    /// Where the call ends.
    pub call_end: usize,
    /// Part of the call was left out.
    pub folded: bool,
}

/// A request as lines.
pub fn sheet(entry: &Entry, looked: &Page, pen: Pen) -> Sheet {
    let request = &entry.request;
    let mut sheet = Sheet::default();
    sheet.head(request, pen);
    if !entry.waits() {
        sheet.over(request, pen);
    }
    match looked {
        Page::Coming => sheet.words("Reading the call…", pen.look.faint(), pen),
        Page::Missing(why) => {
            sheet.words(&format!("The call could not be read: {why}"), pen.look.wrong(), pen);
        }
        Page::There(_, None) => {
            let why = "The call cannot be shown here, so it cannot be approved here.";
            sheet.words(why, pen.look.wrong(), pen);
        }
        Page::There(_, Some(card)) => sheet.call(card, pen),
    }
    sheet.call_end = sheet.lines.len();
    if let Page::There(_, Some(card)) = looked {
        sheet.reasons(card, pen);
        sheet.impact(card, pen);
    }
    sheet.asks(request, looked, pen);
    if entry.waits() {
        sheet.left(request, pen);
    }
    sheet
}

impl Sheet {
    fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| line.width() > 0) {
            self.lines.push(Line::default());
        }
    }

    fn words(&mut self, text: &str, style: Style, pen: Pen) {
        self.lines.extend(flow(&[(text.to_owned(), style)], pen.room, 0, Break::Words));
    }

    fn fact(&mut self, name: &str, text: &str, style: Style, pen: Pen) {
        let label = (format!("{name:<FACTS$}"), pen.look.faint());
        let pieces = [label, (text.to_owned(), style)];
        self.lines.extend(flow(&pieces, pen.room, FACTS, Break::Words));
    }

    /// The tier, how sure we are, the two words; then the sentence.
    fn head(&mut self, request: &Request, pen: Pen) {
        let tier = Tier::parse(&request.tier);
        let name = page::safe(&request.tier, 12);
        let mut pieces: Vec<Piece> =
            vec![(format!(" {} {name} ", shape(tier)), pen.look.badge(tier))];
        if request.crisis {
            let style = pen.look.of(terminal::CRISIS);
            pieces.push(("  ♥ somebody may be in crisis".to_owned(), style));
        }
        let words = page::safe(&request.phrase, 60);
        let used: usize = pieces.iter().map(|(text, _)| width(text)).sum();
        let gap = pen.room.saturating_sub(used + width(&words)).max(2);
        pieces.push((" ".repeat(gap), Style::new()));
        pieces.push((words, pen.look.strong()));
        self.lines.extend(flow(&pieces, pen.room, 0, Break::Words));
        self.words(&page::brief(request), pen.look.strong(), pen);
        self.blank();
    }

    /// Who decided, and what the agent was told.
    fn over(&mut self, request: &Request, pen: Pen) {
        let text = match &request.decision {
            None => "It is over: it waits no more.".to_owned(),
            Some(decision) => {
                let by = page::safe(&decision.by.words(), 200);
                let when = apart(decision.at, pen.now);
                format!("{} by {by}, {when}.", decision.result.word())
            }
        };
        let tier = Tier::parse(&request.tier);
        self.words(&text, pen.look.accent(tier, request.crisis).patch(pen.look.strong()), pen);
        if let Some(drill) = &request.drill {
            self.words(&page::safe(&drill.words, TEXT), Style::new(), pen);
            self.blank();
            return;
        }
        if let Some(edited) = &request.edited {
            let (tier, brief) = (page::safe(&edited.tier, 12), page::safe(&edited.brief, TEXT));
            let text = format!("Approved as edited ({tier}): {brief}");
            let style = pen.look.accent(Tier::parse(&edited.tier), false);
            self.words(&text, style.patch(pen.look.strong()), pen);
            if let Some(arguments) = &request.edited_arguments {
                let call = format!("Edited call: {}", page::safe(&arguments.to_string(), TEXT));
                self.words(&call, Style::new(), pen);
            }
            self.words(
                "Below is the original call, which was not approved.",
                pen.look.faint(),
                pen,
            );
        }
        if let Some(decision) = request.decision.as_ref().filter(|one| !one.reason.is_empty()) {
            let told = format!("The agent was told: {}", page::safe(&decision.reason, TEXT));
            self.words(&told, Style::new(), pen);
        }
        self.blank();
    }

    fn call(&mut self, card: &Card, pen: Pen) {
        let Written { lines, folded } = written::call(card, pen);
        self.lines.extend(lines);
        self.folded = folded;
        for kind in &card.hidden {
            let times =
                if kind.count > 1 { format!(", {} times", kind.count) } else { String::new() };
            let text = format!("hidden: {}{times}", page::safe(&kind.kind, 80));
            self.words(&text, pen.look.faint(), pen);
        }
        if card.folded > 0 {
            let text = format!("… {} more bytes are on no card", thousands(card.folded));
            self.words(&text, pen.look.wrong(), pen);
        }
    }

    fn reasons(&mut self, card: &Card, pen: Pen) {
        let weigh: Vec<&Reason> = card.reasons.iter().filter(|one| one.weight.0 > 0).collect();
        let shown = if pen.open { usize::MAX } else { REASONS };
        if weigh.is_empty() {
            return;
        }
        self.blank();
        let accent = pen.look.accent(Some(card.tier), false);
        let bars = if pen.room < 40 { 4 } else { 8 };
        for reason in weigh.iter().take(shown) {
            let bar = terminal::weight_bar(reason.weight.0, 400, bars);
            let weight = format!(" {:<4} ", reason.weight.value());
            let indent = width(&bar) + width(&weight);
            let say = core_api::show(&reason.message, TEXT);
            let pieces = [(bar, accent), (weight, pen.look.faint()), (say, Style::new())];
            self.lines.extend(flow(&pieces, pen.room, indent, Break::Words));
        }
        if weigh.len() > shown {
            let text = format!("all {} reasons: Enter", weigh.len());
            self.words(&text, pen.look.faint(), pen);
        }
    }

    fn impact(&mut self, card: &Card, pen: Pen) {
        self.blank();
        for (name, text) in touched(&card.impact, pen.open) {
            self.fact(name, &text, Style::new(), pen);
        }
        if !card.doubts.is_empty() {
            let doubts: Vec<&str> = card.doubts.iter().map(|doubt| doubt.words()).collect();
            self.fact("not sure", &doubts.join("; "), Style::new(), pen);
        }
        if let Some(safer) = card.reasons.iter().find_map(|reason| reason.suggestion.as_ref()) {
            self.fact("safer", &core_api::show(safer, TEXT), Style::new(), pen);
        }
    }

    /// Who asks, where, since when, in whose words.
    fn asks(&mut self, request: &Request, looked: &Page, pen: Pen) {
        self.blank();
        if let Some(claim) = request.description.as_deref().filter(|claim| !claim.is_empty()) {
            let limit = if pen.open { TEXT } else { 160 };
            self.fact("it says", &format!("“{}”", page::safe(claim, limit)), Style::new(), pen);
        }
        let session = request.session.as_deref().filter(|name| !name.is_empty());
        let session =
            session.map_or(String::new(), |name| format!(", session {}", page::safe(name, 80)));
        let since = apart(request.created, pen.now);
        let agent = page::safe(&request.agent, 80);
        self.fact("asks", &format!("{agent}{session}, {since}"), Style::new(), pen);
        if let Page::There(_, Some(card)) = looked
            && let Some(cwd) = &card.cwd
        {
            self.fact("where", &page::safe(cwd, TEXT), Style::new(), pen);
        }
        for vote in request.votes.iter().flatten() {
            let said = if vote.choice == "approve" { "yes" } else { "no" };
            let person = page::safe(&vote.person, 80);
            let reason = page::safe(&vote.reason, TEXT);
            let reason = if reason.is_empty() { reason } else { format!(", {reason}") };
            self.fact("vote", &format!("{person}: {said}{reason}"), Style::new(), pen);
        }
    }

    /// The time that is left, as a line that shrinks, and what happens then.
    fn left(&mut self, request: &Request, pen: Pen) {
        self.blank();
        let tier = Tier::parse(&request.tier);
        let accent = pen.look.accent(tier, request.crisis);
        let (full, rest) = thread(request, pen.now, pen.room.min(60));
        self.lines.push(Line::from(vec![
            Span::styled(full, accent),
            Span::styled(rest, pen.look.faint()),
        ]));
        let mut text = format!(
            "Without an answer it is denied {}. Asked: {}.",
            in_words(request, pen.now),
            rung(&request.rung)
        );
        if request.quorum.approve > 1 {
            let votes =
                format!(" {} of {} have said yes.", request.approvals, request.quorum.approve);
            text.push_str(&votes);
        }
        self.words(&text, pen.look.faint(), pen);
    }
}

/// What would be touched, kind by kind.
fn touched(impact: &Impact, open: bool) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    for money in &impact.money {
        let currency = money.currency.as_deref().unwrap_or("(no currency)");
        rows.push(("money", page::safe(&format!("{} {currency}", money.amount), 120)));
    }
    for (name, list) in impact.lists().into_iter().filter(|(_, list)| !list.is_empty()) {
        rows.push((name, listing(list, open)));
    }
    rows.extend(impact.items.map(|items| ("items", items.to_string())));
    rows
}

fn listing(list: &Touched, open: bool) -> String {
    let shown = if open { usize::MAX } else { LISTED };
    let entries = list.listed.iter().take(shown).map(|entry| page::safe(entry, 200));
    let text = entries.collect::<Vec<_>>().join(", ");
    let listed = list.listed.len().min(shown);
    match usize::try_from(list.count).unwrap_or(usize::MAX).saturating_sub(listed) {
        0 => text,
        more => format!("{text} and {} more", thousands(more as u64)),
    }
}

/// The time that is left, as a line of so many cells: what is left of it, and what is gone.
pub fn thread(request: &Request, now: Time, cells: usize) -> (String, String) {
    let whole = request.deadline.millis().saturating_sub(request.created.millis()).max(1);
    let left = request.deadline.millis().saturating_sub(now.millis()).clamp(0, whole);
    let cells_wide = i128::try_from(cells).unwrap_or(0);
    // Rounded up: the last cell goes when the time is over.
    let full = (i128::from(left) * cells_wide + i128::from(whole) - 1) / i128::from(whole);
    let full = usize::try_from(full).unwrap_or(0).min(cells);
    ("━".repeat(full), "─".repeat(cells - full))
}

/// The time that is left, in words that do not jump.
pub fn in_words(request: &Request, now: Time) -> String {
    let seconds = request.deadline.millis().saturating_sub(now.millis()) / 1000;
    match u64::try_from(seconds) {
        Err(_) => "now".to_owned(),
        Ok(seconds) if seconds < 120 => format!("in {} s", (seconds / 10 + 1) * 10),
        Ok(seconds) => format!("in {}", core_api::length(seconds)),
    }
}

/// Who is asked by now.
fn rung(word: &str) -> String {
    match word {
        "first" => "first channel".to_owned(),
        "next" => "next channel as well".to_owned(),
        "administrators" => "administrators as well".to_owned(),
        "emergency" => "everybody, as an emergency".to_owned(),
        other => page::safe(other, 40),
    }
}
