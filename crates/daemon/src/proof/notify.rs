//! Delivers the alarm to people at once, at any hour.

use std::sync::Arc;

use countersign_channels::webpush;
use countersign_types::tier::Tier;
use countersign_types::time::Clock as _;
use tokio::task::JoinSet;

use crate::gate::Gate;
use crate::notifier::{ChannelPool, digest};

/// Notifies the channels for CRITICAL calls, up to the administrators, also in quiet hours. Returns
/// whether any channel delivered it.
pub async fn notify(gate: &Arc<Gate>, channels: &Arc<ChannelPool>, text: &str) -> bool {
    let (rules, now) = (gate.rules(), gate.clock().now().at);
    let [first, next, administrators, _] =
        rules.oncall.levels_at(&rules.escalation, Tier::Critical, false, now);
    let mut names = first;
    let browsers = channels.browsers().any().then(|| webpush::NAME.to_owned());
    for name in next.into_iter().chain(administrators).chain(browsers) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    // In parallel: a failing channel must not delay the others.
    let mut sending = JoinSet::new();
    for name in names {
        let (gate, channels, text) = (Arc::clone(gate), Arc::clone(channels), text.to_owned());
        sending.spawn(async move { digest::send_notice(&gate, &channels, &name, &text).await });
    }
    let mut delivered = false;
    while let Some(arrived) = sending.join_next().await {
        delivered |= arrived.unwrap_or(false);
    }
    delivered
}
