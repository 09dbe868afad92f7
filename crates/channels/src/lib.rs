//! Notification channels. A channel sends messages and receives people's replies; it cannot
//! decide a request, and it cannot see the store.

pub mod announcement;
pub mod answers;
mod callback;
mod chat;
pub mod command;
pub mod desktop;
pub mod discord;
pub mod email;
mod form;
mod http;
pub mod message;
pub mod ntfy;
mod program;
pub mod secret;
pub mod settings;
pub mod slack;
pub mod sms;
pub mod telegram;
pub mod terminal;
pub mod webhook;
pub mod webpush;

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use countersign_types::tier::Tier;

pub use announcement::{Announcement, EditedNotice, Ending, News, Ways};
pub use answers::{Answers, Heard, NotHeard, Posted, Posting, Said, Trouble, Which, Word};
pub use message::{Fitted, Message};
pub use settings::{Limits, Settings};

/// An operation of a channel; dropping it cancels it.
pub type Sending<'a, T> = Pin<Box<dyn Future<Output = Result<T, ChannelError>> + Send + 'a>>;

/// A notification channel.
///
/// A message may be sent twice, because after a crash the sender cannot know whether the first one
/// arrived. [`Announcement::key`] is the same each time.
pub trait Channel: Send + Sync + fmt::Debug {
    /// The name under which the escalation ladder refers to it.
    fn name(&self) -> &str;

    /// The highest tier that it may carry.
    fn most(&self) -> Tier;

    /// Announces a request, or that it was escalated to more people.
    fn announce<'a>(&'a self, news: &'a Announcement) -> Sending<'a, Receipt>;

    /// Announces the end of a request: removes the prompt, or edits it to say how it ended. There
    /// is no receipt where it is unknown whether the prompt arrived.
    fn withdraw<'a>(
        &'a self,
        prompt: Option<&'a Receipt>,
        end: &'a Announcement,
    ) -> Sending<'a, ()>;

    /// How people answer through this channel, if they can.
    fn answers(&self) -> Option<&dyn Answers> {
        None
    }
}

/// The platform's id of a message, with which it can be edited later.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Receipt(pub String);

/// Why a message was not sent. The text may be logged and shown: it has no secret and no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ChannelError {
    /// What failed, why, and what to do about it.
    pub problem: String,
    /// How long the server asked us to wait before the next attempt.
    pub retry_after: Option<Duration>,
    /// Whether another attempt would fail in the same way.
    pub permanent: bool,
}

impl ChannelError {
    /// An error that may go away by itself.
    pub fn again(problem: impl Into<String>) -> ChannelError {
        ChannelError { problem: problem.into(), retry_after: None, permanent: false }
    }

    /// An error that remains until an operator changes something.
    pub fn permanent(problem: impl Into<String>) -> ChannelError {
        ChannelError { problem: problem.into(), retry_after: None, permanent: true }
    }
}
