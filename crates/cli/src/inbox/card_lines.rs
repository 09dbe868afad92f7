//! A card as lines: summary, exact call, reasons, requester, time left.

use countersign_client::{JudgeNote, RequestRecord};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::call_lines::{self, DrawnCall};
use super::card_style::CardStyle;
use super::impact_rows::impact_rows;
use super::list::ListEntry;
use super::model::CardPage;
use super::style::shape;
use super::time_left::{in_words, thread};
use super::wrap::{Break, Piece, flow, width};
use crate::engine::{self, Card, Reason, Tier, thousands};
use crate::gate::now::relative_time;
use crate::gate::page;
use crate::segments;
use crate::terminal;

/// How many reasons are shown before "all 7 reasons".
const REASONS: usize = 3;
/// The maximum length of a text.
const TEXT: usize = 2000;
/// The column of facts.
const FACTS: usize = 9;

/// The lines of a card.
#[derive(Debug, Default)]
pub struct CardLines {
    /// All of them.
    pub lines: Vec<Line<'static>>,
    /// The line at which the call ends.
    pub call_end: usize,
    /// A part of the call was folded.
    pub folded: bool,
}

/// A request as lines.
pub fn sheet(entry: &ListEntry, looked: &CardPage, pen: CardStyle) -> CardLines {
    let request = &entry.request;
    let mut sheet = CardLines::default();
    sheet.head(request, pen);
    if !entry.waits() {
        sheet.over(request, pen);
    }
    sheet.proposed_edit(request, pen);
    match looked {
        CardPage::Coming => sheet.words("Loading the call…", pen.look.faint(), pen),
        CardPage::Missing(why) => {
            sheet.words(&format!("The call could not be loaded: {why}"), pen.look.wrong(), pen);
        }
        CardPage::There(_, None) => {
            let why = "The call cannot be shown here, so it cannot be approved here.";
            sheet.words(why, pen.look.wrong(), pen);
        }
        CardPage::There(_, Some(card)) => sheet.call(card, pen),
    }
    sheet.call_end = sheet.lines.len();
    if let CardPage::There(_, Some(card)) = looked {
        sheet.reasons(card, pen);
        sheet.impact(card, pen);
    }
    sheet.asks(request, looked, pen);
    if entry.waits() {
        sheet.left(request, pen);
    }
    sheet
}

impl CardLines {
    pub(super) fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| line.width() > 0) {
            self.lines.push(Line::default());
        }
    }

    pub(super) fn words(&mut self, text: &str, style: Style, pen: CardStyle) {
        self.lines.extend(flow(&[(text.to_owned(), style)], pen.room, 0, Break::Words));
    }

    fn fact(&mut self, name: &str, text: &str, style: Style, pen: CardStyle) {
        let label = (format!("{name:<FACTS$}"), pen.look.faint());
        let pieces = [label, (text.to_owned(), style)];
        self.lines.extend(flow(&pieces, pen.room, FACTS, Break::Words));
    }

    /// The tier, the confidence, the two words; then the summary.
    fn head(&mut self, request: &RequestRecord, pen: CardStyle) {
        let tier = Tier::parse(&request.tier);
        let name = page::safe(&request.tier, 12);
        let mut pieces: Vec<Piece> =
            vec![(format!(" {} {name} ", shape(tier)), pen.look.badge(tier))];
        if request.crisis {
            let style = pen.look.of(terminal::CRISIS);
            pieces.push(("  ♥ a person may be in crisis".to_owned(), style));
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
    fn over(&mut self, request: &RequestRecord, pen: CardStyle) {
        let text = match &request.decision {
            None => "This request has ended.".to_owned(),
            Some(decision) => {
                let by = page::safe(&decision.by.describe(), 200);
                let when = relative_time(decision.at, pen.now);
                format!("{} by {by}, {when}.", decision.result.as_str())
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

    fn call(&mut self, card: &Card, pen: CardStyle) {
        let DrawnCall { lines, folded } = call_lines::call(card, pen);
        self.lines.extend(lines);
        self.folded = folded;
        for kind in &card.hidden {
            let times =
                if kind.count > 1 { format!(", {} times", kind.count) } else { String::new() };
            let text = format!("hidden: {}{times}", page::safe(&kind.kind, 80));
            self.words(&text, pen.look.faint(), pen);
        }
        if card.folded > 0 {
            let text = format!("… {} more bytes are not stored", thousands(card.folded));
            self.words(&text, pen.look.wrong(), pen);
        }
        for line in segments::lines(card, pen.open) {
            let accent = pen.look.accent(Some(line.tier), false);
            let indent = width(&line.label) + 1;
            let pieces = [(format!("{} ", line.label), accent), (line.text, Style::new())];
            self.lines.extend(flow(&pieces, pen.room, indent, Break::Words));
        }
        if !card.segments.is_empty() {
            let hint = "One part alone: countersign approve WORDS --only NUMBER";
            self.words(hint, pen.look.faint(), pen);
        }
    }

    fn reasons(&mut self, card: &Card, pen: CardStyle) {
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
            let say = engine::sanitize(&reason.message, TEXT);
            let pieces = [(bar, accent), (weight, pen.look.faint()), (say, Style::new())];
            self.lines.extend(flow(&pieces, pen.room, indent, Break::Words));
        }
        if weigh.len() > shown {
            let text = format!("all {} reasons: Enter", weigh.len());
            self.words(&text, pen.look.faint(), pen);
        }
    }

    fn impact(&mut self, card: &Card, pen: CardStyle) {
        self.blank();
        for (label, line) in card.observations() {
            self.fact(label, &engine::sanitize(line, TEXT), Style::new(), pen);
        }
        for (name, text) in impact_rows(&card.impact, pen.open) {
            self.fact(name, &text, Style::new(), pen);
        }
        if !card.doubts.is_empty() {
            let doubts: Vec<&str> = card.doubts.iter().map(|doubt| doubt.words()).collect();
            self.fact("uncertain", &doubts.join("; "), Style::new(), pen);
        }
        if let Some(safer) = card.reasons.iter().find_map(|reason| reason.suggestion.as_ref()) {
            self.fact("safer", &engine::sanitize(safer, TEXT), Style::new(), pen);
        }
    }

    /// Who requests it, where, since when, and the agent's description.
    fn asks(&mut self, request: &RequestRecord, looked: &CardPage, pen: CardStyle) {
        self.blank();
        if let Some(claim) = request.description.as_deref().filter(|claim| !claim.is_empty()) {
            let limit = if pen.open { TEXT } else { 160 };
            self.fact("it says", &format!("“{}”", page::safe(claim, limit)), Style::new(), pen);
        }
        if let Some(opinion) = judge_note(request, looked) {
            let against = opinion.verdict == "deny";
            let style = if against { pen.look.strong() } else { Style::new() };
            self.fact("judge", &page::safe(&opinion.text, TEXT), style, pen);
        }
        let session = request.session.as_deref().filter(|name| !name.is_empty());
        let session =
            session.map_or(String::new(), |name| format!(", session {}", page::safe(name, 80)));
        let since = relative_time(request.created, pen.now);
        let agent = page::safe(&request.asking_label(), 80);
        self.fact("asks", &format!("{agent}{session}, {since}"), Style::new(), pen);
        if let CardPage::There(_, Some(card)) = looked
            && let Some(cwd) = &card.cwd
        {
            self.fact("where", &page::safe(cwd, TEXT), Style::new(), pen);
        }
        for vote in request.votes.iter().flatten() {
            let said = if vote.choice == "approve" { "approve" } else { "deny" };
            let person = page::safe(&vote.person, 80);
            let reason = page::safe(&vote.reason, TEXT);
            let reason = if reason.is_empty() { reason } else { format!(", {reason}") };
            self.fact("vote", &format!("{person}: {said}{reason}"), Style::new(), pen);
        }
    }

    /// The time left as a shrinking line, and what happens then.
    fn left(&mut self, request: &RequestRecord, pen: CardStyle) {
        self.blank();
        let accent = pen.look.accent(Tier::parse(&request.tier), request.crisis);
        let (full, rest) = thread(request, pen.now, pen.room.min(60));
        self.lines.push(Line::from(vec![
            Span::styled(full, accent),
            Span::styled(rest, pen.look.faint()),
        ]));
        let mut text = format!(
            "Denied {} if not answered. Escalation: {}.",
            in_words(request, pen.now),
            escalation(&request.level)
        );
        if request.quorum.approve > 1 {
            let votes = format!(" {} of {} approvals.", request.approvals, request.quorum.approve);
            text.push_str(&votes);
        }
        self.words(&text, pen.look.faint(), pen);
    }
}

/// The judge's opinion: lists do not have it, so it comes with the card.
fn judge_note<'a>(request: &'a RequestRecord, looked: &'a CardPage) -> Option<&'a JudgeNote> {
    let whole = if let CardPage::There(whole, _) = looked { whole.judge.as_ref() } else { None };
    whole.or(request.judge.as_ref())
}

/// Who has been asked.
fn escalation(word: &str) -> String {
    match word {
        "first" => "first channel".to_owned(),
        "next" => "next channel as well".to_owned(),
        "administrators" => "administrators as well".to_owned(),
        "emergency" => "everyone, as an emergency".to_owned(),
        other => page::safe(other, 40),
    }
}
