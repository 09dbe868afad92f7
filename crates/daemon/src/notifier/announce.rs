//! One announcement from the outbox: which channels it goes to, and when it is finished.

use std::sync::Arc;

use countersign_store::{
    AnnouncementKind, AttemptResult, DeliveryStatus, OutboxEntry, Store as _, StoredRequest,
};
use countersign_types::time::Clock as _;
use tokio::sync::OwnedRwLockReadGuard;
use tokio::task::JoinSet;

use super::burst::coalesce;
use super::context::{NotifierContext, RequestAnnouncements};
use super::deliver::deliver;
use super::outbox_delivery::{self, OutboxDelivery, escalation_levels, pause_after, with_browsers};
use super::plan::{self, PromptState, Target};
use crate::config::{EscalationLevels, NO_CHANNEL};

/// How the work on one announcement ended.
pub struct DeliveryEnd {
    /// Whether the announcement has left the outbox.
    pub done: bool,
}

/// A channel, and the message there that is withdrawn.
type TargetMessage = (Target, Option<String>);

/// Sends one announcement to every channel it is for.
pub async fn announce(
    context: Arc<NotifierContext>,
    announcements: Arc<RequestAnnouncements>,
    outgoing: OutboxEntry,
    turn: Option<OwnedRwLockReadGuard<()>>,
) -> DeliveryEnd {
    let has_ended = matches!(outgoing.news, AnnouncementKind::Ended(_));
    // A withdrawal waits until no channel is being asked any more.
    let alone =
        if has_ended { Some(Arc::clone(&announcements.turn).write_owned().await) } else { None };
    // With the default levels the targets are known without the request; often there are none.
    // Policy rules may name channels for a request.
    let rules = context.gate.rules();
    let default = || ask_targets(&with_browsers(&context, rules.escalation.clone()), &outgoing);
    let is_default = rules.oncall.is_default() && !context.gate.has_routes();
    let asked = (!has_ended && is_default).then(default);
    let nobody = match &asked {
        Some(targets) => targets.is_empty(),
        None => has_ended && no_channel_was_told(&context, &outgoing).await,
    };
    if nobody {
        finish_without_channels(&context, &outgoing).await;
        return DeliveryEnd { done: true };
    }
    // A row without its request is left to the next sweep, so that it is not retried forever.
    let Some(stored) = request_of(&context, &outgoing).await else {
        return DeliveryEnd { done: true };
    };
    let mut targets = match asked {
        Some(targets) => targets,
        None if has_ended => withdraw_targets(&context, &outgoing, &stored).await,
        None => ask_targets(&escalation_levels(&context, &stored), &outgoing),
    };
    // A drill does not escalate.
    targets.retain(|(target, _)| !(target.early && stored.request.requester.is_drill()));
    if targets.is_empty() {
        finish_without_channels(&context, &outgoing).await;
        return DeliveryEnd { done: true };
    }
    let channels = targets.iter().map(|(target, _)| target);
    if coalesce(&context, &outgoing, &stored, channels).await {
        return DeliveryEnd { done: true };
    }
    let open = targets.len();
    let delivery = OutboxDelivery::new(context, announcements, outgoing, stored, open);
    let done = deliver_to_all(delivery, targets).await;
    drop((turn, alone));
    DeliveryEnd { done }
}

/// Sends to all channels in parallel. Returns whether the announcement has left the outbox.
async fn deliver_to_all(delivery: OutboxDelivery, targets: Vec<TargetMessage>) -> bool {
    let delivery = Arc::new(delivery);
    let mut channels = JoinSet::new();
    for (target, message) in targets {
        channels.spawn(deliver(Arc::clone(&delivery), target, message));
    }
    while channels.join_next().await.is_some() {}
    delivery.is_done().await
}

/// Records that there was no channel to tell, and removes the announcement from the outbox.
async fn finish_without_channels(context: &NotifierContext, outgoing: &OutboxEntry) {
    let now = context.gate.clock().now().at;
    let result = AttemptResult::Retry("there is no channel to notify".to_owned(), now);
    outbox_delivery::write(context, outgoing, NO_CHANNEL, result, true, None).await;
}

/// The request that an announcement is about; waits while the store fails.
async fn request_of(context: &NotifierContext, outgoing: &OutboxEntry) -> Option<StoredRequest> {
    loop {
        match context.gate.store().request(outgoing.request).await {
            Ok(stored) => return stored,
            Err(error) => pause_after(&error).await,
        }
    }
}

/// Whether no channel can show this request: none is configured, and none was tried.
async fn no_channel_was_told(context: &NotifierContext, outgoing: &OutboxEntry) -> bool {
    let rules = context.gate.rules();
    rules.oncall.is_default()
        && rules.escalation.iter().all(Vec::is_empty)
        && deliveries(context, outgoing).await.iter().all(|delivery| delivery.channel == NO_CHANNEL)
}

async fn deliveries(context: &NotifierContext, outgoing: &OutboxEntry) -> Vec<DeliveryStatus> {
    loop {
        match context.gate.store().deliveries(outgoing.request).await {
            Ok(deliveries) => return deliveries,
            Err(error) => pause_after(&error).await,
        }
    }
}

/// Which channels are asked, of those that are not finished.
fn ask_targets(levels: &EscalationLevels, outgoing: &OutboxEntry) -> Vec<TargetMessage> {
    let tried = &outgoing.tried;
    plan::targets(levels, outbox_delivery::level(outgoing), |channel| plan::failed(tried, channel))
        .into_iter()
        .filter(|target| !plan::finished(tried, &target.channel))
        .map(|target| (target, None))
        .collect()
}

/// The channels that may show a prompt that has ended.
async fn withdraw_targets(
    context: &NotifierContext,
    outgoing: &OutboxEntry,
    stored: &StoredRequest,
) -> Vec<TargetMessage> {
    let deliveries = deliveries(context, outgoing).await;
    let level = stored.request.level;
    let mut targets = plan::targets(&escalation_levels(context, stored), level, |_| false);
    for delivery in &deliveries {
        let channel = &delivery.channel;
        if channel != NO_CHANNEL && !targets.iter().any(|target| target.channel == *channel) {
            targets.push(Target { channel: channel.clone(), level, early: false });
        }
    }
    // Before a restart the daemon may have sent a message without recording it.
    let unknown = stored.request.schedule.created < context.started;
    targets
        .into_iter()
        .filter(|target| !plan::finished(&outgoing.tried, &target.channel))
        .filter_map(|target| match plan::prompt(&deliveries, &target.channel, unknown) {
            PromptState::NotShown => None,
            PromptState::Unknown => Some((target, None)),
            PromptState::Named(name) => Some((target, Some(name))),
        })
        .collect()
}
