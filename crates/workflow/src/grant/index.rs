//! The grants by what they could cover, so that a call is compared with few of them.

use std::collections::HashMap;

use countersign_json::canonical::Digest;
use countersign_types::id::Id;
use countersign_types::time::Moment;

use super::members::plain_command;
use super::part::own_key;
use super::{Grant, GrantQuery, GrantShape, covering_answers};

/// How many grants that cover a call alone are named. Where all of them are used up meanwhile, a
/// person is asked.
const MAX_COVERING: usize = 8;

/// Grants, found by tool and first words, by digest, or by who was answered.
#[derive(Debug, Default)]
pub struct GrantIndex {
    grants: HashMap<Id, Grant>,
    places: HashMap<GrantKey, Vec<Id>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum GrantKey {
    /// Exactly this call.
    Call(Digest),
    /// A tool, and the first two words of a command or recipient; none for all of the tool.
    Tool(String, String),
    /// Approvals for a session of an agent.
    Session(String, String),
    /// Approvals for a repository.
    Repository(String, String),
}

impl GrantIndex {
    /// All grants.
    pub fn iter(&self) -> impl Iterator<Item = &Grant> {
        self.grants.values()
    }

    /// A grant by its id.
    pub fn get(&self, id: Id) -> Option<&Grant> {
        self.grants.get(&id)
    }

    /// Adds a grant, unless one with this id is known.
    pub fn add(&mut self, grant: Grant) {
        if self.grants.contains_key(&grant.id) {
            return;
        }
        for key in keys(&grant) {
            let place = self.places.entry(key).or_default();
            if !place.contains(&grant.id) {
                place.push(grant.id);
            }
        }
        self.grants.insert(grant.id, grant);
    }

    /// Removes a grant.
    pub fn remove(&mut self, id: Id) {
        let Some(grant) = self.grants.remove(&id) else { return };
        for key in keys(&grant) {
            if let Some(place) = self.places.get_mut(&key) {
                place.retain(|known| *known != id);
                if place.is_empty() {
                    self.places.remove(&key);
                }
            }
        }
    }

    /// Removes the grants for which this is false.
    pub fn retain(&mut self, keep: impl Fn(&Grant) -> bool) {
        let ended: Vec<Id> =
            self.grants.values().filter(|grant| !keep(grant)).map(|grant| grant.id).collect();
        for id in ended {
            self.remove(id);
        }
    }

    /// The grants that cover a call, each on its own; uncounted ones first, then the oldest. The
    /// approvals for the session and the repository come last; several of them may cover a call
    /// together.
    pub fn covering(
        &self,
        asked: &GrantQuery<'_>,
        now: Moment,
        is_listed: impl Fn(&Grant) -> bool,
    ) -> Vec<Vec<Id>> {
        let (alone, together) = (asked_keys(asked), answer_keys(asked));
        let mut single: Vec<&Grant> = self.at(&alone).collect();
        single.sort_by_key(|grant| (is_counted(grant), grant.made_at, *grant.id.as_bytes()));
        single.dedup_by_key(|grant| grant.id);
        let covers = |grant: &&&Grant| is_listed(grant) && grant.covers(asked, now).is_ok();
        let single = single.iter().filter(covers).take(MAX_COVERING).map(|grant| vec![grant.id]);
        let answers = covering_answers(self.at(&together), asked, now);
        single.chain(answers).collect()
    }

    /// Whether approvals for the session and the repository together cover all that a call asks
    /// about.
    pub fn has_answers(&self, asked: &GrantQuery<'_>, now: Moment) -> bool {
        covering_answers(self.at(&answer_keys(asked)), asked, now).is_some()
    }

    fn at<'i>(&'i self, keys: &'i [GrantKey]) -> impl Iterator<Item = &'i Grant> {
        let ids = keys.iter().filter_map(|key| self.places.get(key)).flatten();
        ids.filter_map(|id| self.grants.get(id))
    }
}

impl FromIterator<Grant> for GrantIndex {
    fn from_iter<I: IntoIterator<Item = Grant>>(grants: I) -> GrantIndex {
        let mut index = GrantIndex::default();
        grants.into_iter().for_each(|grant| index.add(grant));
        index
    }
}

/// Whether a use takes something away, so that other grants come first.
fn is_counted(grant: &Grant) -> bool {
    let details = &grant.details;
    grant.uses_left.is_some() || details.per_hour.is_some() || details.budget.is_some()
}

/// Where a grant is found.
fn keys(grant: &Grant) -> Vec<GrantKey> {
    let agent = grant.agent.clone().unwrap_or_default();
    match &grant.shape {
        GrantShape::Exact { digest } => vec![GrantKey::Call(digest.canonical)],
        GrantShape::Action { tool } | GrantShape::ToSelf { tool } => {
            vec![GrantKey::Tool(tool.clone(), String::new())]
        }
        GrantShape::ToolCall(shape) => vec![GrantKey::Tool(shape.tool.clone(), String::new())],
        GrantShape::Targets { tool, targets } => {
            targets.iter().map(|target| GrantKey::Tool(tool.clone(), first_words(target))).collect()
        }
        GrantShape::Command(shape) => {
            let texts = shape.commands.iter().map(|pattern| first_words(&pattern.to_string()));
            texts.map(|text| GrantKey::Tool(shape.tool.clone(), text)).collect()
        }
        GrantShape::Part(part) if !part.is_for_session() => vec![GrantKey::Call(part.key)],
        GrantShape::Part(_) | GrantShape::SameQuestion { .. } => {
            vec![GrantKey::Session(agent, grant.session.clone().unwrap_or_default())]
        }
        GrantShape::SameProgram { repository, .. } => {
            vec![GrantKey::Repository(agent, repository.clone())]
        }
    }
}

/// Where the grants are that could cover a call alone. A recipient counts as listed by the
/// assessment: a grant by recipients covers no call with others.
fn asked_keys(asked: &GrantQuery<'_>) -> Vec<GrantKey> {
    let tool = &asked.assessment.tool;
    let recipients = asked.assessment.impact.recipients.listed.iter().map(String::as_str);
    let command = plain_command(tool, asked.arguments);
    let texts = std::iter::once("").chain(recipients).chain(command);
    let named = texts.map(|text| GrantKey::Tool(tool.clone(), first_words(text)));
    let part = own_key(asked).map(GrantKey::Call);
    std::iter::once(GrantKey::Call(asked.digest.canonical)).chain(part).chain(named).collect()
}

/// Where the approvals are that could cover a call together.
fn answer_keys(asked: &GrantQuery<'_>) -> Vec<GrantKey> {
    let session = GrantKey::Session(asked.agent.to_owned(), asked.session.to_owned());
    let repository = asked
        .repository
        .map(|folder| GrantKey::Repository(asked.agent.to_owned(), folder.to_owned()));
    std::iter::once(session).chain(repository).collect()
}

fn first_words(text: &str) -> String {
    let words: Vec<&str> = text.split_ascii_whitespace().take(2).collect();
    words.join(" ")
}
