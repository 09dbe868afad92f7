//! The announcement of a request for one channel, limited to what the channel may show.

use countersign_channels::{
    Announcement, AnnouncementEvent, ChannelLimits, EditedNotice, ReplyOptions,
};
use countersign_json as json;
use countersign_risk::call_view;
use countersign_risk::card::Card;
use countersign_risk::word_pair::word_pair;
use countersign_store::StoredRequest;
use countersign_text::sanitize::sanitize_within;
use countersign_types::time::{Clock as _, Timestamp};
use countersign_workflow::request::{Choice, EscalationLevel, Request, needs_word};

use super::channel_pool::OpenChannel;
use crate::buttons::{ButtonTarget, Buttons};
use crate::current_call::as_asked;
use crate::gate::{CrisisContext, Gate, asking_name};

/// The most reasons in a message.
const MAX_REASONS: usize = 3;
/// The longest name of a person.
const NAME: usize = 80;

/// An event of a request that is announced.
pub struct AnnouncementSource<'a> {
    /// The request.
    pub stored: &'a StoredRequest,
    /// What happened.
    pub news: AnnouncementEvent,
    /// When.
    pub at: Timestamp,
    /// Its place in the ledger.
    pub seq: u64,
    /// The escalation level.
    pub level: EscalationLevel,
}

/// What the person who reads a message about a crisis can do.
const OPTIONS_IN_CRISIS: &str = "In the inbox you can approve, edit or deny the text, or take over the \
                                 conversation and write to the user yourself.";

/// The announcement for this channel.
pub fn announcement(
    gate: &Gate,
    buttons: &Buttons,
    channel: &OpenChannel,
    about: AnnouncementSource<'_>,
) -> Announcement {
    let limits = channel.limits;
    let asked = as_asked(about.stored);
    let (stored, request) = (&*asked, &asked.request);
    let asks = matches!(about.news, AnnouncementEvent::Asked | AnnouncementEvent::Escalated);
    // In a crisis a text of a person is only in messages that are changed when the request ends.
    let words = limits.details && (!request.crisis || limits.crisis_words);
    let card = card(stored).filter(|_| asks && words);
    // A crisis is answered in the inbox, where everything is shown.
    let approvable = card.as_ref().filter(|_| !request.crisis);
    let ways = asks.then(|| reply_options(buttons, channel, request, approvable));
    let mut reasons = card.as_ref().map(|card| reasons(gate, stored, card)).unwrap_or_default();
    reasons.extend(proposed_by(about.stored).filter(|_| asks));
    if asks && request.crisis {
        reasons.push(OPTIONS_IN_CRISIS.to_owned());
    }
    Announcement {
        key: format!("{}-{}", request.id, about.seq),
        news: about.news,
        at: about.at,
        now: gate.clock().now().at,
        request: request.id,
        brief: stored.brief.clone(),
        tool: stored.tool.clone(),
        tier: request.tier,
        phrase: word_pair(&request.digest.canonical).to_string(),
        agent: asking_name(stored),
        session: stored.session.clone(),
        deadline: request.schedule.deadline,
        level: about.level,
        crisis: request.crisis,
        inbox: gate.rules().inbox.clone(),
        folded: card.as_ref().map_or(0, |card| card.folded),
        call: card.as_ref().map_or_else(String::new, call_view::lines),
        reasons,
        ways,
        works: None,
    }
}

/// Who edited the call that people are asked about, and what the agent requested.
fn proposed_by(stored: &StoredRequest) -> Option<String> {
    let proposal = stored.request.proposal.as_ref()?;
    let needed = stored.request.approvals_needed();
    Some(format!(
        "Edited by {}; {needed} people must approve the edited call. The agent requested: {}",
        sanitize_within(&proposal.person, NAME).text,
        stored.brief
    ))
}

/// Why a person is asked; in a crisis what they must know about it.
fn reasons(gate: &Gate, stored: &StoredRequest, card: &Card) -> Vec<String> {
    if stored.request.crisis {
        let agent = stored.request.requester.display_name();
        let context = CrisisContext::of_call(gate, agent, &stored.session);
        return context.map(|context| context.lines()).unwrap_or_default();
    }
    let judge = gate.judge().shown(stored).map(|opinion| format!("{}.", opinion.sentence()));
    let own = card.reasons.iter().take(MAX_REASONS).map(|reason| reason.message.to_string());
    judge.into_iter().chain(own).collect()
}

/// How a person can reply through this channel.
fn reply_options(
    buttons: &Buttons,
    channel: &OpenChannel,
    request: &Request,
    card: Option<&Card>,
) -> ReplyOptions {
    let (name, limits) = (channel.channel.name(), channel.limits);
    let named = ButtonTarget { channel: name, request: request.id, digest: &request.digest };
    // A call that is not shown completely can only be approved in the inbox.
    let approves = card.is_some_and(|card| card.one_tap() && request.tier <= limits.approves);
    // A HIGH call takes its two words; a tap is not enough.
    let typed = approves && needs_word(request.tier, request.crisis);
    let replies = channel.channel.reply_receiver().filter(|_| typed);
    let phrase = word_pair(&request.digest.canonical);
    ReplyOptions {
        approve: approves.then(|| buttons.write(Choice::Approve, named)),
        type_to_approve: replies.map(|to| format!("{} {phrase}", to.command_text("approve"))),
        deny: buttons.write(Choice::Deny, named),
        code: buttons.code(named),
    }
}

/// The page of a request in the inbox.
pub fn link(gate: &Gate, stored: &StoredRequest) -> String {
    format!("{}/requests/{}", gate.rules().inbox.trim_end_matches('/'), stored.request.id)
}

/// The edited call that was approved; with its text only if this channel may show calls.
pub fn edited(stored: &StoredRequest, limits: ChannelLimits) -> Option<EditedNotice> {
    stored.edited.as_ref()?;
    if stored.request.crisis {
        return Some(EditedNotice {
            tier: stored.request.tier,
            brief: "The text was edited; see the inbox.".to_owned(),
            call: String::new(),
        });
    }
    let card = stored.edited_card.as_deref().and_then(|text| json::parse(text).ok());
    let card = card.and_then(|card| Card::from_json(&card).ok());
    Some(match card {
        Some(card) => EditedNotice {
            tier: card.tier,
            call: if limits.details { call_view::lines(&card) } else { String::new() },
            brief: card.brief,
        },
        None => EditedNotice {
            tier: stored.request.tier,
            brief: "Its assessment cannot be read; see the inbox.".to_owned(),
            call: String::new(),
        },
    })
}

/// The card of the decided call; none if it is the card of another call.
fn card(stored: &StoredRequest) -> Option<Card> {
    let card = json::parse(&stored.card).ok().and_then(|card| Card::from_json(&card).ok());
    card.filter(|card| card.digest == stored.request.digest.canonical)
}
