//! Ways to reach a person. A channel tells, and hears what people say; it cannot decide, and it
//! cannot see the store.

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

use countersign_core::tier::Tier;

pub use announcement::{Announcement, EditedNotice, Ending, News, Ways};
pub use answers::{Answers, Heard, NotHeard, Posted, Posting, Said, Trouble, Which, Word};
pub use message::{Fitted, Message};
pub use settings::{Limits, Settings};

/// What a channel is doing; dropping it breaks it off.
pub type Sending<'a, T> = Pin<Box<dyn Future<Output = Result<T, ChannelError>> + Send + 'a>>;

/// A way to reach a person.
///
/// Everything may be told twice: whoever sends cannot know whether what was sent before a crash
/// arrived. [`Announcement::key`] is the same each time.
pub trait Channel: Send + Sync + fmt::Debug {
    /// The name under which it stands on the ladder.
    fn name(&self) -> &str;

    /// The gravest tier it may carry.
    fn most(&self) -> Tier;

    /// Tells that somebody is asked, or that more people are asked by now.
    fn announce<'a>(&'a self, news: &'a Announcement) -> Sending<'a, Receipt>;

    /// Tells that it is over: takes the prompt away, or says how it ended. There is no receipt
    /// where nobody knows whether the prompt arrived.
    fn withdraw<'a>(
        &'a self,
        prompt: Option<&'a Receipt>,
        end: &'a Announcement,
    ) -> Sending<'a, ()>;

    /// How people answer through it, if they can.
    fn answers(&self) -> Option<&dyn Answers> {
        None
    }
}

/// What the channel calls a message, so that it can be changed later.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Receipt(pub String);

/// Why nobody was told. The words may be kept and shown: they hold no secret and no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ChannelError {
    /// What is wrong.
    pub problem: String,
    /// How long the other side wants to be left alone.
    pub retry_after: Option<Duration>,
    /// Trying again would change nothing.
    pub permanent: bool,
}

impl ChannelError {
    /// It may work later.
    pub fn again(problem: impl Into<String>) -> ChannelError {
        ChannelError { problem: problem.into(), retry_after: None, permanent: false }
    }

    /// It will not work until somebody changes something.
    pub fn permanent(problem: impl Into<String>) -> ChannelError {
        ChannelError { problem: problem.into(), retry_after: None, permanent: true }
    }
}
