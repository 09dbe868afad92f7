//! A crisis begins: in memory at once, stored in the background, with what people see of it.

use countersign_crisis::Screening;
use countersign_store::CrisisSession;
use countersign_types::span::Span;
use countersign_types::time::Clock as _;

use super::store_crisis::store_crisis;
use crate::api::Api;
use crate::gate::{Caller, ShownCard};

/// Begins a crisis because of a message whose check-in was shown before a model confirmed it.
pub fn raise_later(
    api: &Api,
    caller: &Caller,
    session: &str,
    (text, screening): (&str, &Screening),
) {
    begin_at(api, caller, session, 1, false);
    api.gate.concerns().owe_card(&caller.agent, session);
    note_turn(api, caller, session, (text, screening));
}

/// Keeps what people see of a message in a crisis.
pub fn note_turn(api: &Api, caller: &Caller, session: &str, (text, screening): (&str, &Screening)) {
    let (turns, now) = (api.gate.crisis_turns(), api.gate.clock().now().at);
    turns.add(&caller.agent, session, "user", text, now);
    let card = screening.card.as_ref().map(|card| ShownCard {
        country: card.country,
        lang: card.lang,
        helper: card.helper,
    });
    let signs = (&*sign_words(screening, text), card);
    turns.add_signs(&caller.agent, session, signs, now);
    if screening.possible_minor {
        turns.note_minor(&caller.agent, session, now);
    }
}

/// Begins a crisis with what a message shows.
pub fn begin(
    api: &Api,
    caller: &Caller,
    session: &str,
    screening: &Screening,
) -> Option<tokio::task::JoinHandle<()>> {
    begin_at(api, caller, session, screening.level, screening.imminent)
}

/// In memory before the response, so that the next call already meets the crisis rules.
fn begin_at(
    api: &Api,
    caller: &Caller,
    session: &str,
    level: u8,
    imminent: bool,
) -> Option<tokio::task::JoinHandle<()>> {
    let crisis = CrisisSession {
        agent: caller.agent.clone(),
        session: session.to_owned(),
        level,
        imminent,
        since: api.gate.clock().now().at,
    };
    api.gate.crises().begin(crisis).map(|crisis| store_crisis(api, crisis))
}

/// The words of a message that were signs: what rules matched, else what weighed most.
fn sign_words<'t>(screening: &Screening, text: &'t str) -> Vec<&'t str> {
    let by_rules = screening.signals.iter().take(3).map(|signal| signal.span);
    let weighed = screening.evidence.words.iter().take(3).copied();
    let found: Vec<Span> = if screening.by_rules { by_rules.collect() } else { weighed.collect() };
    let contains = |one: &Span, other: &Span| one.start <= other.start && other.end <= one.end;
    let in_longer = |span: &Span| found.iter().any(|one| one != span && contains(one, span));
    let part = |span: &Span| text.get(span.start as usize..span.end as usize);
    found.iter().filter(|span| !in_longer(span)).filter_map(part).collect()
}
