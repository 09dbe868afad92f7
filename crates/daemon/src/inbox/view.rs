//! One request as the pages show it.

use std::borrow::Cow;

use countersign_json as json;
use countersign_risk::card::Card;
use countersign_risk::word_pair::word_pair;
use countersign_store::{SimilarCalls, StoredRequest};
use countersign_text::sanitize::sanitize_within;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::request::{Choice, State};

use crate::current_call::as_asked;
use crate::gate::{CrisisContext, asking_name};
use crate::judge::ShownOpinion;

/// How much of a name is shown.
const NAME: usize = 120;
/// How much of the agent's description is shown.
const WORDS: usize = 2000;

/// A request, its card, and the current time.
#[derive(Debug)]
pub struct RequestView {
    /// The stored request, with the call that people are asked about.
    pub stored: StoredRequest,
    /// The request with its original call, while people are asked about an edit of it.
    pub original: Option<Box<StoredRequest>>,
    /// The card; none if it cannot be read or is of another call.
    pub card: Option<Card>,
    /// Now.
    pub now: Timestamp,
    /// Results of similar calls, if requested.
    pub similar: Option<SimilarCalls>,
    /// Since when the agent no longer waits for the answer, if known.
    pub stopped_waiting_at: Option<Timestamp>,
    /// The conversation, if the call belongs to one in a crisis.
    pub crisis: Option<CrisisContext>,
    /// What the model judge thinks of it, if people may know.
    pub opinion: Option<ShownOpinion>,
    /// Whether the person who looks at it may give grants.
    pub may_grant: bool,
}

/// The place of a call in the plan of an agent.
#[derive(Debug, Clone, Copy)]
pub struct PlanStep {
    /// Its place, from 0.
    pub at: u64,
    /// The number of calls in the plan.
    pub of: u64,
}

impl RequestView {
    /// With its card. A card of another call than the one to decide is ignored.
    pub fn new(stored: StoredRequest, now: Timestamp) -> RequestView {
        let view = RequestView::without_card(stored, now);
        let card = card_of(&view.stored);
        RequestView { card, ..view }
    }

    /// Without its card: enough for a row in a long list.
    pub fn without_card(stored: StoredRequest, now: Timestamp) -> RequestView {
        let (stored, original) = match as_asked(&stored) {
            Cow::Borrowed(_) => (stored, None),
            Cow::Owned(asked) => (asked, Some(Box::new(stored))),
        };
        RequestView {
            stored,
            original,
            card: None,
            now,
            similar: None,
            stopped_waiting_at: None,
            crisis: None,
            opinion: None,
            may_grant: false,
        }
    }

    /// The summary in one sentence.
    pub fn brief(&self) -> String {
        let brief =
            if self.stored.brief.is_empty() { &self.stored.tool } else { &self.stored.brief };
        sanitize_within(brief, 400).text.into_owned()
    }

    /// Its two words.
    pub fn word_pair(&self) -> String {
        word_pair(&self.stored.request.digest.canonical).to_string()
    }

    /// Whether it is pending.
    pub fn is_pending(&self) -> bool {
        self.stored.request.state == State::Pending
    }

    /// Whether it was a drill and has ended.
    pub fn is_known_drill(&self) -> bool {
        self.stored.request.requester.is_drill() && !self.is_pending()
    }

    /// The agent's name, and the agent program that its hook names.
    pub fn agent(&self) -> String {
        sanitize_within(&asking_name(&self.stored), NAME).text.into_owned()
    }

    /// The session, if the agent named one.
    pub fn session(&self) -> Option<String> {
        let session = &self.stored.session;
        (!session.is_empty()).then(|| sanitize_within(session, NAME).text.into_owned())
    }

    /// The agent's description, if there is one.
    pub fn claim(&self) -> Option<String> {
        let detail: serde_json::Value = serde_json::from_str(&self.stored.detail).ok()?;
        let said = detail.pointer("/description").or(detail.pointer("/seed/description"))?;
        let said = said.as_str().filter(|said| !said.is_empty())?;
        Some(sanitize_within(said, WORDS).text.into_owned())
    }

    /// Its place in a plan, if the agent submitted it with other calls.
    pub fn plan_step(&self) -> Option<PlanStep> {
        self.stored.group?;
        let detail: serde_json::Value = serde_json::from_str(&self.stored.detail).ok()?;
        let number = |path: &str| detail.pointer(path).and_then(serde_json::Value::as_u64);
        Some(PlanStep { at: number("/batch/at")?, of: number("/batch/of")? })
    }

    /// The class for its color.
    pub fn color_class(&self) -> &'static str {
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

    /// The order in the list: crises first, then higher tiers.
    pub fn rank(&self) -> u8 {
        let request = &self.stored.request;
        let tier = Tier::ALL.iter().position(|&tier| tier == request.tier).unwrap_or(0);
        u8::from(request.crisis) * 8 + u8::try_from(tier).unwrap_or(7)
    }

    /// Who edited the call that people are asked about, if a person did.
    pub fn edited_by(&self) -> Option<String> {
        let proposal = self.original.as_ref()?.request.proposal.as_ref()?;
        Some(sanitize_within(&proposal.person, NAME).text.into_owned())
    }

    /// How many people approved.
    pub fn approvals(&self) -> usize {
        let votes = &self.stored.request.votes;
        votes.iter().filter(|vote| vote.choice == Choice::Approve).count()
    }

    /// Milliseconds until the deadline.
    pub fn remaining_ms(&self) -> i64 {
        self.stored.request.schedule.deadline.0.saturating_sub(self.now.0).max(0)
    }

    /// Milliseconds between creation and deadline.
    pub fn total_ms(&self) -> i64 {
        let schedule = &self.stored.request.schedule;
        schedule.deadline.0.saturating_sub(schedule.created.0).max(1)
    }
}

/// The card of a call; none if it cannot be read or is of another call.
pub fn card_of(stored: &StoredRequest) -> Option<Card> {
    let card = json::parse(&stored.card).ok().and_then(|card| Card::from_json(&card).ok());
    card.filter(|card| card.digest == stored.request.digest.canonical)
}
