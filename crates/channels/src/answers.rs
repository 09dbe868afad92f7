//! What people say through a channel. A channel reads it and proves that the platform sent it;
//! what it means, and whether it counts, is decided elsewhere.

use std::fmt;

use countersign_core::assurance::Assurance;
use countersign_core::time::Timestamp;

use crate::{Announcement, ChannelError, Sending};

/// A channel through which people can answer.
pub trait Answers: Send + Sync + fmt::Debug {
    /// What an answer through it is worth.
    fn assurance(&self) -> Assurance;

    /// Whether all of the call stands in the message that it sends: only then can it be approved
    /// here.
    fn shows_whole(&self, news: &Announcement) -> bool;

    /// The person who counts as answering, whoever it is: where nobody can be told from another,
    /// an operator says whose it is.
    fn person(&self) -> Option<&str> {
        None
    }

    /// Waits for what people say, where the platform has to be asked. Where it calls us instead,
    /// this never ends.
    fn listen(&self) -> Sending<'_, Vec<Word>> {
        Box::pin(std::future::pending())
    }

    /// Reads what was posted to our hook, if the platform really sent it.
    fn hear(&self, posted: &Posted<'_>) -> Result<Heard, NotHeard> {
        let _ = posted;
        Err(NotHeard::NoHook)
    }

    /// What the platform says went wrong with a message that it had taken; asked only about what
    /// was heard.
    fn trouble(&self, posted: &Posted<'_>) -> Option<Trouble> {
        let _ = posted;
        None
    }

    /// The answer that goes back with the same HTTP exchange, where the platform wants it so.
    fn answer(&self, word: &Word, reply: &str) -> Option<Posting> {
        let _ = (word, reply);
        None
    }

    /// Tells somebody what became of what they said.
    fn reply<'a>(&'a self, word: &'a Word, reply: &'a str) -> Sending<'a, ()>;

    /// Whether a test message can have a button of its own, so that the way back is tried as well.
    fn tries(&self) -> bool {
        false
    }

    /// How a person says a command here: `/approve`, `!approve`.
    fn command(&self, word: &str) -> String {
        format!("/{word}")
    }

    /// An address that says a linking code by itself when it is opened, where there is one.
    fn opens(&self, code: &str) -> Option<String> {
        let _ = code;
        None
    }
}

/// A message that the platform had taken and did not bring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What it called the message when it took it.
    pub message: String,
    /// What went wrong.
    pub error: ChannelError,
}

/// What somebody said. Nothing in it is believed but what the platform vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// What the platform calls the account: it does not change and cannot be chosen.
    pub account: String,
    /// What it is called there, for people; anybody may call themselves anything.
    pub called: String,
    /// What was said.
    pub said: Said,
    /// The platform's name of this word: the same where it is delivered twice.
    pub key: String,
    /// What the channel needs to reply to just this.
    pub reply_to: String,
}

/// What was said, read as far as it can be without knowing any request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// One of our buttons, by what we wrote into it.
    Button(String),
    /// One of our buttons, and why.
    Reasoned {
        /// What we wrote into it.
        button: String,
        /// Why, as it was typed.
        reason: String,
    },
    /// A yes in words.
    Approve(Which),
    /// A no in words.
    Deny(Which),
    /// What is waiting?
    Pending,
    /// A code that links this account to a person.
    Link(String),
    /// Anything else that was meant for us.
    Help,
}

/// Which request, and why, as it was typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Which {
    /// The two words, the code or the id; empty where nothing was named.
    pub name: String,
    /// The rest of the line.
    pub reason: String,
}

impl Said {
    /// Reads a line such as `/approve olive-tractor looks right`; nothing if it does not begin
    /// with the sign of commands.
    pub fn parse(sign: char, text: &str) -> Option<Said> {
        let line = text.trim().strip_prefix(sign)?;
        let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        // Telegram writes `/approve@our_bot` in groups.
        let command = command.split_once('@').map_or(command, |(command, _)| command);
        let rest = rest.trim();
        let (name, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let which = || Which { name: name.to_owned(), reason: reason.trim().to_owned() };
        Some(match command.to_ascii_lowercase().as_str() {
            "approve" | "yes" => Said::Approve(which()),
            "deny" | "no" => Said::Deny(which()),
            "pending" => Said::Pending,
            "link" => Said::Link(name.to_owned()),
            // Telegram's deep links say `/start CODE`.
            "start" if !name.is_empty() => Said::Link(name.to_owned()),
            _ => Said::Help,
        })
    }
}

/// An HTTP request to our hook.
pub struct Posted<'a> {
    /// The whole address, as the platform has it.
    pub url: &'a str,
    /// A header by name, if it is there once.
    pub header: &'a (dyn Fn(&str) -> Option<&'a str> + Sync),
    /// The body as it came.
    pub body: &'a [u8],
    /// Now.
    pub now: Timestamp,
}

/// What was read from a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// What people said; nothing where the platform only wants to know whether we are there.
    pub words: Vec<Word>,
    /// What goes back if no word has an answer of its own.
    pub answer: Posting,
}

/// The body of an HTTP answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Posting {
    /// Its kind.
    pub content_type: &'static str,
    /// The body.
    pub body: String,
}

impl Posting {
    /// A JSON body.
    pub fn json(value: &serde_json::Value) -> Posting {
        Posting { content_type: "application/json", body: value.to_string() }
    }
}

/// Why nothing was heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotHeard {
    /// This channel has no hook.
    #[error("this channel takes nothing here")]
    NoHook,
    /// The signature is missing or wrong, or the time is not ours.
    #[error("this does not come from the platform")]
    Forged,
    /// It is the platform's, and still cannot be read.
    #[error("this cannot be read")]
    Unreadable,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_people_type_them() {
        let which =
            |name: &str, reason: &str| Which { name: name.to_owned(), reason: reason.to_owned() };
        for (text, said) in [
            ("/approve olive-tractor", Some(Said::Approve(which("olive-tractor", "")))),
            ("/Approve@bot  olive-tractor  it is fine ", {
                Some(Said::Approve(which("olive-tractor", "it is fine")))
            }),
            ("/deny", Some(Said::Deny(which("", "")))),
            ("/pending", Some(Said::Pending)),
            ("/link AB12-CD34", Some(Said::Link("AB12-CD34".to_owned()))),
            ("/start AB12-CD34", Some(Said::Link("AB12-CD34".to_owned()))),
            ("/start", Some(Said::Help)),
            ("/approved", Some(Said::Help)),
            ("approve olive-tractor", None),
            ("ok", None),
            ("", None),
        ] {
            assert_eq!(Said::parse('/', text), said, "{text}");
        }
        assert_eq!(Said::parse('!', "!yes"), Some(Said::Approve(Which::default())));
    }
}
