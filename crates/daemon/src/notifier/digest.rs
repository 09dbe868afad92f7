//! The digest after quiet hours: one message about the requests that notified no channel.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use countersign_channels::{Announcement, webpush};
use countersign_store::{RequestQuery, Store as _, StoreError};
use countersign_types::tier::Tier;
use countersign_types::time::{Clock as _, Timestamp};
use countersign_workflow::request::State;
use tokio::task::JoinSet;

use super::ChannelPool;
use crate::config::oncall::OnCall;
use crate::gate::Gate;
use crate::shutdown::{Stop, stopped};

/// How often the clock is checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(15);
/// The number of attempts to send a notice through a channel.
const MAX_ATTEMPTS: u32 = 5;
/// How many minutes back the start of the quiet hours is searched.
const DAY: i64 = 24 * 60;
/// The most pages of 500 requests that are counted; a larger number is shown as "more than".
const PAGES: u32 = 20;

/// Sends a digest after each period of quiet hours, until the daemon stops.
pub async fn run(gate: Arc<Gate>, channels: Arc<ChannelPool>, mut stop: Stop) {
    let mut since: Option<Timestamp> = None;
    loop {
        let (rules, now) = (gate.rules(), gate.clock().now().at);
        match (rules.oncall.is_quiet_hour(now), since) {
            (true, None) => since = Some(quiet_since(&rules.oncall, now)),
            (false, Some(quiet_since)) => {
                since = None;
                match summary(&gate, quiet_since).await {
                    Ok(Some(text)) => tokio::select! {
                        () = tell(&gate, &channels, &text) => {}
                        () = stopped(&mut stop) => return,
                    },
                    Ok(None) => {}
                    Err(error) => tracing::error!(%error, "the digest could not be counted"),
                }
            }
            (true, Some(_)) | (false, None) => {}
        }
        tokio::select! {
            () = tokio::time::sleep(CHECK_INTERVAL) => {}
            () = stopped(&mut stop) => return,
        }
    }
}

/// When the current quiet hours began, to the minute; it may be before the daemon started.
fn quiet_since(oncall: &OnCall, now: Timestamp) -> Timestamp {
    let minute = now.0 - now.0.rem_euclid(60_000);
    let earlier = (0..DAY).map(|minutes| Timestamp(minute - minutes * 60_000));
    earlier.take_while(|&at| oncall.is_quiet_hour(at)).last().unwrap_or(now)
}

/// The digest of the requests since then that notified no channel; none without such requests.
pub async fn summary(gate: &Gate, since: Timestamp) -> Result<Option<String>, StoreError> {
    let (mut counts, mut before) = (Counts::default(), None);
    for _ in 0..PAGES {
        let query = RequestQuery { before, limit: 500, ..RequestQuery::default() };
        let page = gate.store().find(query).await?;
        for stored in &page.requests {
            let request = &stored.request;
            if request.schedule.created < since {
                return Ok(counts.text());
            }
            if request.current_tier() <= Tier::Medium
                && !request.crisis
                && !request.requester.is_drill()
            {
                counts.add(request.state);
            }
        }
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    Ok(counts.text())
}

#[derive(Debug, Default)]
struct Counts {
    pending: u32,
    approved: u32,
    denied: u32,
    expired: u32,
    cancelled: u32,
}

impl Counts {
    fn add(&mut self, state: State) {
        let count = match state {
            State::Pending => &mut self.pending,
            State::Approved => &mut self.approved,
            State::Denied => &mut self.denied,
            State::Expired => &mut self.expired,
            State::Cancelled => &mut self.cancelled,
        };
        *count = count.saturating_add(1);
    }

    fn text(&self) -> Option<String> {
        let parts = [
            (self.pending, "pending"),
            (self.approved, "approved"),
            (self.denied, "denied"),
            (self.expired, "expired without an answer"),
            (self.cancelled, "cancelled"),
        ];
        let total = parts.iter().map(|(count, _)| count).sum::<u32>();
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let calls = if total == 1 { "1 call was asked about" } else { "calls were asked about" };
        let calls = if total == 1 { calls.to_owned() } else { format!("{total} {calls}") };
        (total > 0).then(|| format!("While it was quiet, {calls}: {}.", parts.join(", ")))
    }
}

/// Sends a text to the digest channels.
pub async fn tell(gate: &Gate, channels: &ChannelPool, text: &str) {
    for name in gate.rules().oncall.digest(gate.clock().now().at) {
        send_notice(gate, channels, &name, text).await;
    }
}

/// Sends a notice through every channel: those of the escalation levels, all configured ones, and
/// browsers. Quiet hours do not apply.
pub async fn broadcast(gate: &Arc<Gate>, channels: &Arc<ChannelPool>, text: &str) {
    let rules = gate.rules();
    // The desktop channel always exists, but is only used if an escalation level names it.
    let channel_config = rules.channels.keys().filter(|name| *name != "desktop");
    let browsers = channels.browsers().any().then(|| webpush::NAME.to_owned());
    let named = rules.escalation.iter().flatten().filter(|name| rules.channels.contains_key(*name));
    let names: BTreeSet<String> = named.chain(channel_config).cloned().chain(browsers).collect();
    let mut sending = JoinSet::new();
    for name in names {
        let (gate, channels, text) = (Arc::clone(gate), Arc::clone(channels), text.to_owned());
        sending.spawn(async move { send_notice(&gate, &channels, &name, &text).await });
    }
    sending.join_all().await;
}

/// Sends a notice through every channel; the caller does not wait for it.
pub fn broadcast_in_background(gate: &Arc<Gate>, channels: &Arc<ChannelPool>, text: String) {
    let (gate, channels) = (Arc::clone(gate), Arc::clone(channels));
    tokio::spawn(async move { broadcast(&gate, &channels, &text).await });
}

/// Sends a notice that belongs to no request through a channel. Returns whether it arrived.
pub async fn send_notice(gate: &Gate, channels: &ChannelPool, channel: &str, text: &str) -> bool {
    let rules = gate.rules();
    let notice = Announcement::notice(text.to_owned(), gate.clock().now().at, rules.inbox.clone());
    for attempt in 1..=MAX_ATTEMPTS {
        let sent = match channels.get(&rules, channel) {
            Ok(open_channel) => {
                let sent = open_channel.channel.announce(&notice).await;
                open_channel.record_result(sent.as_ref().err(), gate.clock().now().at);
                sent.map(|_| ())
            }
            Err(error) => Err(error),
        };
        let Err(error) = sent else { return true };
        tracing::warn!(channel, attempt, why = error.problem, "a notice was not sent");
        if error.permanent {
            return false;
        }
        tokio::time::sleep(error.retry_after.unwrap_or(CHECK_INTERVAL)).await;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_hours_start_before_the_daemon_did() {
        let folder = tempfile::tempdir().unwrap();
        let text = "[escalation]\ntime_zone = \"UTC\"\n[quiet]\nfrom = \"22:00\"\nto = \"07:00\"\n";
        let duty = crate::notifier::test_notifier::rules(folder.path(), text).oncall;
        let clock = |text: &str| Timestamp::parse(text).unwrap();
        let three = clock("2026-11-17T03:00:20Z");
        assert_eq!(quiet_since(&duty, three), clock("2026-11-16T22:00:00Z"));
        assert_eq!(
            quiet_since(&duty, clock("2026-11-16T22:00:00Z")),
            clock("2026-11-16T22:00:00Z")
        );
    }

    #[test]
    fn the_digest_lists_only_what_happened() {
        let mut counts = Counts::default();
        assert_eq!(counts.text(), None);
        counts.add(State::Expired);
        let one = "While it was quiet, 1 call was asked about: 1 expired without an answer.";
        assert_eq!(counts.text().as_deref(), Some(one));
        counts.add(State::Approved);
        counts.add(State::Expired);
        let three = "While it was quiet, 3 calls were asked about: 1 approved, 2 expired \
                     without an answer.";
        assert_eq!(counts.text().as_deref(), Some(three));
    }
}
