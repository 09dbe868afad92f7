//! One announcement through one channel: sent, retried or given up, each recorded.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use countersign_channels::{Announcement, AnnouncementEvent, ChannelError, Ending, Receipt};
use countersign_store::{AnnouncementKind, AttemptResult, DeliveryStatus};
use countersign_text::sanitize::sanitize_within;
use countersign_types::tier::Tier;
use countersign_types::time::{Clock as _, Millis, Timestamp};
use countersign_workflow::request::Decider;

use super::announcement::{self, AnnouncementSource};
use super::channel_pool::OpenChannel;
use super::outbox_delivery::OutboxDelivery;
use super::plan::{SUPERSEDED_SENT, SUPERSEDED_UNSENT, Target, pause};
use crate::drills;
use crate::random;

/// The maximum duration of an attempt of any channel.
const SEND_TIMEOUT: Duration = Duration::from_secs(90);
/// How long after its end a request is still announced.
const END_NEWS_LIFETIME: Millis = Millis::from_seconds(600);
/// The maximum length of an error text, and of a message id.
const MAX_DETAIL_CHARS: usize = 300;

/// Delivers through one channel until success, failure or a newer announcement.
pub async fn deliver(delivery: Arc<OutboxDelivery>, target: Target, prompt: Option<String>) {
    let one_at_a_time = {
        let mut channels =
            delivery.announcements.channels.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(channels.entry(target.channel.clone()).or_default())
    };
    let _turn = one_at_a_time.lock().await;
    let before = delivery.outgoing.tried.iter().find(|tried| tried.channel == target.channel);
    let mut failures = before.map_or(0, |tried| tried.attempts);
    let mut due = before.and_then(due_at).or_else(|| keyboard_delay(&delivery, &target));
    loop {
        if !wait_until(&delivery, due).await {
            let sent = failures > 0 || delivery.outgoing.at < delivery.context.started;
            let why = if sent { SUPERSEDED_SENT } else { SUPERSEDED_UNSENT }.to_owned();
            delivery.close(&target, AttemptResult::Retry(why, now(&delivery))).await;
            return;
        }
        let error = match send(&delivery, &target, prompt.as_deref()).await {
            Ok(Some(receipt)) => {
                delivery.close(&target, AttemptResult::Delivered(short(&receipt.0))).await;
                return;
            }
            // A newer announcement arrived while this one waited.
            Ok(None) => continue,
            Err(error) => error,
        };
        failures = failures.saturating_add(1);
        let random = random::bytes::<1>().map_or(0, |[byte]| byte);
        let pause = pause(failures, random).max(error.retry_after.unwrap_or_default());
        let next =
            now(&delivery).plus(Millis(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)));
        if error.permanent {
            delivery.close(&target, AttemptResult::Failed(short(&error.problem))).await;
            return;
        }
        if next >= until(&delivery) {
            let why = format!("{}; given up, because the request has expired", error.problem);
            delivery.close(&target, AttemptResult::Failed(short(&why))).await;
            return;
        }
        let again = AttemptResult::Retry(short(&error.problem), next);
        delivery.write(&target.channel, again, false, Some(&target)).await;
        due = Some(next);
    }
}

fn due_at(tried: &DeliveryStatus) -> Option<Timestamp> {
    match tried.result {
        AttemptResult::Retry(_, at) => Some(at),
        AttemptResult::Delivered(_) | AttemptResult::Failed(_) => None,
    }
}

/// While a person is active in the inbox, interrupting channels wait a little, except for high
/// tiers.
fn keyboard_delay(delivery: &OutboxDelivery, target: &Target) -> Option<Timestamp> {
    let (rules, request) = (delivery.context.gate.rules(), delivery.request());
    let rings = rules
        .channels
        .get(&target.channel)
        .is_some_and(|channel_config| channel_config.limits.interrupts);
    let may_wait = request.current_tier() < Tier::Critical && !request.crisis;
    let asks = !matches!(delivery.outgoing.news, AnnouncementKind::Ended(_));
    let there = delivery.context.presence.is_there(now(delivery));
    (rings && may_wait && asks && there)
        .then(|| delivery.outgoing.at.plus(rules.oncall.at_keyboard))
}

fn now(delivery: &OutboxDelivery) -> Timestamp {
    delivery.context.gate.clock().now().at
}

/// When the announcement is no longer useful.
fn until(delivery: &OutboxDelivery) -> Timestamp {
    match delivery.outgoing.news {
        AnnouncementKind::Asked | AnnouncementKind::Escalated(_) => {
            delivery.request().schedule.deadline
        }
        AnnouncementKind::Ended(_) => delivery.outgoing.at.plus(END_NEWS_LIFETIME),
    }
}

/// Waits until a time. `false` if a newer announcement arrives.
async fn wait_until(delivery: &OutboxDelivery, due: Option<Timestamp>) -> bool {
    let wait = due.map_or(Millis(0), |due| now(delivery).until(due));
    unless_superseded(delivery, tokio::time::sleep(Duration::from_millis(wait.0))).await.is_some()
}

/// Runs work until it ends or a newer announcement arrives.
async fn unless_superseded<T>(
    delivery: &OutboxDelivery,
    doing: impl Future<Output = T>,
) -> Option<T> {
    let mut newest = delivery.announcements.newest.subscribe();
    tokio::select! {
        biased;
        _ = newest.wait_for(|newest| *newest > delivery.outgoing.seq) => None,
        done = doing => Some(done),
    }
}

/// One attempt; `None` if a newer announcement arrived first.
async fn send(
    delivery: &Arc<OutboxDelivery>,
    target: &Target,
    prompt: Option<&str>,
) -> Result<Option<Receipt>, ChannelError> {
    let open_channel =
        delivery.context.channels.get(&delivery.context.gate.rules(), &target.channel)?;
    let (tier, most) = (delivery.request().current_tier(), open_channel.channel.max_tier());
    if tier > most {
        return Err(ChannelError::permanent(format!(
            "the channel is limited to {}: raise `max_tier` in its configuration",
            most.label()
        )));
    }
    let left = Duration::from_millis(now(delivery).until(until(delivery)).0);
    let Some(wait) = open_channel.reserve(left) else {
        return Err(ChannelError::permanent("too much is announced through this channel"));
    };
    let turn = async {
        tokio::time::sleep(wait).await;
        open_channel.permits.acquire().await
    };
    let Some(permit) = unless_superseded(delivery, turn).await else { return Ok(None) };
    let sent = send_through(
        &open_channel,
        announcement(delivery, target, &open_channel),
        prompt.map(str::to_owned),
    )
    .await;
    drop(permit);
    open_channel.record_result(sent.as_ref().err(), now(delivery));
    sent.map(Some)
}

/// The channel runs in a task of its own, so that a panic affects nothing else.
async fn send_through(
    open_channel: &Arc<OpenChannel>,
    news: Announcement,
    prompt: Option<String>,
) -> Result<Receipt, ChannelError> {
    let channel = Arc::clone(&open_channel.channel);
    let mut sending = tokio::task::JoinSet::new();
    sending.spawn(async move {
        if matches!(news.news, AnnouncementEvent::Ended(_)) {
            let prompt = prompt.map(Receipt);
            channel.withdraw(prompt.as_ref(), &news).await.map(|()| Receipt::default())
        } else {
            channel.announce(&news).await
        }
    });
    match tokio::time::timeout(SEND_TIMEOUT, sending.join_next()).await {
        Ok(Some(Ok(spoken))) => spoken,
        Ok(_) => Err(ChannelError::again("the channel broke")),
        Err(_) => Err(ChannelError::again("the channel did not come back")),
    }
}

fn announcement(
    delivery: &OutboxDelivery,
    target: &Target,
    open_channel: &OpenChannel,
) -> Announcement {
    let request = delivery.request();
    let news = match delivery.outgoing.news {
        AnnouncementKind::Asked => AnnouncementEvent::Asked,
        AnnouncementKind::Escalated(_) if is_new_edit(delivery) => AnnouncementEvent::Asked,
        AnnouncementKind::Escalated(_) => AnnouncementEvent::Escalated,
        AnnouncementKind::Ended(state) => AnnouncementEvent::Ended(Ending {
            state,
            by: by(delivery),
            place: place(delivery),
            drill: drills::explain(&delivery.stored),
            edited: announcement::edited(&delivery.stored, open_channel.limits),
        }),
    };
    let level = match delivery.outgoing.news {
        AnnouncementKind::Escalated(level) => level.max(target.level),
        AnnouncementKind::Asked => target.level,
        AnnouncementKind::Ended(_) => request.level,
    };
    let (at, seq) = (delivery.outgoing.at, delivery.outgoing.seq);
    let about = AnnouncementSource { stored: &delivery.stored, news, at, seq, level };
    let context = &delivery.context;
    announcement::announcement(&context.gate, &context.buttons, open_channel, about)
}

/// Whether people are told again because a person edited the call.
fn is_new_edit(delivery: &OutboxDelivery) -> bool {
    let proposal = delivery.request().proposal.as_ref();
    proposal.is_some_and(|proposal| proposal.at == delivery.outgoing.at)
}

fn by(delivery: &OutboxDelivery) -> String {
    match delivery.request().decision.as_ref().map(|decision| &decision.by) {
        Some(Decider::People(people)) => people.join(", "),
        Some(Decider::Requester) => "the agent".to_owned(),
        Some(Decider::Policy) => "the rules".to_owned(),
        Some(Decider::Grant(_)) => "a standing permission".to_owned(),
        Some(Decider::Judge(model)) => format!("the model judge {model}"),
        Some(Decider::Deadline) | None => "the deadline".to_owned(),
    }
}

/// The channel of the decision as text, for readers on another channel.
fn place(delivery: &OutboxDelivery) -> String {
    let decision = delivery.request().decision.as_ref();
    match decision.map(|decision| decision.channel.as_str()) {
        None | Some("") => String::new(),
        Some("web") => "in the web inbox".to_owned(),
        Some("terminal") => "in the terminal".to_owned(),
        Some(other) => format!("through {other}"),
    }
}

fn short(text: &str) -> String {
    sanitize_within(text, MAX_DETAIL_CHARS).text.into_owned()
}
