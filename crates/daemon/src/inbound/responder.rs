//! One person who answers through one channel.

use std::sync::Arc;

use countersign_channels::{Answers, News, Which};
use countersign_risk::word_pair::word_pair;
use countersign_store::{AttemptResult, Note, Query, Store as _, Stored};
use countersign_text::humanize;
use countersign_text::sanitize::sanitize_within;
use countersign_types::time::Clock as _;
use countersign_workflow::assurance::{Authority, Tenure};
use countersign_workflow::request::{Choice, EscalationLevel, Event, State, Transition};
use serde_json::json;

use crate::api::Api;
use crate::buttons::{ButtonTarget, Buttons};
use crate::drills;
use crate::notifier::announcement::{self, AnnouncementSource};
use crate::notifier::{OpenChannel, TestButtons};

/// So many pending requests are listed.
const MAX_LISTED: usize = 5;
/// So many pending requests are searched for a typed name.
const MAX_SEARCHED: u32 = 500;
/// The longest reason, and the longest summary in a reply.
const MAX_REASON: usize = 500;
const MAX_SUMMARY: usize = 120;

/// Where somebody was asked, as far as what they said proves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShownWhere {
    /// Through this channel: they press what only its message carries.
    InThisChannel,
    /// Somewhere: the two words stand in many places.
    Anywhere,
}

/// One person heard through one channel.
pub struct Responder<'a> {
    pub api: &'a Api,
    pub open_channel: &'a Arc<OpenChannel>,
    pub answers: &'a dyn Answers,
    pub person: String,
    /// How long they have been able to answer here.
    pub tenure: Tenure,
}

impl Responder<'_> {
    fn channel(&self) -> &str {
        self.open_channel.channel.name()
    }

    /// One of our buttons, if it is one.
    pub async fn press_button(&self, text: &str, reason: &str) -> String {
        const NOT_OURS: &str = "This button is not one of ours, so nothing was decided.";
        if TestButtons::is_test_button(text) {
            return self.test_button(text);
        }
        let Some(press_button) = Buttons::read(text) else { return NOT_OURS.to_owned() };
        let stored = match self.api.gate.store().request(press_button.request).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return NOT_OURS.to_owned(),
            Err(error) => return format!("Nothing was decided: {error}."),
        };
        let (request, digest) = (press_button.request, &stored.request.digest);
        let named = ButtonTarget { channel: self.channel(), request, digest };
        if !self.api.buttons.verify(&press_button, named) {
            tracing::warn!(channel = self.channel(), %request, "a button was forged");
            return NOT_OURS.to_owned();
        }
        self.decide(&stored, press_button.choice, reason, ShownWhere::InThisChannel).await
    }

    /// The button of a test.
    fn test_button(&self, button: &str) -> String {
        let now = self.api.gate.clock().now().at;
        if self.open_channel.test_buttons.tap(button, &self.person, now) {
            format!("It works. You answer here as {}.", self.person)
        } else {
            "This test is over. Send another one in the inbox, under Channels.".to_owned()
        }
    }

    /// A request by what a person typed: its two words, its code, or its id.
    pub async fn answer_by_name(&self, choice: Choice, which: &Which) -> String {
        let waiting = match self.pending_requests().await {
            Ok(waiting) => waiting,
            Err(problem) => return problem,
        };
        let fits = |stored: &&Stored| {
            let request = &stored.request;
            let named = ButtonTarget {
                channel: self.channel(),
                request: request.id,
                digest: &request.digest,
            };
            let name = which.name.as_str();
            word_pair(&request.digest.canonical).to_string().eq_ignore_ascii_case(name)
                || request.id.to_string().eq_ignore_ascii_case(name)
                || self.api.buttons.code(named) == name
        };
        let mut found = waiting.iter().filter(fits);
        let stored = match (found.next(), found.next()) {
            (Some(stored), None) => stored,
            (Some(_), Some(_)) => {
                return "Several waiting requests have these two words. Answer in the inbox."
                    .to_owned();
            }
            // A no without a name is clear where only one waits; a yes always names its call.
            (None, _) if which.name.is_empty() && choice == Choice::Deny => match &*waiting {
                [only] => only,
                _ => return self.which(choice),
            },
            (None, _) if which.name.is_empty() => return self.which(choice),
            (None, _) => return "No waiting request has this name.".to_owned(),
        };
        self.decide(stored, choice, &which.reason, ShownWhere::Anywhere).await
    }

    fn which(&self, choice: Choice) -> String {
        let word = if choice == Choice::Approve { "approve" } else { "deny" };
        format!("Which one? Say {} and its two words.", self.answers.command(word))
    }

    async fn pending_requests(&self) -> Result<Vec<Stored>, String> {
        let query = Query { state: Some(State::Pending), limit: MAX_SEARCHED, ..Query::default() };
        let page = self.api.gate.store().find(query).await;
        page.map(|page| page.requests).map_err(|error| format!("Nothing was decided: {error}."))
    }

    async fn decide(
        &self,
        stored: &Stored,
        choice: Choice,
        reason: &str,
        asked: ShownWhere,
    ) -> String {
        if choice == Choice::Approve
            && !stored.request.state.has_ended()
            && let Err(problem) = self.check_was_shown(stored, asked).await
        {
            return problem;
        }
        let rules = self.api.gate.rules();
        let standing = Authority {
            assurance: self.answers.assurance(),
            approves: self.open_channel.limits.approves,
            has_passkey: self.api.has_passkey(&self.person),
            tenure: self.tenure,
        };
        let event = Event::Answer {
            person: self.person.clone(),
            choice,
            seen: stored.request.digest,
            edited: None,
            channel: self.channel().to_owned(),
            reason: sanitize_within(reason, MAX_REASON).text.into_owned(),
            standing: (standing, rules.needs),
        };
        let facts = json!({ "assurance": standing.assurance });
        let note = Note { policy: rules.hash, facts: Some(facts.to_string()), edited: None };
        match self.api.gate.decide(stored.request.id, event, note).await {
            Ok(applied) => {
                drills::explain(&applied.stored).unwrap_or_else(|| describe(&applied.change))
            }
            Err(error) => format!("Nothing was decided: {error}."),
        }
    }

    /// Whether this person could read the whole call here, in a message that was really sent.
    async fn check_was_shown(&self, stored: &Stored, asked: ShownWhere) -> Result<(), String> {
        let about = AnnouncementSource {
            stored,
            news: News::Asked,
            at: stored.request.schedule.created,
            seq: 0,
            rung: EscalationLevel::First,
        };
        let channel = (self.channel(), self.open_channel.limits);
        let told = announcement::announcement(&self.api.gate, &self.api.buttons, channel, about);
        let link = told.link();
        if !self.answers.shows_whole(&told) {
            return Err(format!(
                "Not approved: this call is not shown whole here. Read it first: {link}"
            ));
        }
        // Who presses our button has our message, even before it is written down that it arrived.
        if asked == ShownWhere::InThisChannel {
            return Ok(());
        }
        let sent = self.api.gate.store().deliveries(stored.request.id).await;
        let sent = sent.map_err(|error| format!("Nothing was decided: {error}."))?;
        let arrived = sent.iter().any(|delivery| {
            let here = delivery.channel == self.channel();
            here && !matches!(delivery.result, AttemptResult::Failed(_))
        });
        if arrived {
            Ok(())
        } else {
            Err(format!("Not approved: you were not asked here. Read it first: {link}"))
        }
    }

    pub async fn list_pending(&self) -> String {
        let waiting = match self.pending_requests().await {
            Ok(waiting) => waiting,
            Err(problem) => return problem,
        };
        if waiting.is_empty() {
            return "Nothing is waiting.".to_owned();
        }
        let now = self.api.gate.clock().now().at;
        let mut lines = vec![match waiting.len() {
            1 => "1 is waiting:".to_owned(),
            many => format!("{many} are waiting:"),
        }];
        for stored in waiting.iter().take(MAX_LISTED) {
            let request = &stored.request;
            let (emoji, tier) = (request.tier.emoji(), request.tier.label());
            let brief = sanitize_within(&stored.brief, MAX_SUMMARY).text;
            let left = humanize::duration(now.until(request.schedule.deadline).0 / 1000);
            let phrase = word_pair(&request.digest.canonical);
            lines.push(format!("{emoji} {tier} {phrase} ({left} left): {brief}"));
        }
        if waiting.len() > MAX_LISTED {
            let link = &self.api.gate.rules().inbox;
            lines.push(format!("{} more in the inbox: {link}", waiting.len() - MAX_LISTED));
        }
        lines.join("\n")
    }

    /// The commands that can be sent here.
    pub fn help(&self) -> String {
        let say = |word| self.answers.command(word);
        format!(
            "You answer here as {}.\n{} olive-tractor: yes to the call with these two words\n\
             {} olive-tractor: no\n{}: what is waiting\nSilence is a no.",
            self.person,
            say("approve"),
            say("deny"),
            say("pending")
        )
    }
}

fn describe(change: &Transition) -> String {
    match change {
        Transition::Ended(decision) => match decision.state {
            State::Approved => "Approved. The agent may do this once.".to_owned(),
            State::Denied => "Denied. The agent is told.".to_owned(),
            State::Pending | State::Expired | State::Cancelled => "It is over.".to_owned(),
        },
        Transition::ApprovalCounted { approvals, needed } => {
            format!("Your yes counts: {approvals} of {needed}.")
        }
        Transition::DenialCounted { objections, needed } => {
            format!("Your no counts: {objections} of {needed}.")
        }
        Transition::Nothing | Transition::Escalated(_) => "Nothing changed.".to_owned(),
    }
}
