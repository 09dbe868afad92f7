//! One announcement: to whom it goes, and when it is done with.

use std::sync::Arc;
use std::time::Duration;

use countersign_channels::webpush;
use countersign_store::{
    AnnouncementKind, AttemptResult, DeliveryAttempt, DeliveryStatus, OutboxEntry, Store as _,
    WriteContext,
};
use countersign_store::{StoreError, StoredRequest};
use countersign_types::time::Clock as _;
use countersign_workflow::request::{Request, Rung};
use serde_json::json;
use tokio::sync::{Mutex, OwnedRwLockReadGuard};
use tokio::task::JoinSet;

use super::deliver::deliver;
use super::plan::{self, Prompt, Target};
use super::{Courier, Story};
use crate::config::Ladder;

/// Between two attempts to read or write, while the store fails.
const STORE_PAUSE: Duration = Duration::from_secs(1);
/// In whose name it is recorded that nobody had to be told.
pub const NOBODY: &str = "courier";

/// How a row ended here.
pub struct Ended {
    /// Whether it is struck off the outbox.
    pub done: bool,
}

/// One announcement on its way to all its channels.
pub struct Row {
    pub courier: Arc<Courier>,
    pub story: Arc<Story>,
    pub outgoing: OutboxEntry,
    pub stored: StoredRequest,
    closing: Mutex<Closing>,
}

struct Closing {
    open: usize,
    results: Vec<(String, bool)>,
    done: bool,
}

/// Takes one announcement to everybody it is for.
pub async fn announce(
    courier: Arc<Courier>,
    story: Arc<Story>,
    outgoing: OutboxEntry,
    turn: Option<OwnedRwLockReadGuard<()>>,
) -> Ended {
    let over = matches!(outgoing.news, AnnouncementKind::Ended(_));
    // Who withdraws waits until nobody asks any more.
    let alone = if over { Some(Arc::clone(&story.turn).write_owned().await) } else { None };
    // To whom an asking goes is known without the request; often there is nobody.
    let rules = courier.gate.rules();
    let usual = || askings(&with_browsers(&courier, rules.ladder.clone()), &outgoing);
    let asked = (!over && rules.duty.is_usual()).then(usual);
    let nobody = match &asked {
        Some(targets) => targets.is_empty(),
        None => over && nobody_was_told(&courier, &outgoing).await,
    };
    if nobody {
        let now = courier.gate.clock().now().at;
        let result = AttemptResult::Retry("there is nobody to tell".to_owned(), now);
        write(&courier, &outgoing, NOBODY, result, true, None).await;
        return Ended { done: true };
    }
    let stored = loop {
        match courier.gate.store().request(outgoing.request).await {
            Ok(Some(stored)) => break stored,
            // A row about nothing: left to the next sweep, not tried at once for ever.
            Ok(None) => return Ended { done: true },
            Err(error) => pause_after(&error).await,
        }
    };
    let mut targets = match asked {
        Some(targets) => targets,
        None if over => withdrawals(&courier, &outgoing, &stored).await,
        None => askings(&ladder(&courier, &stored), &outgoing),
    };
    // For a drill nobody further is called.
    targets.retain(|(target, _)| !(target.early && stored.request.requester.is_drill()));
    let tried = &outgoing.tried;
    let results = tried
        .iter()
        .filter(|delivery| plan::finished(tried, &delivery.channel))
        .map(|delivery| (delivery.channel.clone(), plan::failed(tried, &delivery.channel)))
        .collect();
    let closing = Mutex::new(Closing { open: targets.len(), results, done: false });
    let row = Arc::new(Row { courier, story, outgoing, stored, closing });
    if targets.is_empty() {
        let now = row.courier.gate.clock().now().at;
        let result = AttemptResult::Retry("there is nobody to tell".to_owned(), now);
        row.write(NOBODY, result, true, None).await;
        return Ended { done: true };
    }
    let mut channels = JoinSet::new();
    for (target, prompt) in targets {
        channels.spawn(deliver(Arc::clone(&row), target, prompt));
    }
    while channels.join_next().await.is_some() {}
    drop((turn, alone));
    Ended { done: row.closing.lock().await.done }
}

/// Whether no channel can show a prompt of this request: none is set up, and none was tried.
async fn nobody_was_told(courier: &Courier, outgoing: &OutboxEntry) -> bool {
    let rules = courier.gate.rules();
    rules.duty.is_usual()
        && rules.ladder.iter().all(Vec::is_empty)
        && deliveries(courier, outgoing).await.iter().all(|delivery| delivery.channel == NOBODY)
}

async fn deliveries(courier: &Courier, outgoing: &OutboxEntry) -> Vec<DeliveryStatus> {
    loop {
        match courier.gate.store().deliveries(outgoing.request).await {
            Ok(deliveries) => return deliveries,
            Err(error) => pause_after(&error).await,
        }
    }
}

/// Who is asked about this request now: in quiet hours nobody, unless it is grave.
fn ladder(courier: &Courier, stored: &StoredRequest) -> Ladder {
    let (rules, now) = (courier.gate.rules(), courier.gate.clock().now().at);
    let (tier, crisis) = (stored.request.tier, stored.request.crisis);
    if rules.duty.is_quiet(tier, crisis, now) {
        return Ladder::default();
    }
    with_browsers(courier, rules.duty.ladder(&rules.ladder, tier, crisis, now))
}

/// Who let their browser be called wants to be called, even where no rung says so.
fn with_browsers(courier: &Courier, mut ladder: Ladder) -> Ladder {
    let named = ladder.iter().flatten().any(|channel| channel == webpush::NAME);
    if courier.lines.browsers().any() && !named {
        let [first, ..] = &mut ladder;
        first.push(webpush::NAME.to_owned());
    }
    ladder
}

/// Which channels are asked, of those that are not finished.
fn askings(ladder: &Ladder, outgoing: &OutboxEntry) -> Vec<(Target, Option<String>)> {
    let tried = &outgoing.tried;
    plan::targets(ladder, rung(outgoing), |channel| plan::failed(tried, channel))
        .into_iter()
        .filter(|target| !plan::finished(tried, &target.channel))
        .map(|target| (target, None))
        .collect()
}

/// Which channels may show a prompt that is over now.
async fn withdrawals(
    courier: &Courier,
    outgoing: &OutboxEntry,
    stored: &StoredRequest,
) -> Vec<(Target, Option<String>)> {
    let deliveries = deliveries(courier, outgoing).await;
    let rung = stored.request.rung;
    let mut targets = plan::targets(&ladder(courier, stored), rung, |_| false);
    for delivery in &deliveries {
        let channel = &delivery.channel;
        if channel != NOBODY && !targets.iter().any(|target| target.channel == *channel) {
            targets.push(Target { channel: channel.clone(), rung, early: false });
        }
    }
    // What an earlier life of the daemon sent may never have been written down.
    let unknown = stored.request.plan.created < courier.started;
    targets
        .into_iter()
        .filter(|target| !plan::finished(&outgoing.tried, &target.channel))
        .filter_map(|target| match plan::prompt(&deliveries, &target.channel, unknown) {
            Prompt::Nowhere => None,
            Prompt::Perhaps => Some((target, None)),
            Prompt::Named(name) => Some((target, Some(name))),
        })
        .collect()
}

fn rung(outgoing: &OutboxEntry) -> Rung {
    match outgoing.news {
        AnnouncementKind::Escalated(rung) => rung,
        AnnouncementKind::Asked | AnnouncementKind::Ended(_) => Rung::First,
    }
}

impl Row {
    /// The request as it was when this was taken from the outbox.
    pub fn request(&self) -> &Request {
        &self.stored.request
    }

    /// The last word about one channel. The row is struck off with the last of these, unless the
    /// next rung has to be asked early.
    pub async fn close(&self, target: &Target, result: AttemptResult) {
        let mut closing = self.closing.lock().await;
        let bad = matches!(result, AttemptResult::Failed(_));
        closing.results.push((target.channel.clone(), bad));
        closing.open = closing.open.saturating_sub(1);
        let done = closing.open == 0 && !self.asks_further(&closing.results);
        self.write(&target.channel, result, done, Some(target)).await;
        closing.done = done;
    }

    fn asks_further(&self, results: &[(String, bool)]) -> bool {
        let drill = self.stored.request.requester.is_drill();
        if drill || matches!(self.outgoing.news, AnnouncementKind::Ended(_)) {
            return false;
        }
        let known = |channel: &str| results.iter().any(|(name, _)| name == channel);
        let failed = |channel: &str| results.iter().any(|(name, bad)| *bad && name == channel);
        plan::targets(&ladder(&self.courier, &self.stored), rung(&self.outgoing), failed)
            .iter()
            .any(|target| !known(&target.channel))
    }

    /// Writes an attempt down; tries until the store takes it.
    pub async fn write(
        &self,
        channel: &str,
        result: AttemptResult,
        done: bool,
        target: Option<&Target>,
    ) {
        write(&self.courier, &self.outgoing, channel, result, done, target).await;
    }
}

async fn write(
    courier: &Courier,
    outgoing: &OutboxEntry,
    channel: &str,
    result: AttemptResult,
    done: bool,
    target: Option<&Target>,
) {
    let gate = &courier.gate;
    let facts = target.map(|target| {
        if target.early {
            json!({ "rung": target.rung, "early": true }).to_string()
        } else {
            json!({ "rung": target.rung }).to_string()
        }
    });
    if let AttemptResult::Failed(why) = &result {
        tracing::warn!(request = %outgoing.request, channel, why, "nobody was told");
    }
    loop {
        let (seq, channel) = (outgoing.seq, channel.to_owned());
        let attempt = DeliveryAttempt { seq, channel, result: result.clone(), done };
        let note = WriteContext { policy: gate.rules().hash, facts: facts.clone(), edited: None };
        match gate.store().record_attempt(attempt, note).await {
            // An error of these kinds: nothing is there to strike off.
            Ok(()) | Err(StoreError::NotFound(_) | StoreError::Closed) => return,
            Err(error) => pause_after(&error).await,
        }
    }
}

/// The store fails: nothing is lost, but there is no hurry either.
pub async fn pause_after(error: &StoreError) {
    tracing::error!(%error, "the courier waits for the store");
    tokio::time::sleep(STORE_PAUSE).await;
}
