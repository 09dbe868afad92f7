//! What a person must know to answer in a crisis: level, signs, the last turns and the helplines of
//! the user's country.

use countersign_crisis::{self as crisis, CrisisCard, ScreenOptions};
use countersign_store::CrisisSession;
use countersign_types::time::Clock as _;

use super::crisis_sessions::Takeover;
use super::crisis_turns::{ConversationTurn, CrisisSigns};
use super::state::Gate;

/// Turns in a message of a channel.
const TURNS_IN_MESSAGE: usize = 2;
/// Helplines in a message of a channel.
const HELPLINES_IN_MESSAGE: usize = 3;

/// What a person must know about a young user.
pub const POSSIBLE_MINOR: &str = "The user may be under 18. Do not promise secrecy. Whether to contact \
                                  parents is a person's decision: home may be the danger.";

/// A session in a crisis with what is known about it. In memory only.
#[derive(Debug)]
pub struct CrisisContext {
    /// The session.
    pub crisis: CrisisSession,
    /// The user's words that were signs.
    pub signs: CrisisSigns,
    /// The last turns, the newest last.
    pub turns: Vec<ConversationTurn>,
    /// Who took the conversation over.
    pub takeover: Option<Takeover>,
    /// The card that the user saw, in English.
    pub card: CrisisCard,
}

impl CrisisContext {
    /// What is known about a crisis.
    pub fn of(gate: &Gate, crisis: CrisisSession) -> CrisisContext {
        let rules = gate.rules();
        let turns = gate.crisis_turns();
        let (agent, session) = (&crisis.agent, &crisis.session);
        let now = gate.clock().now().at;
        let signs = turns.signs(agent, session, now);
        let options = ScreenOptions {
            country: signs.card.and_then(|card| card.country).or(rules.country.as_deref()),
            preset: crisis::Preset::Neutral,
            lang: None,
            unverified: false,
            minor: signs.minor,
        };
        CrisisContext {
            card: crisis::full_card(&options, crisis.imminent, false),
            turns: turns.turns(agent, session, now),
            takeover: gate.crises().takeover(agent, Some(session)),
            signs,
            crisis,
        }
    }

    /// The crisis that an agent's call belongs to.
    pub fn of_call(gate: &Gate, agent: &str, session: &str) -> Option<CrisisContext> {
        let list = gate.crises().list();
        let of_agent = || list.iter().filter(|one| one.agent == agent);
        let exact = of_agent().find(|one| one.session == session);
        let found = exact.or_else(|| of_agent().find(|one| one.session.is_empty()))?;
        Some(CrisisContext::of(gate, found.clone()))
    }

    /// The lines of a message: level, signs, the last turns, helplines.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("{}.", crisis_level(&self.crisis))];
        if !self.signs.words.is_empty() {
            let words: Vec<String> =
                self.signs.words.iter().map(|words| format!("“{words}”")).collect();
            lines.push(format!("Signs: {}", words.join(", ")));
        }
        lines.extend(self.signs.minor.then(|| POSSIBLE_MINOR.to_owned()));
        let skipped = self.turns.len().saturating_sub(TURNS_IN_MESSAGE);
        let turns = self.turns.iter().skip(skipped);
        lines.extend(turns.map(|turn| format!("{}: {}", turn.role, turn.text)));
        let mut numbers: Vec<String> = Vec::new();
        numbers.extend(self.card.emergency.map(|number| format!("emergency {number}")));
        let helplines = self.card.lines.iter().take(HELPLINES_IN_MESSAGE);
        numbers.extend(helplines.map(|line| format!("{} {}", line.name, line.number)));
        if numbers.is_empty() {
            numbers.push("findahelpline.com".to_owned());
        }
        lines.push(format!("Shown to the user: {}", numbers.join(", ")));
        lines
    }
}

/// The level of a crisis in words.
pub fn crisis_level(crisis: &CrisisSession) -> String {
    let imminent = if crisis.imminent { ", danger may be imminent" } else { "" };
    format!("Level {} of 6{imminent}", crisis.level)
}
