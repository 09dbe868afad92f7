//! Bursts: several pending questions of one agent and session, which people answer together.

use std::cmp::Reverse;

use countersign_store::StoredRequest;
use countersign_text::sanitize::sanitize_within;
use countersign_types::tier::Tier;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::asking_agent::asking_name;

/// How many questions a digest names; the others are counted.
const NAMED: usize = 5;
/// How much of a text is shown.
const TEXT: usize = 120;

/// The questions of one agent and session.
#[derive(Debug)]
pub struct Burst<'r> {
    /// At least as many as the rules say, in the given order.
    pub requests: Vec<&'r StoredRequest>,
}

/// The agent and the session of a question that may be part of a burst. A question in a crisis, a
/// drill and a question without a session stand alone.
pub fn burst_key(stored: &StoredRequest) -> Option<(&str, &str)> {
    let request = &stored.request;
    let may = !request.crisis && !request.requester.is_drill() && !stored.session.is_empty();
    may.then_some((request.requester.name(), stored.session.as_str()))
}

/// Pending questions by agent and session, where there are at least `from` of one; none if `from`
/// is 0.
pub fn bursts<'r>(
    pending: impl IntoIterator<Item = &'r StoredRequest>,
    from: u32,
) -> Vec<Burst<'r>> {
    let mut found: Vec<((&str, &str), Vec<&StoredRequest>)> = Vec::new();
    for stored in pending {
        let Some(key) = burst_key(stored) else { continue };
        match found.iter_mut().find(|(known, _)| *known == key) {
            Some((_, requests)) => requests.push(stored),
            None => found.push((key, vec![stored])),
        }
    }
    let enough = |requests: &Vec<&StoredRequest>| {
        from > 0 && u32::try_from(requests.len()).is_ok_and(|count| count >= from)
    };
    let requests = found.into_iter().map(|(_, requests)| requests).filter(enough);
    let sorted = requests.map(|mut requests| {
        requests.sort_by_key(|stored| Reverse(stored.request.tier));
        requests
    });
    sorted.map(|requests| Burst { requests }).collect()
}

impl Burst<'_> {
    /// How many there are, and who asks where.
    pub fn title(&self) -> String {
        let (agent, place) = match self.requests.first() {
            Some(stored) => (asking_name(stored), place(stored)),
            None => (String::new(), String::new()),
        };
        let agent = sanitize_within(&agent, TEXT).text;
        format!("{} questions from {agent} in {place}", self.requests.len())
    }

    /// How many there are of each tier, the highest first.
    pub fn tiers(&self) -> String {
        let count = |tier: Tier| {
            let count = self.requests.iter().filter(|one| one.request.tier == tier).count();
            (count > 0).then(|| format!("{count} {}", tier.label()))
        };
        Tier::ALL.into_iter().rev().filter_map(count).collect::<Vec<_>>().join(", ")
    }

    /// The page on which they are answered together, below the inbox.
    pub fn path(&self) -> String {
        const RESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');
        let key = self.requests.first().and_then(|stored| burst_key(stored));
        let (agent, session) = key.unwrap_or_default();
        let encoded = |text| utf8_percent_encode(text, &RESERVED).to_string();
        format!("/review?agent={}&session={}", encoded(agent), encoded(session))
    }

    /// The message that announces all of them.
    pub fn message(&self, inbox: &str) -> String {
        let named = self.requests.iter().take(NAMED).map(|stored| {
            let brief = sanitize_within(stored.brief.trim_end_matches('.'), TEXT).text;
            format!("{} {brief}", stored.request.tier.label())
        });
        let named: Vec<String> = named.collect();
        let more = match self.requests.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let page = format!("{}{}", inbox.trim_end_matches('/'), self.path());
        format!("{}: {}{more}. Answer them together: {page}", self.title(), named.join("; "))
    }
}

/// The folder of the project, or the session.
fn place(stored: &StoredRequest) -> String {
    let detail: serde_json::Value = serde_json::from_str(&stored.detail).unwrap_or_default();
    let project = detail.pointer("/place/project").and_then(serde_json::Value::as_str);
    let folder = project.and_then(|path| path.trim_end_matches('/').rsplit('/').next());
    match folder.filter(|name| !name.is_empty()) {
        Some(name) => sanitize_within(name, TEXT).text.into_owned(),
        None => format!("session {}", sanitize_within(&stored.session, TEXT).text),
    }
}
