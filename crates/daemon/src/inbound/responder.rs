//! One person who answers through one channel.

use std::sync::Arc;

use countersign_channels::{AnnouncementEvent, ReplyReceiver, RequestRef};
use countersign_risk::word_pair::word_pair;
use countersign_store::{
    AttemptResult, RequestQuery, Store as _, StoreError, StoredRequest, WriteContext,
};
use countersign_text::sanitize::sanitize_within;
use countersign_workflow::assurance::{Authority, Tenure};
use countersign_workflow::request::{
    ApprovalScope, Choice, EscalationLevel, Event, State, TransitionError,
};
use serde_json::json;

use super::context::InboundContext;
use super::outcome_text::describe;
use crate::buttons::{ButtonTarget, Buttons};
use crate::drills;
use crate::notifier::announcement::{self, AnnouncementSource};
use crate::notifier::{OpenChannel, TestButtons};

/// The maximum number of pending requests that are searched for a typed name.
const MAX_SEARCHED: u32 = 500;
/// The maximum length of a reason.
const MAX_REASON: usize = 500;

/// Where the person received the request, as far as their reply proves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShownWhere {
    /// Through this channel: only its message has this button.
    InThisChannel,
    /// Anywhere: the two words are shown in many places.
    Anywhere,
}

/// One person who replies through one channel.
pub struct Responder<'a> {
    pub context: &'a InboundContext,
    pub open_channel: &'a Arc<OpenChannel>,
    pub answers: &'a dyn ReplyReceiver,
    pub person: String,
    /// How long they have been able to reply here.
    pub tenure: Tenure,
}

impl Responder<'_> {
    fn channel(&self) -> &str {
        self.open_channel.channel.name()
    }

    /// One of our buttons, if it is one.
    pub async fn press_button(&self, text: &str, reason: &str, words: &str) -> String {
        const NOT_OURS: &str = "This button is not one of ours, so nothing was decided.";
        if TestButtons::is_test_button(text) {
            return self.test_button(text);
        }
        let Some(press_button) = Buttons::read(text) else { return NOT_OURS.to_owned() };
        let stored = match self.context.gate.store().request(press_button.request).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return NOT_OURS.to_owned(),
            Err(error) => return format!("Nothing was decided: {error}."),
        };
        let (request, current) = (press_button.request, stored.request.current_digest());
        let named = ButtonTarget { channel: self.channel(), request, digest: &current };
        let original = ButtonTarget { digest: &stored.request.digest, ..named };
        let verify = |named| self.context.buttons.verify(&press_button, named);
        if !verify(named) {
            // A message from before a person edited the call: its call can only be denied.
            if verify(original) {
                return self.press_old_button(&stored, press_button.choice, reason).await;
            }
            tracing::warn!(channel = self.channel(), %request, "a button was forged");
            return NOT_OURS.to_owned();
        }
        let shown = (ShownWhere::InThisChannel, words);
        self.decide(&stored, press_button.choice, reason, shown).await
    }

    /// A button for the call that an edit took the place of.
    async fn press_old_button(&self, stored: &StoredRequest, choice: Choice, why: &str) -> String {
        if choice == Choice::Deny {
            return self.decide(stored, choice, why, (ShownWhere::InThisChannel, "")).await;
        }
        let link = announcement::link(&self.context.gate, stored);
        format!("Not approved: a person edited this call. Open it in the inbox: {link}")
    }

    /// The button of a test.
    fn test_button(&self, button: &str) -> String {
        let now = self.context.now();
        if self.open_channel.test_buttons.tap(button, &self.person, now) {
            format!("The test works. Your replies here count as {}.", self.person)
        } else {
            "This test has expired. Send another one in the inbox, under Channels.".to_owned()
        }
    }

    /// A request by what a person typed: its two words, its code, or its id.
    pub async fn answer_by_name(&self, choice: Choice, which: &RequestRef) -> String {
        let waiting = match self.pending_requests().await {
            Ok(waiting) => waiting,
            Err(problem) => return problem,
        };
        let fits = |stored: &&StoredRequest| {
            let request = &stored.request;
            let digest = request.current_digest();
            let named =
                ButtonTarget { channel: self.channel(), request: request.id, digest: &digest };
            let name = which.name.as_str();
            word_pair(&digest.canonical).to_string().eq_ignore_ascii_case(name)
                || request.id.to_string().eq_ignore_ascii_case(name)
                || self.context.buttons.code(named) == name
        };
        let mut found = waiting.iter().filter(fits);
        let stored = match (found.next(), found.next()) {
            (Some(stored), None) => stored,
            (Some(_), Some(_)) => {
                return "Several pending requests have these two words. Answer in the inbox."
                    .to_owned();
            }
            // A denial needs no name if one request is pending; an approval always needs one.
            (None, _) if which.name.is_empty() && choice == Choice::Deny => match &*waiting {
                [only] => only,
                _ => return self.which(choice),
            },
            (None, _) if which.name.is_empty() => return self.which(choice),
            (None, _) => return "No pending request has this name.".to_owned(),
        };
        self.decide(stored, choice, &which.reason, (ShownWhere::Anywhere, &which.name)).await
    }

    fn which(&self, choice: Choice) -> String {
        let word = if choice == Choice::Approve { "approve" } else { "deny" };
        format!("Which request? Send {} and its two words.", self.answers.command_text(word))
    }

    pub(super) async fn pending_requests(&self) -> Result<Vec<StoredRequest>, String> {
        let query = RequestQuery {
            state: Some(State::Pending),
            limit: MAX_SEARCHED,
            ..RequestQuery::default()
        };
        let page = self.context.gate.store().find(query).await;
        page.map(|page| page.requests).map_err(|error| format!("Nothing was decided: {error}."))
    }

    async fn decide(
        &self,
        stored: &StoredRequest,
        choice: Choice,
        reason: &str,
        (asked, words): (ShownWhere, &str),
    ) -> String {
        if choice == Choice::Approve
            && !stored.request.state.has_ended()
            && let Err(problem) = self.check_was_shown(stored, asked).await
        {
            return problem;
        }
        let rules = self.context.gate.rules();
        let standing = Authority {
            assurance: self.answers.assurance(),
            approves: self.open_channel.limits.approves,
            has_passkey: self.context.directory.has_passkey(&self.person, self.context.now()),
            tenure: self.tenure,
        };
        let event = Event::Answer {
            person: self.person.clone(),
            choice,
            scope: ApprovalScope::Once,
            seen: stored.request.current_digest(),
            edited: None,
            channel: self.channel().to_owned(),
            reason: sanitize_within(reason, MAX_REASON).text.into_owned(),
            // A tap can happen by accident, so a HIGH call takes both words.
            word: if word_pair(&stored.request.current_digest().canonical).is(words) {
                words.to_owned()
            } else {
                String::new()
            },
            standing: (standing, rules.needs),
        };
        let facts = json!({ "assurance": standing.assurance });
        let note =
            WriteContext { policy: rules.hash, facts: Some(facts.to_string()), edited: None };
        match self.context.gate.decide(stored.request.id, event, note).await {
            Ok(applied) => {
                drills::explain(&applied.stored).unwrap_or_else(|| describe(&applied.change))
            }
            Err(StoreError::Refused(TransitionError::WordRequired)) => self.type_words(stored),
            Err(error) => format!("Nothing was decided: {error}."),
        }
    }

    /// How to approve a call for which a tap is not enough.
    fn type_words(&self, stored: &StoredRequest) -> String {
        let tier = stored.request.current_tier().label();
        let words = word_pair(&stored.request.current_digest().canonical);
        let approve = self.answers.command_text("approve");
        let link = announcement::link(&self.context.gate, stored);
        format!(
            "Not approved: a {tier} call takes its two words. Send: {approve} {words}, or open it \
             in the inbox: {link}"
        )
    }

    /// Whether this person could read the whole call here, in a message that was really sent.
    async fn check_was_shown(
        &self,
        stored: &StoredRequest,
        asked: ShownWhere,
    ) -> Result<(), String> {
        let about = AnnouncementSource {
            stored,
            news: AnnouncementEvent::Asked,
            at: stored.request.schedule.created,
            seq: 0,
            level: EscalationLevel::First,
        };
        let (gate, buttons) = (&self.context.gate, &self.context.buttons);
        let told = announcement::announcement(gate, buttons, self.open_channel, about);
        let link = told.link();
        if !self.answers.shows_whole_call(&told) {
            return Err(format!(
                "Not approved: this message does not show the whole call. Open it in the inbox: {link}"
            ));
        }
        // A pressed button proves that the message arrived, even before the delivery is recorded.
        if asked == ShownWhere::InThisChannel {
            return Ok(());
        }
        let sent = self.context.gate.store().deliveries(stored.request.id).await;
        let sent = sent.map_err(|error| format!("Nothing was decided: {error}."))?;
        let since = stored.request.proposal.as_ref().map(|proposal| proposal.at);
        let arrived = sent.iter().any(|delivery| {
            let here = delivery.channel == self.channel();
            let is_current = since.is_none_or(|since| delivery.at > since);
            here && is_current && !matches!(delivery.result, AttemptResult::Failed(_))
        });
        if arrived {
            Ok(())
        } else {
            Err(format!(
                "Not approved: the request was not sent to you here. Open it in the inbox: {link}"
            ))
        }
    }

    /// The commands that can be sent here.
    pub fn help(&self) -> String {
        let say = |word| self.answers.command_text(word);
        format!(
            "Your replies here count as {}.\n{} olive-tractor: approve the request with these two words\n\
             {} olive-tractor: deny it\n{}: list the pending requests\n\
             {}: stop every call at once\n\
             A request without an answer is denied.",
            self.person,
            say("approve"),
            say("deny"),
            say("pending"),
            say("freeze")
        )
    }
}
