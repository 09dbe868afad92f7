//! Several questions of one session are announced as one message: the digest. After it, the session
//! is quiet until its questions are answered; HIGH and CRITICAL ones are announced one by one.

use std::collections::HashSet;

use countersign_store::{
    AnnouncementKind, AttemptResult, OutboxEntry, RequestQuery, Store as _, StoredRequest,
};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Clock as _;
use countersign_workflow::request::State;

use super::context::NotifierContext;
use super::digest::send_notice;
use super::outbox_delivery;
use super::plan::Target;
use super::told_bursts::BurstStep;
use crate::config::NO_CHANNEL;
use crate::gate::{PolicyDemands, burst_key, bursts};

/// How many pending questions of a session are looked at.
const MOST: u32 = 200;

/// Announces a question as a part of its burst. False if it has to be announced on its own.
pub async fn coalesce(
    context: &NotifierContext,
    outgoing: &OutboxEntry,
    stored: &StoredRequest,
    targets: impl Iterator<Item = &Target>,
) -> bool {
    let from = context.gate.rules().flood.digest_from;
    let key = burst_key(stored).filter(|_| from > 0 && may_join(stored, outgoing.news));
    let Some(key) = key else { return false };
    if !join_burst(context, (key, from), targets).await {
        return false;
    }
    let now = context.gate.clock().now().at;
    let result = AttemptResult::Retry("announced in a digest of its session".to_owned(), now);
    outbox_delivery::write(context, outgoing, NO_CHANNEL, result, true, None).await;
    true
}

/// Sends the digest of a session, or finds that one was sent. False if people were not told.
async fn join_burst(
    context: &NotifierContext,
    (key, from): ((&str, &str), u32),
    targets: impl Iterator<Item = &Target>,
) -> bool {
    loop {
        let Some(pending) = read_pending(context, key).await else { return false };
        let found = bursts(&pending, from);
        let ids: HashSet<Id> = pending.iter().map(|stored| stored.request.id).collect();
        match (context.bursts.step(key, &ids, !found.is_empty()), found.first()) {
            (BurstStep::Digest(digest), Some(burst)) => {
                let text = burst.message(&context.gate.rules().inbox);
                let highest = pending.iter().map(|stored| stored.request.current_tier()).max();
                let is_told = tell(context, targets, highest, &text).await;
                if is_told {
                    digest.sent();
                }
                return is_told;
            }
            (BurstStep::Wait(mut sent), _) => {
                // Its questions may be answered by then, so that they are read again.
                if sent.wait_for(|sent| *sent).await.is_err() {
                    return false;
                }
            }
            (BurstStep::Told, _) => return true,
            (BurstStep::Alone | BurstStep::Digest(_), _) => return false,
        }
    }
}

/// HIGH and CRITICAL are always announced on their own, and so is a question for which a policy
/// rule names channels: the digest may have gone to others.
fn may_join(stored: &StoredRequest, news: AnnouncementKind) -> bool {
    let is_end = matches!(news, AnnouncementKind::Ended(_));
    let has_route = !PolicyDemands::of_request(stored).route.is_empty();
    stored.request.current_tier() < Tier::High && !is_end && !has_route
}

/// The pending questions of a session; none if they cannot be read.
async fn read_pending(
    context: &NotifierContext,
    (agent, session): (&str, &str),
) -> Option<Vec<StoredRequest>> {
    let query = RequestQuery {
        state: Some(State::Pending),
        agent: Some(agent.to_owned()),
        session: Some(session.to_owned()),
        limit: MOST,
        ..RequestQuery::default()
    };
    context.gate.store().find(query).await.ok().map(|page| page.requests)
}

/// Sends the digest through the channels that may announce its highest tier. Returns whether one of
/// them took it.
async fn tell(
    context: &NotifierContext,
    targets: impl Iterator<Item = &Target>,
    highest: Option<Tier>,
    text: &str,
) -> bool {
    let mut arrived = false;
    for target in targets {
        let found = context.channels.get(&context.gate.rules(), &target.channel);
        if found.is_ok_and(|open| Some(open.channel.max_tier()) >= highest) {
            arrived |= send_notice(&context.gate, &context.channels, &target.channel, text).await;
        }
    }
    arrived
}
