//! One announcement through one channel: sent, sent again, given up, each written down.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use countersign_channels::{
    Announcement, AnnouncementEvent as Told, ChannelError, ChannelLimits, Ending, Receipt,
};
use countersign_store::{AnnouncementKind, AttemptResult, DeliveryStatus};
use countersign_text::sanitize::show_within;
use countersign_types::tier::Tier;
use countersign_types::time::{Clock as _, Span, Timestamp};
use countersign_workflow::request::Decider;

use super::lines::Line;
use super::plan::{NEVER_SENT, NOT_AGAIN, Target, pause};
use super::row::Row;
use super::tell::{self, About};
use crate::chance;
use crate::drills;

/// No channel may take longer than this, whatever it promised.
const LONGEST_SENDING: Duration = Duration::from_secs(90);
/// How long an end is worth telling.
const END_IS_NEWS: Span = Span::seconds(600);
/// The longest words of a failure, and the longest name of a message.
const WORDS: usize = 300;

/// Tells one channel, until it arrived, was given up, or there is newer news.
pub async fn deliver(row: Arc<Row>, target: Target, prompt: Option<String>) {
    let one_at_a_time = {
        let mut channels = row.story.channels.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(channels.entry(target.channel.clone()).or_default())
    };
    let _turn = one_at_a_time.lock().await;
    let before = row.outgoing.tried.iter().find(|tried| tried.channel == target.channel);
    let mut failures = before.map_or(0, |tried| tried.attempts);
    let mut due = before.and_then(due_at).or_else(|| keyboard(&row, &target));
    loop {
        if !wait_until(&row, due).await {
            let sent = failures > 0 || row.outgoing.at < row.courier.started;
            let why = if sent { NOT_AGAIN } else { NEVER_SENT }.to_owned();
            row.close(&target, AttemptResult::Retry(why, now(&row))).await;
            return;
        }
        let error = match send(&row, &target, prompt.as_deref()).await {
            Ok(Some(receipt)) => {
                row.close(&target, AttemptResult::Delivered(short(&receipt.0))).await;
                return;
            }
            // Newer news came while it waited for its turn.
            Ok(None) => continue,
            Err(error) => error,
        };
        failures = failures.saturating_add(1);
        let chance = chance::bytes::<1>().map_or(0, |[byte]| byte);
        let pause = pause(failures, chance).max(error.retry_after.unwrap_or_default());
        let next = now(&row).plus(Span(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)));
        if error.permanent {
            row.close(&target, AttemptResult::Failed(short(&error.problem))).await;
            return;
        }
        if next >= until(&row) {
            let why = format!("{}; given up, for it is too late", error.problem);
            row.close(&target, AttemptResult::Failed(short(&why))).await;
            return;
        }
        let again = AttemptResult::Retry(short(&error.problem), next);
        row.write(&target.channel, again, false, Some(&target)).await;
        due = Some(next);
    }
}

fn due_at(tried: &DeliveryStatus) -> Option<Timestamp> {
    match tried.result {
        AttemptResult::Retry(_, at) => Some(at),
        AttemptResult::Delivered(_) | AttemptResult::Failed(_) => None,
    }
}

/// While somebody sits at the inbox, the phone waits for them a little; never where it is grave.
fn keyboard(row: &Row, target: &Target) -> Option<Timestamp> {
    let (rules, request) = (row.courier.gate.rules(), row.request());
    let rings = rules.channels.get(&target.channel).is_some_and(|set_up| set_up.limits.interrupts);
    let may_wait = request.tier < Tier::Critical && !request.crisis;
    let asks = !matches!(row.outgoing.news, AnnouncementKind::Ended(_));
    let there = row.courier.presence.is_there(now(row));
    (rings && may_wait && asks && there).then(|| row.outgoing.at.plus(rules.duty.at_keyboard))
}

fn now(row: &Row) -> Timestamp {
    row.courier.gate.clock().now().at
}

/// After this moment nobody needs to hear of it.
fn until(row: &Row) -> Timestamp {
    match row.outgoing.news {
        AnnouncementKind::Asked | AnnouncementKind::Escalated(_) => row.request().plan.deadline,
        AnnouncementKind::Ended(_) => row.outgoing.at.plus(END_IS_NEWS),
    }
}

/// Waits for its time. `false` once there is newer news.
async fn wait_until(row: &Row, due: Option<Timestamp>) -> bool {
    let wait = due.map_or(Span(0), |due| now(row).until(due));
    unless_newer(row, tokio::time::sleep(Duration::from_millis(wait.0))).await.is_some()
}

/// Does something unless there is newer news, or as soon as there is.
async fn unless_newer<T>(row: &Row, doing: impl Future<Output = T>) -> Option<T> {
    let mut newest = row.story.newest.subscribe();
    tokio::select! {
        biased;
        _ = newest.wait_for(|newest| *newest > row.outgoing.seq) => None,
        done = doing => Some(done),
    }
}

/// One attempt; nothing if newer news came before it was made.
async fn send(
    row: &Arc<Row>,
    target: &Target,
    prompt: Option<&str>,
) -> Result<Option<Receipt>, ChannelError> {
    let line = row.courier.lines.get(&row.courier.gate.rules(), &target.channel)?;
    let (tier, most) = (row.request().tier, line.channel.max_tier());
    if tier > most {
        return Err(ChannelError::permanent(format!("it may carry at most {}", most.label())));
    }
    let left = Duration::from_millis(now(row).until(until(row)).0);
    let Some(wait) = line.wait(left) else {
        return Err(ChannelError::permanent("too much is announced through this channel"));
    };
    let turn = async {
        tokio::time::sleep(wait).await;
        line.room.acquire().await
    };
    let Some(room) = unless_newer(row, turn).await else { return Ok(None) };
    let sent =
        speak(&line, announcement(row, target, line.limits), prompt.map(str::to_owned)).await;
    drop(room);
    line.went(sent.as_ref().err(), now(row));
    sent.map(Some)
}

/// The channel speaks in a task of its own: if it breaks, nothing else does.
async fn speak(
    line: &Arc<Line>,
    news: Announcement,
    prompt: Option<String>,
) -> Result<Receipt, ChannelError> {
    let channel = Arc::clone(&line.channel);
    let mut speaking = tokio::task::JoinSet::new();
    speaking.spawn(async move {
        if matches!(news.news, Told::Ended(_)) {
            let prompt = prompt.map(Receipt);
            channel.withdraw(prompt.as_ref(), &news).await.map(|()| Receipt::default())
        } else {
            channel.announce(&news).await
        }
    });
    match tokio::time::timeout(LONGEST_SENDING, speaking.join_next()).await {
        Ok(Some(Ok(spoken))) => spoken,
        Ok(_) => Err(ChannelError::again("the channel broke")),
        Err(_) => Err(ChannelError::again("the channel did not come back")),
    }
}

fn announcement(row: &Row, target: &Target, limits: ChannelLimits) -> Announcement {
    let request = row.request();
    let news = match row.outgoing.news {
        AnnouncementKind::Asked => Told::Asked,
        AnnouncementKind::Escalated(_) => Told::Escalated,
        AnnouncementKind::Ended(state) => Told::Ended(Ending {
            state,
            by: by(row),
            place: place(row),
            drill: drills::words(&row.stored),
            edited: tell::edited(&row.stored, limits),
        }),
    };
    let rung = match row.outgoing.news {
        AnnouncementKind::Escalated(rung) => rung.max(target.rung),
        AnnouncementKind::Asked => target.rung,
        AnnouncementKind::Ended(_) => request.rung,
    };
    let (at, seq) = (row.outgoing.at, row.outgoing.seq);
    let about = About { stored: &row.stored, news, at, seq, rung };
    let courier = &row.courier;
    tell::announcement(&courier.gate, &courier.buttons, (&target.channel, limits), about)
}

fn by(row: &Row) -> String {
    match row.request().decision.as_ref().map(|decision| &decision.by) {
        Some(Decider::People(people)) => people.join(", "),
        Some(Decider::Requester) => "the agent".to_owned(),
        Some(Decider::Policy) => "the rules".to_owned(),
        Some(Decider::Grant(_)) => "a standing permission".to_owned(),
        Some(Decider::Deadline) | None => "the deadline".to_owned(),
    }
}

/// Where the last word was said, in words: whoever reads it may be looking elsewhere.
fn place(row: &Row) -> String {
    let decision = row.request().decision.as_ref();
    match decision.map(|decision| decision.channel.as_str()) {
        None | Some("") => String::new(),
        Some("web") => "in the web inbox".to_owned(),
        Some("terminal") => "in the terminal".to_owned(),
        Some(other) => format!("through {other}"),
    }
}

fn short(text: &str) -> String {
    show_within(text, WORDS).text.into_owned()
}
