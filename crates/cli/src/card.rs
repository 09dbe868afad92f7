//! The assessment for people: what would happen, how risky it is, why, and a safer way.

use std::io::{self, Write};

use crate::call_view::{self, CallStyle, Fold};
use crate::engine::{
    self, Assessment, Call, Card, CountedList, Doubt, Environment, Impact, Platform, Reason, Tier,
    Value, Verdict,
};
use crate::segments;
use crate::terminal::{self, Paint};

/// How many reasons are shown before "all 7 reasons".
const REASONS_SHOWN: usize = 3;
/// The maximum length of a sentence or path.
const SENTENCE: usize = 400;

/// How a card is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// Colour or not.
    pub paint: Paint,
    /// Show every reason and the whole call.
    pub all: bool,
}

/// Prints the card.
pub fn print(
    out: &mut dyn Write,
    call: &Call<'_>,
    record: &Assessment,
    phrase: &str,
    style: Style,
) -> io::Result<()> {
    let paint = style.paint;
    let sentence = engine::sanitize(&sentence(call, record), SENTENCE);
    writeln!(out, "{}", paint.strong(sentence))?;
    writeln!(out)?;
    writeln!(
        out,
        "{} {}  {} of 4 points, {} % sure{}",
        record.tier.emoji(),
        paint.badge(terminal::badge(record.tier), record.tier.label()),
        record.points.value(),
        percent(record.confidence),
        paint.faint(doubts(&record.doubts)),
    )?;
    writeln!(out)?;
    let worst = record.reasons.iter().find(|r| r.span.is_some());
    let fold = if style.all { Fold::OPEN } else { Fold::SHORT };
    call_view::print(out, call, worst, CallStyle { paint, tier: record.tier, fold })?;
    print_reasons(out, &record.reasons, record.tier, style)?;
    print_impact(out, &record.impact, style)?;
    writeln!(out)?;
    if let Some(place) = place(call) {
        writeln!(out, "  {}  {place}", paint.faint("where   "))?;
    }
    writeln!(out, "  {}  {}", paint.faint("verdict "), outcome(record))?;
    if let Some(suggestion) = record.reasons.iter().find_map(|r| r.suggestion.as_ref()) {
        let suggestion = engine::sanitize(suggestion, SENTENCE);
        writeln!(out, "  {}  {suggestion}", paint.faint("safer   "))?;
    }
    writeln!(out, "  {}  {}", paint.faint("words   "), paint.strong(phrase))
}

/// Prints the card that was stored with a request, without its summary.
pub fn print_stored(out: &mut dyn Write, card: &Card, style: Style) -> io::Result<()> {
    let paint = style.paint;
    writeln!(
        out,
        "{} {}  {} of 4 points, {} % sure{}",
        card.tier.emoji(),
        paint.badge(terminal::badge(card.tier), card.tier.label()),
        card.points.value(),
        percent(card.confidence),
        paint.faint(doubts(&card.doubts)),
    )?;
    writeln!(out)?;
    let arguments = engine::read_json(&card.arguments).unwrap_or(Value::Null);
    match &card.command {
        // If secrets were removed, the command is the redacted text.
        Some(command) if !card.hidden.is_empty() => writeln!(out, "  $ {}", command.as_str())?,
        _ => {
            let call = engine::tool_call(&card.tool, arguments);
            let worst = card.reasons.iter().find(|r| r.span.is_some());
            let fold = if style.all { Fold::OPEN } else { Fold::SHORT };
            call_view::print(out, &call, worst, CallStyle { paint, tier: card.tier, fold })?;
        }
    }
    segments::print(out, card, style.paint, style.all)?;
    if card.folded > 0 {
        let more = format!("… {} more bytes that are not stored", card.folded);
        writeln!(out, "  {}", paint.strong(more))?;
    }
    print_reasons(out, &card.reasons, card.tier, style)?;
    print_impact(out, &card.impact, style)?;
    for (at, (label, line)) in card.observations().enumerate() {
        let gap = if at == 0 { "\n" } else { "" };
        let line = engine::sanitize(line, SENTENCE);
        writeln!(out, "{gap}  {}  {line}", paint.faint(format!("{label:<8}")))?;
    }
    if let Some(cwd) = &card.cwd {
        writeln!(out, "\n  {}  {cwd}", paint.faint("where   "))?;
    }
    if let Some(suggestion) = card.reasons.iter().find_map(|r| r.suggestion.as_ref()) {
        let suggestion = engine::sanitize(suggestion, SENTENCE);
        writeln!(out, "\n  {}  {suggestion}", paint.faint("safer   "))?;
    }
    Ok(())
}

/// What would happen, in one sentence: the summary that every surface shows, or that nothing was
/// seen.
fn sentence(call: &Call<'_>, record: &Assessment) -> String {
    match record.reasons.first() {
        Some(_) => engine::brief(call, record),
        None if record.effects.only_reads() => "Only reads; nothing changes.".to_owned(),
        None => "No risk found.".to_owned(),
    }
}

/// Where the call would run, as far as it is known.
fn place(call: &Call<'_>) -> Option<String> {
    let context = &call.context;
    let mut parts = Vec::new();
    match context.environment {
        Environment::Workstation => {}
        Environment::Production => parts.push("production".to_owned()),
        Environment::Ci => parts.push("a CI job".to_owned()),
        Environment::Container => parts.push("a container".to_owned()),
    }
    parts.extend(context.cwd.map(|cwd| engine::sanitize(cwd, SENTENCE)));
    match context.platform {
        Platform::Cli => {}
        Platform::Api => parts.push("requested through the API".to_owned()),
        Platform::Telegram => parts.push("requested in Telegram".to_owned()),
        Platform::Discord => parts.push("requested in Discord".to_owned()),
        Platform::Other => parts.push("requested on an unknown platform".to_owned()),
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Why the assessment is uncertain.
fn doubts(doubts: &[Doubt]) -> String {
    let words = doubts.iter().map(|doubt| doubt.words());
    let words: Vec<&str> = words.collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

fn outcome(record: &Assessment) -> &'static str {
    match (record.verdict, record.tier) {
        (Verdict::Allow, _) => "allow: the call runs without approval.",
        (Verdict::Ask, Tier::Critical) => "ask: a person must approve and give a reason.",
        (Verdict::Ask, Tier::Low) => "ask: low risk, but the assessment is uncertain.",
        (Verdict::Ask, _) => "ask: a person must approve first.",
        (Verdict::Deny, _) => "deny: the call does not run.",
        (Verdict::Crisis, _) => {
            "crisis: help is shown immediately; nothing is sent without a person."
        }
    }
}

fn print_reasons(out: &mut dyn Write, all: &[Reason], tier: Tier, style: Style) -> io::Result<()> {
    // Reasons without weight are shown only on request.
    let weighs = |r: &&Reason| style.all || r.weight.0 > 0;
    let reasons: Vec<&Reason> = all.iter().filter(weighs).collect();
    if reasons.is_empty() {
        return Ok(());
    }
    let shown = if style.all { usize::MAX } else { REASONS_SHOWN };
    writeln!(out)?;
    for reason in reasons.iter().take(shown) {
        let bar = terminal::weight_bar(reason.weight.0, 400, 8);
        let bar = style.paint.with(terminal::accent(tier), bar);
        let message = engine::sanitize(&reason.message, SENTENCE);
        let code = engine::sanitize(&reason.code, SENTENCE);
        let points = reason.weight.value();
        writeln!(out, "  {bar} {points:<4} {message}  {}", style.paint.faint(code))?;
    }
    if reasons.len() > shown {
        let more = format!("all {} reasons: --all", all.len());
        writeln!(out, "  {}", style.paint.faint(more))?;
    }
    Ok(())
}

fn print_impact(out: &mut dyn Write, impact: &Impact, style: Style) -> io::Result<()> {
    let money: Vec<String> = impact
        .money
        .iter()
        .map(|m| format!("{} {}", m.amount, m.currency.as_deref().unwrap_or("(no currency)")))
        .collect();
    let mut rows: Vec<(&str, String)> = Vec::new();
    if !money.is_empty() {
        rows.push(("money", engine::sanitize(&money.join(", "), SENTENCE)));
    }
    for (name, touched) in impact.lists().into_iter().filter(|(_, t)| !t.is_empty()) {
        rows.push((name, listing(touched, style.all)));
    }
    if let Some(items) = impact.items {
        rows.push(("items", items.to_string()));
    }
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    for (name, text) in rows {
        writeln!(out, "  {}  {text}", style.paint.faint(format!("{name:<8}")))?;
    }
    Ok(())
}

fn listing(touched: &CountedList, all: bool) -> String {
    let shown = if all { usize::MAX } else { 4 };
    let listed = touched.listed.iter().take(shown).map(|entry| engine::sanitize(entry, 120));
    let text = listed.collect::<Vec<_>>().join(", ");
    let count = usize::try_from(touched.count).unwrap_or(usize::MAX);
    let rest = count.saturating_sub(touched.listed.len().min(shown));
    if rest > 0 {
        return format!("{text} and {rest} more");
    }
    text
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "confidence is between 0 and 1"
)]
fn percent(share: f64) -> u8 {
    (share.clamp(0.0, 1.0) * 100.0).round() as u8
}
