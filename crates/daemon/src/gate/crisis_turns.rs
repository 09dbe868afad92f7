//! The last turns of conversations in a crisis, and what a person who took over writes. In memory
//! only: neither the store nor the log ever has them, and they go when the crisis is resolved.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use countersign_redact::redact_text;
use countersign_text::sanitize::sanitize_within;
use countersign_types::time::{Millis, Timestamp};
use serde::Serialize;

/// The turns that are kept of a conversation.
const MAX_TURNS: usize = 6;
/// The longest part of a turn, in characters.
const MAX_TURN_TEXT: usize = 600;
/// Messages of people that are kept of a conversation.
const MAX_MESSAGES: usize = 64;
/// Conversations that are kept.
const MAX_CONVERSATIONS: usize = 256;
/// Signs that are kept of a conversation.
const MAX_SIGNS: usize = 6;
/// The longest sign, in characters.
const MAX_SIGN: usize = 80;
/// A conversation without a new turn is forgotten after this time.
const LIFETIME: Millis = Millis::from_seconds(2 * 60 * 60);

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConversationTurn {
    /// `user`, `agent` or `person`.
    pub role: &'static str,
    /// When.
    pub at: Timestamp,
    /// Its beginning, without secrets.
    pub text: String,
}

/// What a person wrote to the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PersonMessage {
    /// Its number, from 1.
    pub number: u64,
    /// When.
    pub at: Timestamp,
    /// The text, exactly.
    pub text: String,
}

/// What in the user's own words was a sign, and where they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CrisisSigns {
    /// The words, the newest last.
    pub words: Vec<String>,
    /// The card that was shown, if one was.
    pub card: Option<ShownCard>,
    /// Whether the user may be under 18.
    pub minor: bool,
}

/// What is known of a card that was shown: enough to show it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownCard {
    /// The country whose helplines it has, if it is known.
    pub country: Option<&'static str>,
    /// The language of the message that it answered, as far as there is a card in it.
    pub lang: &'static str,
    /// Whether it is worded for a person who worries about another.
    pub helper: bool,
}

#[derive(Debug, Default)]
struct Conversation {
    used: Timestamp,
    signs: CrisisSigns,
    turns: VecDeque<ConversationTurn>,
    messages: Vec<PersonMessage>,
    numbers: u64,
}

impl Conversation {
    fn is_kept(&self, now: Timestamp) -> bool {
        self.used.until(now) <= LIFETIME
    }
}

/// The conversations in a crisis, by agent and session.
#[derive(Debug, Default)]
pub struct CrisisTurns {
    conversations: Mutex<HashMap<(String, String), Conversation>>,
}

impl CrisisTurns {
    /// Keeps a turn.
    pub fn add(&self, agent: &str, session: &str, role: &'static str, text: &str, now: Timestamp) {
        let text = redact_text(text).text;
        let text = sanitize_within(&text, MAX_TURN_TEXT).text.into_owned();
        self.change(agent, session, now, |conversation| {
            if conversation.turns.len() >= MAX_TURNS {
                conversation.turns.pop_front();
            }
            conversation.turns.push_back(ConversationTurn { role, at: now, text });
        });
    }

    /// Keeps what was a sign in a message, and the card that was shown.
    pub fn add_signs(
        &self,
        agent: &str,
        session: &str,
        (words, card): (&[&str], Option<ShownCard>),
        now: Timestamp,
    ) {
        self.change(agent, session, now, |conversation| {
            let signs = &mut conversation.signs;
            let country = signs.card.and_then(|card| card.country);
            let shown = card.map(|card| ShownCard { country: card.country.or(country), ..card });
            signs.card = shown.or(signs.card);
            for word in words {
                let word = redact_text(word).text;
                let word = sanitize_within(&word, MAX_SIGN).text.trim().to_owned();
                signs.words.retain(|known| *known != word);
                signs.words.push(word);
            }
            let extra = signs.words.len().saturating_sub(MAX_SIGNS);
            signs.words.drain(..extra);
        });
    }

    /// Keeps that the user of a conversation may be under 18.
    pub fn note_minor(&self, agent: &str, session: &str, now: Timestamp) {
        self.change(agent, session, now, |conversation| conversation.signs.minor = true);
    }

    /// What was a sign in the messages of a conversation.
    pub fn signs(&self, agent: &str, session: &str, now: Timestamp) -> CrisisSigns {
        self.read(agent, session, now, |known| known.signs.clone())
    }

    /// Keeps a message of a person for the user. Returns its number; none if there are too many.
    pub fn write(&self, agent: &str, session: &str, text: &str, now: Timestamp) -> Option<u64> {
        self.change(agent, session, now, |conversation| {
            if conversation.messages.len() >= MAX_MESSAGES {
                return None;
            }
            conversation.numbers = conversation.numbers.saturating_add(1);
            let number = conversation.numbers;
            let message = PersonMessage { number, at: now, text: text.to_owned() };
            conversation.messages.push(message);
            Some(number)
        })
    }

    /// The last turns, oldest first.
    pub fn turns(&self, agent: &str, session: &str, now: Timestamp) -> Vec<ConversationTurn> {
        self.read(agent, session, now, |known| known.turns.iter().cloned().collect())
    }

    /// What people wrote to the user, oldest first.
    pub fn messages(&self, agent: &str, session: &str, now: Timestamp) -> Vec<PersonMessage> {
        self.read(agent, session, now, |known| known.messages.clone())
    }

    /// Forgets a conversation.
    pub fn forget(&self, agent: &str, session: &str) {
        let mut all = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&(agent.to_owned(), session.to_owned()));
    }

    /// Forgets every conversation without a new turn for `LIFETIME`.
    pub fn forget_old(&self, now: Timestamp) {
        let mut all = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, known| known.is_kept(now));
    }

    fn read<T: Default>(
        &self,
        agent: &str,
        session: &str,
        now: Timestamp,
        read: impl FnOnce(&Conversation) -> T,
    ) -> T {
        let all = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.get(&(agent.to_owned(), session.to_owned()));
        known.filter(|known| known.is_kept(now)).map(read).unwrap_or_default()
    }

    fn change<T>(
        &self,
        agent: &str,
        session: &str,
        now: Timestamp,
        change: impl FnOnce(&mut Conversation) -> T,
    ) -> T {
        let mut all = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, known| known.is_kept(now));
        let key = (agent.to_owned(), session.to_owned());
        if all.len() >= MAX_CONVERSATIONS && !all.contains_key(&key) {
            let oldest = all.iter().min_by_key(|(_, known)| known.used).map(|(key, _)| key.clone());
            if let Some(oldest) = oldest {
                all.remove(&oldest);
            }
        }
        let known = all.entry(key).or_default();
        known.used = now;
        change(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    #[test]
    fn few_turns_are_kept_without_secrets_and_for_a_while() {
        let turns = CrisisTurns::default();
        for number in 0..20 {
            turns.add("a", "s", "user", &format!("turn {number}"), NOW);
        }
        let kept = turns.turns("a", "s", NOW);
        assert_eq!((kept.len(), kept[0].text.as_str()), (MAX_TURNS, "turn 14"));
        turns.add("a", "s", "user", "my key is ghp_0123456789abcdefghijABCDEFGHIJ012345", NOW);
        assert!(!turns.turns("a", "s", NOW).iter().any(|turn| turn.text.contains("ghp_0123")));
        turns.add("a", "s", "user", &"x".repeat(9_000), NOW);
        let longest = turns.turns("a", "s", NOW).last().unwrap().text.chars().count();
        assert!(longest < MAX_TURN_TEXT + 100, "{longest}");
        assert_eq!(turns.write("a", "s", "hello", NOW), Some(1));
        turns.add("a", "t", "user", "later", NOW.plus(LIFETIME).plus(Millis(1)));
        assert!(turns.turns("a", "s", NOW).is_empty() && turns.messages("a", "s", NOW).is_empty());
        let late = NOW.plus(LIFETIME).plus(LIFETIME).plus(Millis(2));
        assert!(turns.turns("a", "t", late).is_empty() && !turns.turns("a", "t", NOW).is_empty());
        turns.forget_old(late);
        assert!(turns.conversations.lock().unwrap().is_empty());
        turns.add("a", "t", "user", "again", NOW);
        turns.forget("a", "t");
        assert!(turns.turns("a", "t", NOW).is_empty());
    }

    #[test]
    fn an_agent_cannot_fill_the_memory_with_conversations() {
        let turns = CrisisTurns::default();
        for number in 0..MAX_CONVERSATIONS * 2 {
            turns.add("a", &number.to_string(), "user", "x", NOW);
        }
        assert_eq!(turns.conversations.lock().unwrap().len(), MAX_CONVERSATIONS);
        for _ in 0..MAX_MESSAGES * 2 {
            turns.write("a", "s", "x", NOW);
        }
        assert_eq!(turns.messages("a", "s", NOW).len(), MAX_MESSAGES);
    }
}
