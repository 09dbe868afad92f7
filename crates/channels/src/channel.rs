//! The trait of a notification channel, and its errors.

use std::fmt;

use countersign_types::tier::Tier;

use crate::announcement::Announcement;
use crate::error::ChannelFuture;
use crate::replies::ReplyReceiver;

/// A notification channel.
///
/// A message may be sent twice, because after a crash the sender cannot know whether the first one
/// arrived. [`Announcement::key`] is the same each time.
pub trait Channel: Send + Sync + fmt::Debug {
    /// The name under which the escalation levels refer to it.
    fn name(&self) -> &str;

    /// The highest tier that it may carry.
    fn max_tier(&self) -> Tier;

    /// Announces a request, or that it was escalated to more people.
    fn announce<'a>(&'a self, news: &'a Announcement) -> ChannelFuture<'a, Receipt>;

    /// Announces the end of a request: removes the prompt, or edits it to say how it ended. There
    /// is no receipt where it is unknown whether the prompt arrived.
    fn withdraw<'a>(
        &'a self,
        prompt: Option<&'a Receipt>,
        end: &'a Announcement,
    ) -> ChannelFuture<'a, ()>;

    /// How people answer through this channel, if they can.
    fn reply_receiver(&self) -> Option<&dyn ReplyReceiver> {
        None
    }
}

/// The platform's id of a message, with which it can be edited later.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Receipt(pub String);
