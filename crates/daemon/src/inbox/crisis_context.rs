//! What a person must know to answer in a crisis: level, signs, the last turns, helplines of the
//! user's country, and what they can do.

use countersign_crisis::{self as crisis, CrisisCard, ScreenOptions};
use countersign_store::CrisisSession;
use countersign_types::time::Timestamp;
use maud::{Markup, html};

use super::controls::shown;
use super::labels::relative_time;
use crate::api::Api;
use crate::gate::{ConversationTurn, CrisisSigns, Takeover};

/// A session in a crisis with what is known about it. In memory only.
#[derive(Debug)]
pub struct CrisisContext {
    crisis: CrisisSession,
    signs: CrisisSigns,
    turns: Vec<ConversationTurn>,
    takeover: Option<Takeover>,
    /// The card that the user saw, in English.
    card: CrisisCard,
}

impl CrisisContext {
    /// What is known about a crisis.
    pub fn of(api: &Api, crisis: CrisisSession) -> CrisisContext {
        let rules = api.gate.rules();
        let turns = api.gate.crisis_turns();
        let (agent, session) = (&crisis.agent, &crisis.session);
        let signs = turns.signs(agent, session);
        let options = ScreenOptions {
            country: signs.country.or(rules.country.as_deref()),
            preset: crisis::Preset::Neutral,
            lang: None,
            unverified: false,
        };
        CrisisContext {
            card: crisis::full_card(&options, crisis.imminent),
            turns: turns.turns(agent, session),
            takeover: api.gate.crises().takeover(agent, Some(session)),
            signs,
            crisis,
        }
    }

    /// The crisis that an agent's call belongs to.
    pub fn of_call(api: &Api, agent: &str, session: &str) -> Option<CrisisContext> {
        let list = api.gate.crises().list();
        let of_agent = || list.iter().filter(|one| one.agent == agent);
        let exact = of_agent().find(|one| one.session == session);
        let found = exact.or_else(|| of_agent().find(|one| one.session.is_empty()))?;
        Some(CrisisContext::of(api, found.clone()))
    }

    /// Everything but the forms.
    pub fn markup(&self, now: Timestamp) -> Markup {
        html! {
            p.hint { (level(&self.crisis, now)) }
            @if let Some(takeover) = &self.takeover {
                p { strong { (shown(&takeover.person)) " has taken over" }
                    ", " (relative_time(takeover.at, now)) ". Nothing of the agent is sent." }
            }
            @if !self.signs.words.is_empty() {
                p { "Signs: " @for (at, words) in self.signs.words.iter().enumerate() {
                    @if at > 0 { ", " } "“" (shown(words)) "”"
                } }
            }
            @if !self.turns.is_empty() {
                ol.turns { @for turn in &self.turns {
                    li { strong { (turn.role) } ", " (relative_time(turn.at, now)) ": "
                        (shown(&turn.text)) }
                } }
            }
            (self.helplines())
        }
    }

    /// The numbers that the user was shown.
    fn helplines(&self) -> Markup {
        html! {
            ul.helplines {
                @if let Some(number) = self.card.emergency {
                    li { "Emergency: " strong { (number) } }
                }
                @for line in &self.card.lines {
                    li { (line.name) ": " strong { (line.number) } ", " (line.channel)
                        @if !line.hours.is_empty() { ", " (line.hours) } }
                }
                @if self.card.country.is_none() {
                    li { "The user's country is not known. Helplines: findahelpline.com" }
                }
            }
        }
    }

    /// The section on the card of a call that waits.
    pub fn on_card(&self, now: Timestamp) -> Markup {
        html! {
            section.crisis aria-label="The conversation" {
                (self.markup(now))
                p.hint {
                    "Help was shown to the user at once. Read the text below as they would: "
                    "approve it, edit it, deny it, or "
                    a href="/crises" { "take over and write yourself" }
                    ". Only a person may promise to come back, or contact emergency services."
                }
            }
        }
    }
}

/// The level of a crisis, and since when.
pub fn level(crisis: &CrisisSession, now: Timestamp) -> Markup {
    html! {
        "Level " (crisis.level) " of 6"
        @if crisis.imminent { ", danger may be imminent" }
        ", since " (relative_time(crisis.since, now))
    }
}
