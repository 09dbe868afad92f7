//! Slack: messages with buttons in one channel. Replies come to our hook, signed by Slack: buttons,
//! the command `/countersign`, and messages that mention us. The response URLs that Slack sends
//! along are never used: a reply goes where our own settings say.

mod api;
mod hook;
mod render;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use countersign_types::tier::Tier;
use countersign_workflow::assurance::Assurance;

use crate::bot_api::{BotApi, read_token};
use crate::chat::{ChatPlatform, IN_RESPONSE, Prompts};
use crate::secret::Token;
use crate::{Announcement, ChannelError, ChannelFuture, Receipt};
use crate::{HookError, HookRequest, HookResponse, PersonReply, ReceivedReplies, ReplyReceiver};

use api::{SlackApi, SlackError};

/// The base URL of Slack's API.
pub const BASE_URL: &str = "https://slack.com/api";

/// What an operator configures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlackSettings {
    /// The file of the bot's token, readable only by its owner.
    pub token_file: PathBuf,
    /// The channel's id.
    pub channel: String,
    /// The file of the secret with which Slack signs, readable only by its owner.
    pub signing_secret_file: PathBuf,
    /// The base URL of Slack's API.
    pub base_url: String,
    /// Whether this machine and private networks may be reached.
    pub allow_private: bool,
    /// How long one attempt may take.
    pub timeout: Duration,
}

/// A channel on Slack.
#[derive(Debug)]
pub struct Slack {
    name: String,
    max_tier: Tier,
    api: SlackApi,
    channel: String,
    secret: Token,
    opened: Instant,
    prompts: Prompts,
}

impl Slack {
    /// Reads the token and the secret.
    pub fn open(
        name: String,
        max_tier: Tier,
        settings: &SlackSettings,
    ) -> Result<Slack, ChannelError> {
        if !hook::is_id(&settings.channel) {
            return Err(ChannelError::permanent(
                "channel must be the id of a Slack channel, such as C0123",
            ));
        }
        let SlackSettings { base_url, allow_private, token_file, timeout, .. } = settings;
        let api = SlackApi(BotApi::open(base_url, *allow_private, token_file, *timeout)?);
        let (channel, prompts) = (settings.channel.clone(), Prompts::default());
        let secret = read_token(&settings.signing_secret_file)?;
        let opened = Instant::now();
        Ok(Slack { name, max_tier, api, channel, secret, opened, prompts })
    }

    async fn posted(&self, news: &Announcement) -> Result<Receipt, ChannelError> {
        let message = render::message(news, &self.channel);
        let posted = self.api.call("chat.postMessage", &message).await?;
        let text = |name: &str| posted.get(name).and_then(|value| value.as_str());
        // Slack identifies a message by its channel and its timestamp.
        match (text("channel"), text("ts")) {
            (Some(channel), Some(at)) => Ok(Receipt(format!("{channel}/{at}"))),
            _ => Err(ChannelError::again("Slack's response could not be parsed")),
        }
    }

    /// Edits a message to say how the request ended, and removes its buttons.
    async fn ended(&self, receipt: &Receipt, end: &Announcement) -> Result<(), ChannelError> {
        let Some((channel, at)) = receipt.0.split_once('/') else { return Ok(()) };
        match self.api.call("chat.update", &render::ended(end, channel, at)).await {
            // The message was deleted, so there is nothing to edit.
            Err(SlackError { word, .. }) if word == "message_not_found" => Ok(()),
            other => other.map(|_| ()).map_err(ChannelError::from),
        }
    }
}

impl ChatPlatform for Slack {
    fn channel_name(&self) -> &str {
        &self.name
    }

    fn channel_max_tier(&self) -> Tier {
        self.max_tier
    }

    fn prompts(&self) -> &Prompts {
        &self.prompts
    }

    fn post<'a>(&'a self, news: &'a Announcement) -> ChannelFuture<'a, Receipt> {
        Box::pin(self.posted(news))
    }

    fn end<'a>(&'a self, receipt: &'a Receipt, end: &'a Announcement) -> ChannelFuture<'a, ()> {
        Box::pin(self.ended(receipt, end))
    }
}

impl ReplyReceiver for Slack {
    fn assurance(&self) -> Assurance {
        Assurance::Linked
    }

    fn shows_whole_call(&self, news: &Announcement) -> bool {
        render::is_whole(news)
    }

    fn receive(&self, posted: &HookRequest<'_>) -> Result<ReceivedReplies, HookError> {
        hook::receive(&self.secret, posted, self.opened.elapsed())
    }

    fn hook_response(&self, received: &PersonReply, reply: &str) -> Option<HookResponse> {
        (received.reply_to == IN_RESPONSE).then(|| hook::response(reply))
    }

    fn reply<'a>(&'a self, received: &'a PersonReply, reply: &'a str) -> ChannelFuture<'a, ()> {
        Box::pin(async {
            let user = hook::user(&received.account);
            let message = render::reply(reply, &received.reply_to, user);
            self.api.call("chat.postEphemeral", &message).await?;
            Ok(())
        })
    }

    fn direct_message<'a>(
        &'a self,
        account: &'a str,
        text: &'a str,
    ) -> Option<ChannelFuture<'a, ()>> {
        let user = Some(hook::user(account)).filter(|user| hook::is_id(user))?;
        Some(Box::pin(async move {
            // A message to a person's id goes to the conversation of the app with this person.
            self.api.call("chat.postMessage", &render::direct(text, user)).await?;
            Ok(())
        }))
    }

    fn command_text(&self, name: &str) -> String {
        format!("/countersign {name}")
    }
}
