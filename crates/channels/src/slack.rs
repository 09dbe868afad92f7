//! Slack: messages with buttons in one channel. Replies come to our hook, signed by Slack: buttons,
//! the command `/countersign`, and messages that mention us. The response URLs that Slack sends
//! along are never used: a reply goes where our own settings say.

mod hook;
mod platform;
mod write;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use countersign_net::Client;
use countersign_types::tier::Tier;
use countersign_workflow::assurance::Assurance;

use crate::chat::{self, Posts, Prompts};
use crate::secret::Token;
use crate::{Announcement, Channel, ChannelError, Receipt, Sending};
use crate::{Answers, Heard, NotHeard, Posted, Posting, Word};

use platform::{Failed, Platform};

/// The base URL of Slack's API.
pub const BASE_URL: &str = "https://slack.com/api";

/// What an operator configures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
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
    most: Tier,
    platform: Platform,
    channel: String,
    secret: Token,
    opened: Instant,
    prompts: Prompts,
}

impl Slack {
    /// Reads the token and the secret.
    pub fn open(name: String, most: Tier, settings: &Settings) -> Result<Slack, ChannelError> {
        if !hook::is_id(&settings.channel) {
            return Err(ChannelError::permanent(
                "channel must be the id of a Slack channel, such as C0123",
            ));
        }
        let read =
            |path| Token::read(path).map_err(|error| ChannelError::permanent(error.to_string()));
        let platform = Platform {
            base: chat::base(&settings.base_url, settings.allow_private)?,
            token: read(&settings.token_file)?,
            client: Client::new(settings.allow_private),
            timeout: settings.timeout,
        };
        let (channel, prompts) = (settings.channel.clone(), Prompts::default());
        let secret = read(&settings.signing_secret_file)?;
        let opened = Instant::now();
        Ok(Slack { name, most, platform, channel, secret, opened, prompts })
    }

    async fn posted(&self, news: &Announcement) -> Result<Receipt, ChannelError> {
        let message = write::message(news, &self.channel);
        let posted = self.platform.call("chat.postMessage", &message).await?;
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
        match self.platform.call("chat.update", &write::ended(end, channel, at)).await {
            // The message was deleted, so there is nothing to edit.
            Err(Failed { word, .. }) if word == "message_not_found" => Ok(()),
            other => other.map(|_| ()).map_err(ChannelError::from),
        }
    }
}

impl Posts for Slack {
    fn prompts(&self) -> &Prompts {
        &self.prompts
    }

    fn post<'a>(&'a self, news: &'a Announcement) -> Sending<'a, Receipt> {
        Box::pin(self.posted(news))
    }

    fn end<'a>(&'a self, receipt: &'a Receipt, end: &'a Announcement) -> Sending<'a, ()> {
        Box::pin(self.ended(receipt, end))
    }
}

impl Channel for Slack {
    fn name(&self) -> &str {
        &self.name
    }

    fn most(&self) -> Tier {
        self.most
    }

    fn announce<'a>(&'a self, news: &'a Announcement) -> Sending<'a, Receipt> {
        Box::pin(chat::announce(self, news))
    }

    fn withdraw<'a>(
        &'a self,
        prompt: Option<&'a Receipt>,
        end: &'a Announcement,
    ) -> Sending<'a, ()> {
        Box::pin(chat::withdraw(self, prompt, end))
    }

    fn answers(&self) -> Option<&dyn Answers> {
        Some(self)
    }
}

impl Answers for Slack {
    fn assurance(&self) -> Assurance {
        Assurance::Linked
    }

    fn shows_whole(&self, news: &Announcement) -> bool {
        write::is_whole(news)
    }

    fn hear(&self, posted: &Posted<'_>) -> Result<Heard, NotHeard> {
        hook::hear(&self.secret, posted, self.opened.elapsed())
    }

    fn answer(&self, word: &Word, reply: &str) -> Option<Posting> {
        (word.reply_to == hook::HERE).then(|| hook::answer(reply))
    }

    fn reply<'a>(&'a self, word: &'a Word, reply: &'a str) -> Sending<'a, ()> {
        Box::pin(async {
            let user = hook::user(&word.account);
            let message = write::reply(reply, &word.reply_to, user);
            self.platform.call("chat.postEphemeral", &message).await?;
            Ok(())
        })
    }

    fn command(&self, word: &str) -> String {
        format!("/countersign {word}")
    }
}
