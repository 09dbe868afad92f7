//! A person's message is screened even if the daemon does not answer: this library has the rules.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use countersign_crisis::{self as crisis, ScreenOptions};
use serde_json::Value;

use crate::agent::{AgentClient, TIMEOUT};
use crate::error::Error;
use crate::people::query;

/// How long a card waits for the daemon.
pub const CARD_WAIT: Duration = Duration::from_millis(300);

/// What became of a person's message.
#[derive(Debug, Clone, PartialEq)]
pub struct ScreenedMessage {
    /// The card to show at once.
    pub card: Option<String>,
    /// The daemon's answer, if it came in time. It knows the session and the guard model.
    pub daemon: Option<Value>,
}

impl ScreenedMessage {
    /// What the user sees: the card, and what the daemon says of the conversation.
    pub fn for_user(&self) -> UserTexts {
        let told = self.daemon.as_ref().map(UserTexts::of).unwrap_or_default();
        UserTexts { card: self.card.clone(), ..told }
    }
}

/// The parts of an answer of `screen` or `takeover` that are for the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserTexts {
    /// The card that answers signs of a crisis.
    pub card: Option<String>,
    /// Says that no person has answered, with the whole card again.
    pub unanswered: Option<String>,
    /// Says that a person has taken over the conversation. Nothing of the agent is shown then.
    pub takeover: Option<String>,
    /// What that person wrote, with numbers from 1.
    pub messages: Vec<(u64, String)>,
}

impl UserTexts {
    /// Reads an answer. What has another form is left out.
    pub fn of(answer: &Value) -> UserTexts {
        let text = |path| answer.pointer(path).and_then(Value::as_str).map(ToOwned::to_owned);
        let listed = answer.pointer("/takeover/messages").and_then(Value::as_array);
        let message = |one: &Value| {
            Some((one.get("number")?.as_u64()?, one.get("text")?.as_str()?.to_owned()))
        };
        UserTexts {
            card: text("/card/text"),
            unanswered: text("/notice/text"),
            takeover: text("/takeover/notice"),
            messages: listed.into_iter().flatten().filter_map(message).collect(),
        }
    }

    /// What to show, in this order. Messages up to the number `after` were shown before.
    pub fn texts(&self, after: u64) -> Vec<&str> {
        let first = self.unanswered.as_deref().or(self.card.as_deref());
        let takeover = self.takeover.as_deref().filter(|_| after == 0);
        let fresh = self.messages.iter().filter(|(number, _)| *number > after);
        first.into_iter().chain(takeover).chain(fresh.map(|(_, text)| text.as_str())).collect()
    }
}

/// Screens a person's message and tells the daemon about it. The daemon that `find` returns gets
/// the message in any case; its card counts if it comes within `wait`, else the own one, worded by
/// `options`. No failure of the daemon keeps the card back.
pub fn screen_message(
    find: impl FnOnce() -> Option<AgentClient> + Send + 'static,
    (text, session): (&str, Option<&str>),
    options: &ScreenOptions<'_>,
    wait: Duration,
) -> ScreenedMessage {
    let own = crisis::screen(text, options).card.map(|card| card.text);
    let (text, session) = (text.to_owned(), session.map(ToOwned::to_owned));
    let (sender, answer) = channel();
    let asking = thread::Builder::new().spawn(move || {
        let screened = find().and_then(|daemon| daemon.screen(&text, session.as_deref()).ok());
        // Nobody listens if the answer is late.
        let _ = sender.send(screened);
    });
    // Without an own card there is nothing to show meanwhile, and the guard model may see more.
    let waited = || if own.is_some() { answer.recv_timeout(wait).ok() } else { answer.recv().ok() };
    let daemon = asking.ok().and_then(|_| waited()).flatten();
    let card = daemon.as_ref().and_then(|it| it.pointer("/card/text")).and_then(Value::as_str);
    ScreenedMessage { card: card.map(ToOwned::to_owned).or(own), daemon }
}

impl AgentClient {
    /// Whether a person has taken over a conversation, and what they wrote to the user; read it
    /// with [`UserTexts::of`].
    pub fn takeover(&self, session: Option<&str>) -> Result<Value, Error> {
        self.read(&query("/v1/takeover", &[("session", session)]), TIMEOUT)
    }

    /// Screens a person's message with this daemon, and without it if it fails or is late.
    pub fn screen_message(
        &self,
        text: &str,
        session: Option<&str>,
        options: &ScreenOptions<'_>,
    ) -> ScreenedMessage {
        let daemon = self.clone();
        screen_message(move || Some(daemon), (text, session), options, CARD_WAIT)
    }
}
