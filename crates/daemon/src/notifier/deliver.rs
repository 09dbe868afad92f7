//! One announcement through one channel: sent, sent again, given up, each written down.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use countersign_channels::{Announcement, ChannelError, Ending, Limits, News as Told, Receipt};
use countersign_store::{AttemptResult, Delivery, News};
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

/// No channel may take longer than this, whatever it promised.
const SEND_TIMEOUT: Duration = Duration::from_secs(90);
/// How long an end is worth telling.
const END_NEWS_LIFETIME: Millis = Millis::from_seconds(600);
/// The longest words of a failure, and the longest name of a message.
const MAX_DETAIL_CHARS: usize = 300;

/// Tells one channel, until it arrived, was given up, or there is newer news.
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
            delivery.close(&target, AttemptResult::Again(why, now(&delivery))).await;
            return;
        }
        let error = match send(&delivery, &target, prompt.as_deref()).await {
            Ok(Some(receipt)) => {
                delivery.close(&target, AttemptResult::Arrived(short(&receipt.0))).await;
                return;
            }
            // Newer news came while it waited for its turn.
            Ok(None) => continue,
            Err(error) => error,
        };
        failures = failures.saturating_add(1);
        let random = random::bytes::<1>().map_or(0, |[byte]| byte);
        let pause = pause(failures, random).max(error.retry_after.unwrap_or_default());
        let next = now(&delivery).plus(Millis(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)));
        if error.permanent {
            delivery.close(&target, AttemptResult::Failed(short(&error.problem))).await;
            return;
        }
        if next >= until(&delivery) {
            let why = format!("{}; given up, for it is too late", error.problem);
            delivery.close(&target, AttemptResult::Failed(short(&why))).await;
            return;
        }
        let again = AttemptResult::Again(short(&error.problem), next);
        delivery.write(&target.channel, again, false, Some(&target)).await;
        due = Some(next);
    }
}

fn due_at(tried: &Delivery) -> Option<Timestamp> {
    match tried.result {
        AttemptResult::Again(_, at) => Some(at),
        AttemptResult::Arrived(_) | AttemptResult::Failed(_) => None,
    }
}

/// While somebody sits at the inbox, the phone waits for them a little; never where it is grave.
fn keyboard_delay(delivery: &OutboxDelivery, target: &Target) -> Option<Timestamp> {
    let (rules, request) = (delivery.context.gate.rules(), delivery.request());
    let rings = rules
        .channels
        .get(&target.channel)
        .is_some_and(|channel_config| channel_config.limits.rings);
    let may_wait = request.tier < Tier::Critical && !request.crisis;
    let asks = !matches!(delivery.outgoing.news, News::Ended(_));
    let there = delivery.context.presence.is_there(now(delivery));
    (rings && may_wait && asks && there)
        .then(|| delivery.outgoing.at.plus(rules.oncall.at_keyboard))
}

fn now(delivery: &OutboxDelivery) -> Timestamp {
    delivery.context.gate.clock().now().at
}

/// After this moment nobody needs to hear of it.
fn until(delivery: &OutboxDelivery) -> Timestamp {
    match delivery.outgoing.news {
        News::Asked | News::Climbed(_) => delivery.request().schedule.deadline,
        News::Ended(_) => delivery.outgoing.at.plus(END_NEWS_LIFETIME),
    }
}

/// Waits for its time. `false` once there is newer news.
async fn wait_until(delivery: &OutboxDelivery, due: Option<Timestamp>) -> bool {
    let wait = due.map_or(Millis(0), |due| now(delivery).until(due));
    unless_superseded(delivery, tokio::time::sleep(Duration::from_millis(wait.0))).await.is_some()
}

/// Does something unless there is newer news, or as soon as there is.
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

/// One attempt; nothing if newer news came before it was made.
async fn send(
    delivery: &Arc<OutboxDelivery>,
    target: &Target,
    prompt: Option<&str>,
) -> Result<Option<Receipt>, ChannelError> {
    let open_channel =
        delivery.context.channels.get(&delivery.context.gate.rules(), &target.channel)?;
    let (tier, most) = (delivery.request().tier, open_channel.channel.most());
    if tier > most {
        return Err(ChannelError::permanent(format!("it may carry at most {}", most.label())));
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
        announcement(delivery, target, open_channel.limits),
        prompt.map(str::to_owned),
    )
    .await;
    drop(permit);
    open_channel.record_result(sent.as_ref().err(), now(delivery));
    sent.map(Some)
}

/// The channel speaks in a task of its own: if it breaks, nothing else does.
async fn send_through(
    open_channel: &Arc<OpenChannel>,
    news: Announcement,
    prompt: Option<String>,
) -> Result<Receipt, ChannelError> {
    let channel = Arc::clone(&open_channel.channel);
    let mut sending = tokio::task::JoinSet::new();
    sending.spawn(async move {
        if matches!(news.news, Told::Ended(_)) {
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

fn announcement(delivery: &OutboxDelivery, target: &Target, limits: Limits) -> Announcement {
    let request = delivery.request();
    let news = match delivery.outgoing.news {
        News::Asked => Told::Asked,
        News::Climbed(_) => Told::Climbed,
        News::Ended(state) => Told::Ended(Ending {
            state,
            by: by(delivery),
            place: place(delivery),
            drill: drills::explain(&delivery.stored),
            edited: announcement::edited(&delivery.stored, limits),
        }),
    };
    let rung = match delivery.outgoing.news {
        News::Climbed(rung) => rung.max(target.rung),
        News::Asked => target.rung,
        News::Ended(_) => request.level,
    };
    let (at, seq) = (delivery.outgoing.at, delivery.outgoing.seq);
    let about = AnnouncementSource { stored: &delivery.stored, news, at, seq, rung };
    let context = &delivery.context;
    announcement::announcement(&context.gate, &context.buttons, (&target.channel, limits), about)
}

fn by(delivery: &OutboxDelivery) -> String {
    match delivery.request().decision.as_ref().map(|decision| &decision.by) {
        Some(Decider::People(people)) => people.join(", "),
        Some(Decider::Requester) => "the agent".to_owned(),
        Some(Decider::Policy) => "the rules".to_owned(),
        Some(Decider::Grant(_)) => "a standing permission".to_owned(),
        Some(Decider::Deadline) | None => "the deadline".to_owned(),
    }
}

/// Where the last word was said, in words: whoever reads it may be looking elsewhere.
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
