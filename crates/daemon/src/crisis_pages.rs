//! Pages people about a session in a crisis although no call of it waits: at 0, 1, 3 and 5 minutes,
//! one escalation level each time, until a person takes over, answers or resolves it. A new episode
//! and danger that has become imminent page again, also after a takeover.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use countersign_channels::webpush;
use countersign_json::Value;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::{Store as _, StoredRequest};
use countersign_text::sanitize::sanitize_within;
use countersign_types::tier::Tier;
use countersign_types::time::{Clock as _, Millis, Timestamp};
use countersign_workflow::request::{EscalationLevel, Schedule};

use crate::gate::{Gate, OpenEpisode};
use crate::notifier::ChannelPool;
use crate::notifier::digest::send_notice;
use crate::shutdown::{Stop, stopped};

/// How often the sessions are looked at.
const INTERVAL: Duration = Duration::from_millis(500);
/// Sessions that one page names.
const MAX_NAMED: usize = 5;
/// After a page of a level, the next one of the same level comes no sooner: an agent can begin a
/// crisis in many sessions, and one page names them all.
const MIN_PAUSE: Millis = Millis::from_seconds(15);
/// How much later than those of an episode the pages of a waiting call may come in their place.
const MAX_DELAY: Millis = Millis::from_seconds(30);
/// Episodes that began longer ago than this were paged before the daemon started.
const LONG_AGO: Millis = Millis::from_seconds(15 * 60);

/// Pages people until the daemon stops.
pub async fn run(gate: Arc<Gate>, channels: Arc<ChannelPool>, mut stop: Stop) {
    let mut pages = CrisisPages::default();
    pages.skip_old(&gate);
    loop {
        gate.crisis_turns().forget_old(gate.clock().now().at);
        for page in pages.due(&gate).await {
            send(&gate, &channels, &page);
        }
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = stopped(&mut stop) => return,
        }
    }
}

/// One page: the level and the episodes that reached it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrisisPage {
    /// The level that is paged.
    pub level: EscalationLevel,
    /// What it is about.
    pub episodes: Vec<OpenEpisode>,
}

type Session = (String, String);

/// What was paged.
#[derive(Debug, Default)]
pub struct CrisisPages {
    /// The beginning of the episode, and how many levels were paged.
    paged: HashMap<Session, (Timestamp, usize)>,
    /// When each level was paged last.
    last: HashMap<usize, Timestamp>,
}

fn key(open: &OpenEpisode) -> Session {
    (open.crisis.agent.clone(), open.crisis.session.clone())
}

impl CrisisPages {
    /// Counts episodes of long ago as paged: a restart pages only what may have been missed.
    fn skip_old(&mut self, gate: &Gate) {
        let now = gate.clock().now().at;
        for open in gate.crises().open_episodes() {
            if open.since.until(now) > LONG_AGO {
                self.paged.insert(key(&open), (open.since, EscalationLevel::ALL.len()));
            }
        }
    }

    /// The pages that are due now; they count as sent.
    pub async fn due(&mut self, gate: &Gate) -> Vec<CrisisPage> {
        let now = gate.clock().now().at;
        let interval = gate.rules().times.crisis;
        let open = gate.crises().open_episodes();
        self.paged.retain(|session, _| open.iter().any(|one| key(one) == *session));
        let mut due: HashMap<usize, Vec<OpenEpisode>> = HashMap::new();
        for one in open {
            let schedule = Schedule { created: one.since, deadline: Timestamp(i64::MAX), interval };
            let reached = schedule.crisis_level_at(now).index() as usize + 1;
            let known = self.paged.get(&key(&one)).filter(|(since, _)| *since == one.since);
            if reached > known.map_or(0, |(_, count)| *count) {
                due.entry(reached).or_default().push(one);
            }
        }
        if due.is_empty() {
            return Vec::new();
        }
        // A call that waits since the episode began pages by itself, at nearly the same times.
        let pending = gate.store().pending().await.unwrap_or_default();
        let mut pages = Vec::new();
        for (reached, mut episodes) in due {
            let recent = self.last.get(&reached).is_some_and(|at| at.until(now) < MIN_PAUSE);
            if recent {
                continue;
            }
            // What is left out here is not paged: it is due again when its call ends.
            episodes.retain(|one| !pending.iter().any(|stored| pages_for(stored, one)));
            for one in &episodes {
                self.paged.insert(key(one), (one.since, reached));
            }
            let level = EscalationLevel::ALL.get(reached.saturating_sub(1)).copied();
            if let Some(level) = level.filter(|_| !episodes.is_empty()) {
                self.last.insert(reached, now);
                pages.push(CrisisPage { level, episodes });
            }
        }
        pages
    }
}

/// Whether a waiting call pages people in place of an episode. A later call must not: it begins at
/// the first level again, and the agent chooses when it comes and when it is withdrawn. An earlier
/// one may have been paged before there was news.
fn pages_for(stored: &StoredRequest, open: &OpenEpisode) -> bool {
    let session = &open.crisis.session;
    let created = stored.request.schedule.created;
    stored.request.crisis
        && stored.request.requester.is_agent(&open.crisis.agent)
        && (session.is_empty() || stored.session.is_empty() || stored.session == *session)
        && open.since <= created
        && open.since.until(created) <= MAX_DELAY
}

/// Sends a page to the channels up to its level, and records each.
fn send(gate: &Arc<Gate>, channels: &Arc<ChannelPool>, page: &CrisisPage) {
    let (rules, now) = (gate.rules(), gate.clock().now().at);
    let levels = rules.oncall.levels_at(&rules.escalation, Tier::Critical, true, now);
    let mut names: Vec<String> = Vec::new();
    for level in levels.iter().take(page.level.index() as usize + 1) {
        names
            .extend(level.iter().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>());
    }
    if channels.browsers().any() && !names.iter().any(|name| name == webpush::NAME) {
        names.push(webpush::NAME.to_owned());
    }
    let text = text(page);
    for name in names {
        let (gate, channels) = (Arc::clone(gate), Arc::clone(channels));
        let (text, page) = (text.clone(), page.clone());
        tokio::spawn(async move {
            let sent = send_notice(&gate, &channels, &name, &text).await;
            record(&gate, &name, &page, sent).await;
        });
    }
}

/// The text of a page. It has no word of what the person wrote.
pub fn text(page: &CrisisPage) -> String {
    let mut lines = vec!["A person may be in crisis, and no call waits for an answer:".to_owned()];
    for one in page.episodes.iter().take(MAX_NAMED) {
        let agent = sanitize_within(&one.crisis.agent, 60).text;
        let session = match one.crisis.session.as_str() {
            "" => "no session".to_owned(),
            name => format!("session {}", sanitize_within(name, 60).text),
        };
        let danger = if one.crisis.imminent { ", danger may be imminent" } else { "" };
        let taken = one.taken_over_by.as_ref().map(|person| {
            format!(" {} has taken over; there is news.", sanitize_within(person, 60).text)
        });
        let taken = taken.unwrap_or_default();
        lines.push(format!("{agent}, {session}: level {} of 6{danger}.{taken}", one.crisis.level));
    }
    let more = page.episodes.len().saturating_sub(MAX_NAMED);
    if more > 0 {
        lines.push(format!("And {more} more."));
    }
    lines.push("Read the last turns and take over in the inbox, under Crises.".to_owned());
    lines.join("\n")
}

async fn record(gate: &Gate, channel: &str, page: &CrisisPage, sent: bool) {
    let kind = if sent { EntryKind::Notified } else { EntryKind::NotifyFailed };
    let text = |text: &str| Value::String(text.to_owned().into());
    let entries = page.episodes.iter().map(|one| {
        let mut entry = Entry::new(0, kind, gate.rules().hash);
        entry.agent = Some(one.crisis.agent.clone().into());
        entry.session = Some(one.crisis.session.clone().into());
        entry.facts = vec![
            ("channel".into(), text(channel)),
            ("level".into(), text(page.level.label())),
            ("what".into(), text("crisis page")),
        ];
        entry
    });
    if let Err(error) = gate.store().append(entries.collect()).await {
        tracing::error!(%error, "a page about a crisis was not recorded");
    }
}
