//! One announcement: its channels, and when it is finished.

use std::sync::Arc;
use std::time::Duration;

use countersign_channels::webpush;
use countersign_store::{
    AnnouncementKind, AttemptResult, DeliveryAttempt, OutboxEntry, Store as _, WriteContext,
};
use countersign_store::{StoreError, StoredRequest};
use countersign_types::time::Clock as _;
use countersign_workflow::request::{EscalationLevel, Request};
use serde_json::json;
use tokio::sync::Mutex;

use super::context::{NotifierContext, RequestAnnouncements};
use super::plan::{self, Target};
use crate::config::EscalationLevels;
use crate::gate::PolicyDemands;

/// Between two attempts to read or write, while the store fails.
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// One announcement on its way to all its channels.
pub struct OutboxDelivery {
    pub context: Arc<NotifierContext>,
    pub announcements: Arc<RequestAnnouncements>,
    pub outgoing: OutboxEntry,
    pub stored: StoredRequest,
    closing: Mutex<Closing>,
}

/// The work that is left before the announcement leaves the outbox.
struct Closing {
    open: usize,
    results: Vec<(String, bool)>,
    done: bool,
}

/// The channels of a request: those of its escalation levels, and those that policy rules name.
pub fn escalation_levels(context: &NotifierContext, stored: &StoredRequest) -> EscalationLevels {
    let mut levels = usual_levels(context, stored);
    let (rules, now) = (context.gate.rules(), context.gate.clock().now().at);
    let route = rules.oncall.resolve_rotas(PolicyDemands::of_request(stored).route, now);
    let [first, ..] = &mut levels;
    for channel in route.into_iter().filter(|channel| rules.channels.contains_key(channel)) {
        if !first.contains(&channel) {
            first.push(channel);
        }
    }
    levels
}

/// The channels of a request without policy rules: none in quiet hours, unless its tier is high.
fn usual_levels(context: &NotifierContext, stored: &StoredRequest) -> EscalationLevels {
    let (rules, now) = (context.gate.rules(), context.gate.clock().now().at);
    let (tier, crisis) = (stored.request.current_tier(), stored.request.crisis);
    if rules.oncall.is_quiet(tier, crisis, now) {
        return EscalationLevels::default();
    }
    with_browsers(context, rules.oncall.levels_at(&rules.escalation, tier, crisis, now))
}

/// Subscribed browsers are notified even if no level names them.
pub fn with_browsers(context: &NotifierContext, mut levels: EscalationLevels) -> EscalationLevels {
    let named = levels.iter().flatten().any(|channel| channel == webpush::NAME);
    if context.channels.browsers().any() && !named {
        let [first, ..] = &mut levels;
        first.push(webpush::NAME.to_owned());
    }
    levels
}

pub fn level(outgoing: &OutboxEntry) -> EscalationLevel {
    match outgoing.news {
        AnnouncementKind::Escalated(level) => level,
        AnnouncementKind::Asked | AnnouncementKind::Ended(_) => EscalationLevel::First,
    }
}

impl OutboxDelivery {
    /// A delivery to this many channels; some may be finished already.
    pub fn new(
        context: Arc<NotifierContext>,
        announcements: Arc<RequestAnnouncements>,
        outgoing: OutboxEntry,
        stored: StoredRequest,
        open: usize,
    ) -> OutboxDelivery {
        let tried = &outgoing.tried;
        let results = tried
            .iter()
            .filter(|delivery| plan::finished(tried, &delivery.channel))
            .map(|delivery| (delivery.channel.clone(), plan::failed(tried, &delivery.channel)))
            .collect();
        let closing = Mutex::new(Closing { open, results, done: false });
        OutboxDelivery { context, announcements, outgoing, stored, closing }
    }

    /// Whether the announcement has left the outbox.
    pub async fn is_done(&self) -> bool {
        self.closing.lock().await.done
    }

    /// The request when the announcement was read from the outbox.
    pub fn request(&self) -> &Request {
        &self.stored.request
    }

    /// Records the final result of one channel. The last one removes the announcement from the
    /// outbox, unless the next level has to be notified early.
    pub async fn close(&self, target: &Target, result: AttemptResult) {
        let mut closing = self.closing.lock().await;
        let bad = matches!(result, AttemptResult::Failed(_));
        closing.results.push((target.channel.clone(), bad));
        closing.open = closing.open.saturating_sub(1);
        let done = closing.open == 0 && !self.escalates_early(&closing.results);
        self.write(&target.channel, result, done, Some(target)).await;
        closing.done = done;
    }

    fn escalates_early(&self, results: &[(String, bool)]) -> bool {
        let drill = self.stored.request.requester.is_drill();
        if drill || matches!(self.outgoing.news, AnnouncementKind::Ended(_)) {
            return false;
        }
        let known = |channel: &str| results.iter().any(|(name, _)| name == channel);
        let failed = |channel: &str| results.iter().any(|(name, bad)| *bad && name == channel);
        plan::targets(
            &escalation_levels(&self.context, &self.stored),
            level(&self.outgoing),
            failed,
        )
        .iter()
        .any(|target| !known(&target.channel))
    }

    /// Records an attempt; retries until the store accepts it.
    pub async fn write(
        &self,
        channel: &str,
        result: AttemptResult,
        done: bool,
        target: Option<&Target>,
    ) {
        write(&self.context, &self.outgoing, channel, result, done, target).await;
    }
}

pub async fn write(
    context: &NotifierContext,
    outgoing: &OutboxEntry,
    channel: &str,
    result: AttemptResult,
    done: bool,
    target: Option<&Target>,
) {
    let gate = &context.gate;
    let facts = target.map(|target| {
        if target.early {
            json!({ "level": target.level, "early": true }).to_string()
        } else {
            json!({ "level": target.level }).to_string()
        }
    });
    if let AttemptResult::Failed(why) = &result {
        tracing::warn!(request = %outgoing.request, channel, why, "no channel was notified");
    }
    loop {
        let (seq, channel) = (outgoing.seq, channel.to_owned());
        let attempt = DeliveryAttempt { seq, channel, result: result.clone(), done };
        let note = WriteContext { policy: gate.rules().hash, facts: facts.clone(), edited: None };
        match gate.store().record_attempt(attempt, note).await {
            // With these errors there is no announcement to remove.
            Ok(()) | Err(StoreError::NotFound(_) | StoreError::Closed) => return,
            Err(error) => pause_after(&error).await,
        }
    }
}

/// Waits before a failed store operation is retried; nothing is lost.
pub async fn pause_after(error: &StoreError) {
    tracing::error!(%error, "the notifier waits for the store");
    tokio::time::sleep(STORE_PAUSE).await;
}
