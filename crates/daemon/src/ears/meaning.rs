//! What a word means: a link, a question, a yes or a no. In doubt it means nothing.

use std::sync::Arc;

use countersign_channels::{
    AnnouncementEvent, PersonReply, ReplyContent, ReplyReceiver, RequestRef,
};
use countersign_risk::word_pair::phrase;
use countersign_store::{
    AttemptResult, LinkedAccount, RequestQuery, Store as _, StoredRequest, WriteContext,
};
use countersign_text::humanize;
use countersign_text::sanitize::show_within;
use countersign_types::time::{Clock as _, Span};
use countersign_workflow::assurance::{Standing, Tenure};
use countersign_workflow::request::{Change, Choice, Event, Rung, State};
use serde_json::json;

use crate::api::Api;
use crate::buttons::{Buttons, Named};
use crate::courier::tell::{self, About};
use crate::courier::{Line, Tries};
use crate::drills;

/// So many waiting requests are listed.
const LISTED: usize = 5;
/// So many are looked at for a name that was typed.
const LOOKED_AT: u32 = 500;
/// The longest name, reason and sentence in a reply.
const NAME: usize = 60;
const REASON: usize = 500;
const SENTENCE: usize = 120;

/// What becomes of a word, in words for who said it.
pub async fn understood(api: &Api, line: &Arc<Line>, word: &PersonReply) -> String {
    let channel = line.channel.name();
    let Some(answers) = line.channel.reply_receiver() else {
        return "Nobody can answer here.".to_owned();
    };
    if let ReplyContent::Link(code) = &word.content {
        return link(api, channel, word, code).await;
    }
    let Some((person, tenure)) = person(api, answers, channel, word) else {
        tracing::warn!(channel, "an account that is nobody's said something");
        return format!(
            "This account is linked to nobody here, so it cannot answer. In the inbox, under \
             Channels, get a code and send: {} CODE",
            answers.command_text("link")
        );
    };
    let hears = Ear { api, line, answers, person, tenure };
    match &word.content {
        ReplyContent::Button(text) => hears.pressed(text, "").await,
        ReplyContent::Reasoned { button, reason } => hears.pressed(button, reason).await,
        ReplyContent::Approve(which) => hears.named(Choice::Approve, which).await,
        ReplyContent::Deny(which) => hears.named(Choice::Deny, which).await,
        ReplyContent::Pending => hears.pending().await,
        ReplyContent::Link(_) | ReplyContent::Help => hears.help(),
    }
}

/// Who speaks: whose account it is, or whose the operator says that the channel is.
fn person(
    api: &Api,
    answers: &dyn ReplyReceiver,
    channel: &str,
    word: &PersonReply,
) -> Option<(String, Tenure)> {
    match answers.person() {
        Some(name) => api.book.record(name).map(|_| (name.to_owned(), api.book.tenure(name))),
        None => api.book.account(channel, &word.account),
    }
}

async fn link(api: &Api, channel: &str, word: &PersonReply, code: &str) -> String {
    let now = api.gate.clock().now().at;
    let Some(person) = api.links.take(channel, code, now) else {
        return "This code is wrong or too old. Get a new one in the inbox, under Channels."
            .to_owned();
    };
    let account = LinkedAccount {
        channel: channel.to_owned(),
        account: word.account.clone(),
        person: person.clone(),
        called: show_within(&word.display_name, NAME).text.into_owned(),
        linked: now,
        active_from: now.plus(api.waiting_period(&person)),
        ended: None,
    };
    match api.gate.store().save_account(account, api.note_by(&person)).await {
        Ok(()) => {}
        Err(countersign_store::StoreError::Exists(_)) => {
            return "This account is linked to somebody else. They or an administrator can end \
                    that in the inbox."
                .to_owned();
        }
        Err(error) => return format!("Not linked: {error}."),
    }
    if let Err(error) = api.book.read(api.gate.store()).await {
        tracing::error!(%error, "a new link is not known yet");
    }
    api.announce(format!(
        "{person} linked an account on {channel}: it can approve calls as {person}."
    ));
    match api.waiting_period(&person) {
        Span(0) => format!("Linked. You answer here as {person} from now on."),
        wait => {
            let wait = humanize::length(wait.0 / 1000);
            format!("Linked. You can deny here as {person} now, and approve in {wait}.")
        }
    }
}

/// Where somebody was asked, as far as what they said proves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// Through this channel: they press what only its message carries.
    Here,
    /// Somewhere: the two words stand in many places.
    Somewhere,
}

/// One person heard through one channel.
struct Ear<'a> {
    api: &'a Api,
    line: &'a Arc<Line>,
    answers: &'a dyn ReplyReceiver,
    person: String,
    /// How long they have been able to answer here.
    tenure: Tenure,
}

impl Ear<'_> {
    fn channel(&self) -> &str {
        self.line.channel.name()
    }

    /// One of our buttons, if it is one.
    async fn pressed(&self, text: &str, reason: &str) -> String {
        const NOT_OURS: &str = "This button is not one of ours, so nothing was decided.";
        if Tries::is_one(text) {
            return self.tried(text);
        }
        let Some(pressed) = Buttons::read(text) else { return NOT_OURS.to_owned() };
        let stored = match self.api.gate.store().request(pressed.request).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return NOT_OURS.to_owned(),
            Err(error) => return format!("Nothing was decided: {error}."),
        };
        let (request, digest) = (pressed.request, &stored.request.digest);
        let named = Named { channel: self.channel(), request, digest };
        if !self.api.buttons.holds(&pressed, named) {
            tracing::warn!(channel = self.channel(), %request, "a button was forged");
            return NOT_OURS.to_owned();
        }
        self.decide(&stored, pressed.choice, reason, Asked::Here).await
    }

    /// The button of a test.
    fn tried(&self, button: &str) -> String {
        let now = self.api.gate.clock().now().at;
        if self.line.tries.tap(button, &self.person, now) {
            format!("It works. You answer here as {}.", self.person)
        } else {
            "This test is over. Send another one in the inbox, under Channels.".to_owned()
        }
    }

    /// A request by what a person typed: its two words, its code, or its id.
    async fn named(&self, choice: Choice, which: &RequestRef) -> String {
        let waiting = match self.waiting().await {
            Ok(waiting) => waiting,
            Err(problem) => return problem,
        };
        let fits = |stored: &&StoredRequest| {
            let request = &stored.request;
            let named =
                Named { channel: self.channel(), request: request.id, digest: &request.digest };
            let name = which.name.as_str();
            phrase(&request.digest.canonical).to_string().eq_ignore_ascii_case(name)
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
        self.decide(stored, choice, &which.reason, Asked::Somewhere).await
    }

    fn which(&self, choice: Choice) -> String {
        let word = if choice == Choice::Approve { "approve" } else { "deny" };
        format!("Which one? Say {} and its two words.", self.answers.command_text(word))
    }

    async fn waiting(&self) -> Result<Vec<StoredRequest>, String> {
        let query = RequestQuery {
            state: Some(State::Pending),
            limit: LOOKED_AT,
            ..RequestQuery::default()
        };
        let page = self.api.gate.store().find(query).await;
        page.map(|page| page.requests).map_err(|error| format!("Nothing was decided: {error}."))
    }

    async fn decide(
        &self,
        stored: &StoredRequest,
        choice: Choice,
        reason: &str,
        asked: Asked,
    ) -> String {
        if choice == Choice::Approve
            && !stored.request.state.has_ended()
            && let Err(problem) = self.was_shown(stored, asked).await
        {
            return problem;
        }
        let rules = self.api.gate.rules();
        let standing = Standing {
            assurance: self.answers.assurance(),
            approves: self.line.limits.approves,
            has_passkey: self.api.has_passkey(&self.person),
            tenure: self.tenure,
        };
        let event = Event::Answer {
            person: self.person.clone(),
            choice,
            seen: stored.request.digest,
            edited: None,
            channel: self.channel().to_owned(),
            reason: show_within(reason, REASON).text.into_owned(),
            standing: (standing, rules.needs),
        };
        let facts = json!({ "assurance": standing.assurance });
        let note =
            WriteContext { policy: rules.hash, facts: Some(facts.to_string()), edited: None };
        match self.api.gate.decide(stored.request.id, event, note).await {
            Ok(applied) => drills::words(&applied.stored).unwrap_or_else(|| said(&applied.change)),
            Err(error) => format!("Nothing was decided: {error}."),
        }
    }

    /// Whether this person could read the whole call here, in a message that was really sent.
    async fn was_shown(&self, stored: &StoredRequest, asked: Asked) -> Result<(), String> {
        let about = About {
            stored,
            news: AnnouncementEvent::Asked,
            at: stored.request.plan.created,
            seq: 0,
            rung: Rung::First,
        };
        let channel = (self.channel(), self.line.limits);
        let told = tell::announcement(&self.api.gate, &self.api.buttons, channel, about);
        let link = told.link();
        if !self.answers.shows_whole_call(&told) {
            return Err(format!(
                "Not approved: this call is not shown whole here. Read it first: {link}"
            ));
        }
        // Who presses our button has our message, even before it is written down that it arrived.
        if asked == Asked::Here {
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

    async fn pending(&self) -> String {
        let waiting = match self.waiting().await {
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
        for stored in waiting.iter().take(LISTED) {
            let request = &stored.request;
            let (emoji, tier) = (request.tier.emoji(), request.tier.label());
            let brief = show_within(&stored.brief, SENTENCE).text;
            let left = humanize::length(now.until(request.plan.deadline).0 / 1000);
            let phrase = phrase(&request.digest.canonical);
            lines.push(format!("{emoji} {tier} {phrase} ({left} left): {brief}"));
        }
        if waiting.len() > LISTED {
            let link = &self.api.gate.rules().inbox;
            lines.push(format!("{} more in the inbox: {link}", waiting.len() - LISTED));
        }
        lines.join("\n")
    }

    fn help(&self) -> String {
        let say = |word| self.answers.command_text(word);
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

fn said(change: &Change) -> String {
    match change {
        Change::Ended(decision) => match decision.state {
            State::Approved => "Approved. The agent may do this once.".to_owned(),
            State::Denied => "Denied. The agent is told.".to_owned(),
            State::Pending | State::Expired | State::Cancelled => "It is over.".to_owned(),
        },
        Change::Counted { approvals, needed } => {
            format!("Your yes counts: {approvals} of {needed}.")
        }
        Change::Objected { objections, needed } => {
            format!("Your no counts: {objections} of {needed}.")
        }
        Change::Nothing | Change::Climbed(_) => "Nothing changed.".to_owned(),
    }
}
