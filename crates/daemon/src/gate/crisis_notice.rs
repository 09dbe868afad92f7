//! What the user of a session in a crisis is told when all people were paged and none answered.

use countersign_crisis::{self as crisis, CrisisCard, ScreenOptions};
use countersign_types::time::{Clock as _, Timestamp};
use countersign_workflow::request::{EscalationLevel, Schedule};
use serde::Serialize;

use super::crisis_turns::CrisisSigns;
use super::state::Gate;

/// A notice for the user: no person has answered, and the whole card again.
#[derive(Debug, Serialize)]
pub struct CrisisNotice {
    /// The whole notice as text.
    pub text: String,
    /// The card in it.
    pub card: CrisisCard,
}

impl Gate {
    /// The notice for a session whose last page is out, whether or not a call of it waits. None
    /// once a person has reacted.
    pub fn unanswered_notice(&self, agent: &str, session: &str) -> Option<CrisisNotice> {
        let open = self.crises.open_episode(agent, session)?;
        let interval = self.rules().times.crisis;
        let schedule = Schedule { created: open.since, deadline: Timestamp(i64::MAX), interval };
        let level = schedule.crisis_level_at(self.clock.now().at);
        (level == EscalationLevel::Emergency).then(|| self.crisis_notice(agent, session))
    }

    /// The notice, as it suits the session: in the language of the user, with the helplines that
    /// were shown before, and with the emergency number first if danger may be imminent.
    pub fn crisis_notice(&self, agent: &str, session: &str) -> CrisisNotice {
        let (rules, now) = (self.rules(), self.clock.now().at);
        let of = |name: &str| self.crisis_turns.signs(agent, name, now);
        let signs = match of(session) {
            CrisisSigns { card: None, .. } => of(""),
            signs => signs,
        };
        let options = ScreenOptions {
            country: signs.card.and_then(|card| card.country).or(rules.country.as_deref()),
            preset: rules.preset,
            lang: signs.card.map(|card| card.lang),
            unverified: false,
            minor: signs.minor,
        };
        let imminent = self.crises.of_session(agent, session).is_some_and(|one| one.imminent);
        let helper = signs.card.is_some_and(|card| card.helper);
        let card = crisis::full_card(&options, imminent, helper);
        CrisisNotice { text: crisis::unanswered(&card), card }
    }
}
