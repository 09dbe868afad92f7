//! Notification channels. A channel sends messages and receives people's replies; it cannot
//! decide a request, and it cannot see the store.

pub mod announcement;
mod bot_api;
mod callback;
pub mod channel;
mod chat;
pub mod command;
pub mod desktop;
pub mod discord;
pub mod email;
pub mod error;
mod form;
mod http;
pub mod limits;
pub mod message;
pub mod ntfy;
mod program;
pub mod replies;
pub mod secret;
pub mod settings;
pub mod slack;
pub mod sms;
pub mod telegram;
pub mod terminal;
pub mod webhook;
pub mod webpush;

pub use announcement::{Announcement, AnnouncementEvent, EditedNotice, Ending, ReplyOptions};
pub use channel::{Channel, Receipt};
pub use error::{ChannelError, ChannelFuture};
pub use limits::ChannelLimits;
pub use message::{FittedText, Message};
pub use replies::{
    DeliveryFailure, HookError, HookRequest, HookResponse, PersonReply, ReceivedReplies,
    ReplyContent, ReplyReceiver, RequestRef,
};
pub use settings::ChannelSettings;
