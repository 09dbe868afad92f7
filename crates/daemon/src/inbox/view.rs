//! One request as the pages see it: what is kept, read once.

use countersign_json as json;
use countersign_risk::card::Card;
use countersign_risk::word_pair::phrase;
use countersign_store::{SimilarCalls, StoredRequest};
use countersign_text::sanitize::show_within;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::request::{Choice, State};

/// How much of a name is shown.
const NAME: usize = 120;
/// How much of the agent's own words.
const WORDS: usize = 2000;

/// A request, its card, and the time at which it is looked at.
#[derive(Debug)]
pub struct View {
    /// As kept.
    pub stored: StoredRequest,
    /// The card; none if it cannot be read or is of another call.
    pub card: Option<Card>,
    /// Now.
    pub now: Timestamp,
    /// What became of similar calls, where that was asked for.
    pub similar: Option<SimilarCalls>,
    /// Since when the agent no longer waits for the answer, where that is known.
    pub left_since: Option<Timestamp>,
}

impl View {
    /// Reads the card. One of another call than the one that is decided about is no card.
    pub fn new(stored: StoredRequest, now: Timestamp) -> View {
        let card = json::parse(&stored.card).ok().and_then(|card| Card::from_json(&card).ok());
        let card = card.filter(|card| card.digest == stored.request.digest.canonical);
        View { stored, card, now, similar: None, left_since: None }
    }

    /// Without its card: enough for a line in a list of a thousand.
    pub fn unread(stored: StoredRequest, now: Timestamp) -> View {
        View { stored, card: None, now, similar: None, left_since: None }
    }

    /// What would happen, in one sentence.
    pub fn brief(&self) -> String {
        let brief =
            if self.stored.brief.is_empty() { &self.stored.tool } else { &self.stored.brief };
        show_within(brief, 400).text.into_owned()
    }

    /// Its two words.
    pub fn words(&self) -> String {
        phrase(&self.stored.request.digest.canonical).to_string()
    }

    /// Whether it still waits.
    pub fn waits(&self) -> bool {
        self.stored.request.state == State::Pending
    }

    /// Whether it was a drill and may be called one by now.
    pub fn is_known_drill(&self) -> bool {
        self.stored.request.requester.is_drill() && !self.waits()
    }

    /// The agent's name.
    pub fn agent(&self) -> String {
        show_within(self.stored.request.requester.shown(), NAME).text.into_owned()
    }

    /// The session, if the agent named one.
    pub fn session(&self) -> Option<String> {
        let session = &self.stored.session;
        (!session.is_empty()).then(|| show_within(session, NAME).text.into_owned())
    }

    /// What the agent says of it, if it says anything.
    pub fn claim(&self) -> Option<String> {
        let detail: serde_json::Value = serde_json::from_str(&self.stored.detail).ok()?;
        let said = detail.pointer("/description").or(detail.pointer("/seed/description"))?;
        let said = said.as_str().filter(|said| !said.is_empty())?;
        Some(show_within(said, WORDS).text.into_owned())
    }

    /// The class that gives it its colour.
    pub fn colour(&self) -> &'static str {
        if self.stored.request.crisis {
            return "crisis";
        }
        match self.stored.request.tier {
            Tier::Safe => "safe",
            Tier::Low => "low",
            Tier::Medium => "medium",
            Tier::High => "high",
            Tier::Critical => "critical",
        }
    }

    /// What comes first in the list: crises, then the graver.
    pub fn rank(&self) -> u8 {
        let request = &self.stored.request;
        let tier = Tier::ALL.iter().position(|&tier| tier == request.tier).unwrap_or(0);
        u8::from(request.crisis) * 8 + u8::try_from(tier).unwrap_or(7)
    }

    /// How many have said yes.
    pub fn approvals(&self) -> usize {
        let votes = &self.stored.request.votes;
        votes.iter().filter(|vote| vote.choice == Choice::Approve).count()
    }

    /// Milliseconds until it is denied.
    pub fn left(&self) -> i64 {
        self.stored.request.plan.deadline.0.saturating_sub(self.now.0).max(0)
    }

    /// Milliseconds that it had in all.
    pub fn whole(&self) -> i64 {
        let plan = &self.stored.request.plan;
        plan.deadline.0.saturating_sub(plan.created.0).max(1)
    }
}
