//! After the quiet hours: one message that says what nobody was disturbed for.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use countersign_channels::{Announcement, webpush};
use countersign_store::{RequestQuery, Store as _, StoreError};
use countersign_types::tier::Tier;
use countersign_types::time::{Clock as _, Timestamp};
use countersign_workflow::request::State;
use tokio::task::JoinSet;

use super::Lines;
use crate::config::duty::Duty;
use crate::doors::{self, Stop};
use crate::gate::Gate;

/// How often the clock is looked at.
const LOOK: Duration = Duration::from_secs(15);
/// How often a notice is tried through a channel.
const TRIES: u32 = 5;
/// Quiet hours are looked for so many minutes back.
const DAY: i64 = 24 * 60;
/// So many pages of 500 requests are counted; more is said to be more.
const PAGES: u32 = 20;

/// Watches the quiet hours come and go until the daemon stops.
pub async fn run(gate: Arc<Gate>, lines: Arc<Lines>, mut stop: Stop) {
    let mut since: Option<Timestamp> = None;
    loop {
        let (rules, now) = (gate.rules(), gate.clock().now().at);
        match (rules.duty.is_quiet_hour(now), since) {
            (true, None) => since = Some(began(&rules.duty, now)),
            (false, Some(began)) => {
                since = None;
                match summary(&gate, began).await {
                    Ok(Some(text)) => tokio::select! {
                        () = tell(&gate, &lines, &text) => {}
                        () = doors::stopped(&mut stop) => return,
                    },
                    Ok(None) => {}
                    Err(error) => tracing::error!(%error, "the digest could not be counted"),
                }
            }
            (true, Some(_)) | (false, None) => {}
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = doors::stopped(&mut stop) => return,
        }
    }
}

/// When the quiet hours that hold now began, to the minute: it may have been before we started.
fn began(duty: &Duty, now: Timestamp) -> Timestamp {
    let minute = now.0 - now.0.rem_euclid(60_000);
    let earlier = (0..DAY).map(|minutes| Timestamp(minute - minutes * 60_000));
    earlier.take_while(|&at| duty.is_quiet_hour(at)).last().unwrap_or(now)
}

/// What came since then that nobody was disturbed for; nothing if there was nothing.
pub async fn summary(gate: &Gate, since: Timestamp) -> Result<Option<String>, StoreError> {
    let (mut counts, mut before) = (Counts::default(), None);
    for _ in 0..PAGES {
        let query = RequestQuery { before, limit: 500, ..RequestQuery::default() };
        let page = gate.store().find(query).await?;
        for stored in &page.requests {
            let request = &stored.request;
            if request.plan.created < since {
                return Ok(counts.say());
            }
            if request.tier <= Tier::Medium && !request.crisis && !request.requester.is_drill() {
                counts.add(request.state);
            }
        }
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    Ok(counts.say())
}

#[derive(Debug, Default)]
struct Counts {
    waiting: u32,
    approved: u32,
    denied: u32,
    expired: u32,
    taken_back: u32,
}

impl Counts {
    fn add(&mut self, state: State) {
        let count = match state {
            State::Pending => &mut self.waiting,
            State::Approved => &mut self.approved,
            State::Denied => &mut self.denied,
            State::Expired => &mut self.expired,
            State::Cancelled => &mut self.taken_back,
        };
        *count = count.saturating_add(1);
    }

    fn say(&self) -> Option<String> {
        let parts = [
            (self.waiting, "still waiting"),
            (self.approved, "approved"),
            (self.denied, "denied"),
            (self.expired, "denied because nobody answered"),
            (self.taken_back, "taken back"),
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

/// Tells it to whom the rules name.
pub async fn tell(gate: &Gate, lines: &Lines, text: &str) {
    for name in gate.rules().duty.digest(gate.clock().now().at) {
        tell_one(gate, lines, &name, text).await;
    }
}

/// Tells something that everybody should know through every channel: those of the ladder, those
/// that are set up, and browsers. Quiet hours do not hold for it.
pub async fn broadcast(gate: &Arc<Gate>, lines: &Arc<Lines>, text: &str) {
    let rules = gate.rules();
    // The desktop's notifications are always set up, but only sent where the ladder names them.
    let set_up = rules.channels.keys().filter(|name| *name != "desktop");
    let browsers = lines.browsers().any().then(|| webpush::NAME.to_owned());
    let named = rules.ladder.iter().flatten().filter(|name| rules.channels.contains_key(*name));
    let names: BTreeSet<String> = named.chain(set_up).cloned().chain(browsers).collect();
    let mut sending = JoinSet::new();
    for name in names {
        let (gate, lines, text) = (Arc::clone(gate), Arc::clone(lines), text.to_owned());
        sending.spawn(async move { tell_one(&gate, &lines, &name, &text).await });
    }
    sending.join_all().await;
}

/// Tells something that is about no request through a channel. Whether it arrived.
pub async fn tell_one(gate: &Gate, lines: &Lines, channel: &str, text: &str) -> bool {
    let rules = gate.rules();
    let notice = Announcement::notice(text.to_owned(), gate.clock().now().at, rules.inbox.clone());
    for attempt in 1..=TRIES {
        let sent = match lines.get(&rules, channel) {
            Ok(line) => {
                let sent = line.channel.announce(&notice).await;
                line.went(sent.as_ref().err(), gate.clock().now().at);
                sent.map(|_| ())
            }
            Err(error) => Err(error),
        };
        let Err(error) = sent else { return true };
        tracing::warn!(channel, attempt, why = error.problem, "a notice was not sent");
        if error.permanent {
            return false;
        }
        tokio::time::sleep(error.retry_after.unwrap_or(LOOK)).await;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_hours_began_when_they_began_and_not_when_we_started() {
        let folder = tempfile::tempdir().unwrap();
        let text = "[ladder]\ntime_zone = \"UTC\"\n[quiet]\nfrom = \"22:00\"\nto = \"07:00\"\n";
        let duty = crate::courier::rig::rules(folder.path(), text).duty;
        let clock = |text: &str| Timestamp::parse(text).unwrap();
        let three = clock("2026-11-17T03:00:20Z");
        assert_eq!(began(&duty, three), clock("2026-11-16T22:00:00Z"));
        assert_eq!(began(&duty, clock("2026-11-16T22:00:00Z")), clock("2026-11-16T22:00:00Z"));
    }

    #[test]
    fn it_says_what_there_was_and_nothing_about_nothing() {
        let mut counts = Counts::default();
        assert_eq!(counts.say(), None);
        counts.add(State::Expired);
        let one = "While it was quiet, 1 call was asked about: 1 denied because nobody answered.";
        assert_eq!(counts.say().as_deref(), Some(one));
        counts.add(State::Approved);
        counts.add(State::Expired);
        let three = "While it was quiet, 3 calls were asked about: 1 approved, 2 denied because \
                     nobody answered.";
        assert_eq!(counts.say().as_deref(), Some(three));
    }
}
