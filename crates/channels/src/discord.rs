//! Discord: messages with buttons in one channel. Replies come through the interactions endpoint,
//! signed by Discord; without an endpoint the channel is polled.

mod api;
mod interactions;
mod poll;
mod poll_state;
mod render;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use countersign_types::tier::Tier;
use countersign_workflow::assurance::Assurance;
use ed25519_dalek::VerifyingKey;
use serde_json::json;
use tokio::sync::Mutex;

use crate::bot_api::BotApi;
use crate::chat::{ChatPlatform, IN_RESPONSE, Prompts, from_hex};
use crate::{Announcement, ChannelError, ChannelFuture, Receipt};
use crate::{HookError, HookRequest, HookResponse, PersonReply, ReceivedReplies, ReplyReceiver};

use api::DiscordApi;
use poll_state::PollState;

/// The base URL of Discord's API.
pub const BASE_URL: &str = "https://discord.com/api/v10";

/// What an operator configures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscordSettings {
    /// The file of the bot's token, readable only by its owner.
    pub token_file: PathBuf,
    /// The channel's id.
    pub channel: String,
    /// The application's public key, where Discord calls our hook.
    pub public_key: Option<String>,
    /// Whether the channel is polled for replies and reactions; always so without a public key.
    pub poll: bool,
    /// The base URL of Discord's API.
    pub base_url: String,
    /// Whether this machine and private networks may be reached.
    pub allow_private: bool,
    /// How long one attempt may take.
    pub timeout: Duration,
}

/// A channel on Discord.
#[derive(Debug)]
pub struct Discord {
    name: String,
    max_tier: Tier,
    api: DiscordApi,
    /// Present where Discord calls our hook.
    key: Option<VerifyingKey>,
    polls: bool,
    opened: Instant,
    poll_state: Mutex<Option<PollState>>,
    prompts: Prompts,
}

impl Discord {
    /// Reads the token and the key.
    pub fn open(
        name: String,
        max_tier: Tier,
        settings: &DiscordSettings,
    ) -> Result<Discord, ChannelError> {
        if !api::is_id(&settings.channel) {
            return Err(ChannelError::permanent(
                "channel must be the id of a Discord channel (digits only)",
            ));
        }
        let key = settings.public_key.as_deref().map(public_key).transpose()?;
        let DiscordSettings { base_url, allow_private, token_file, timeout, .. } = settings;
        let bot = BotApi::open(base_url, *allow_private, token_file, *timeout)?;
        let api = DiscordApi { bot, channel: settings.channel.clone() };
        let polls = settings.poll || key.is_none();
        let (poll_state, prompts) = (Mutex::default(), Prompts::default());
        let opened = Instant::now();
        Ok(Discord { name, max_tier, api, key, polls, opened, poll_state, prompts })
    }

    async fn posted(&self, news: &Announcement) -> Result<Receipt, ChannelError> {
        let methods = render::ReplyMethods { buttons: self.key.is_some(), text: self.polls };
        let message = render::message(news, &self.api.channel, methods);
        let created = self.api.call("POST", &self.api.messages(), Some(&message)).await?;
        let id = created.get("id").and_then(|id| id.as_str()).filter(|id| api::is_id(id));
        let id = id.ok_or_else(|| ChannelError::again("Discord's response could not be parsed"))?;
        Ok(Receipt(format!("{}/{id}", self.api.channel)))
    }

    /// Edits a message to say how the request ended, and removes its buttons.
    async fn ended(&self, receipt: &Receipt, end: &Announcement) -> Result<(), ChannelError> {
        let Some((channel, message)) = receipt.0.split_once('/') else { return Ok(()) };
        if !api::is_id(channel) || !api::is_id(message) {
            return Ok(());
        }
        let path = format!("/channels/{channel}/messages/{message}");
        match self.api.call("PATCH", &path, Some(&render::ended(end))).await {
            // The message was deleted, so there is nothing to edit.
            Err(failed) if failed.code == api::UNKNOWN_MESSAGE => Ok(()),
            other => other.map(|_| ()).map_err(ChannelError::from),
        }
    }

    /// Registers our slash command, with which people answer without posting in the channel.
    async fn register(&self) -> Result<(), ChannelError> {
        let own = self.api.call("GET", "/applications/@me", None).await?;
        let id = own.get("id").and_then(|id| id.as_str()).filter(|id| api::is_id(id));
        let id = id.ok_or_else(|| ChannelError::again("Discord's response could not be parsed"))?;
        let path = format!("/applications/{id}/commands");
        self.api.call("POST", &path, Some(&interactions::command())).await?;
        Ok(())
    }
}

fn public_key(text: &str) -> Result<VerifyingKey, ChannelError> {
    let wrong = || {
        ChannelError::permanent(
            "public_key must be the application's public key (64 hexadecimal digits)",
        )
    };
    let bytes = from_hex::<32>(text).ok_or_else(wrong)?;
    let key = VerifyingKey::from_bytes(&bytes).map_err(|_| wrong())?;
    // Anyone can sign for a weak key.
    if key.is_weak() { Err(wrong()) } else { Ok(key) }
}

impl ChatPlatform for Discord {
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

impl ReplyReceiver for Discord {
    fn assurance(&self) -> Assurance {
        Assurance::Linked
    }

    fn shows_whole_call(&self, news: &Announcement) -> bool {
        render::is_whole(news)
    }

    fn listen(&self) -> ChannelFuture<'_, Vec<PersonReply>> {
        Box::pin(async {
            if self.polls {
                return self.poll().await;
            }
            self.register().await?;
            std::future::pending().await
        })
    }

    fn receive(&self, posted: &HookRequest<'_>) -> Result<ReceivedReplies, HookError> {
        let key = self.key.as_ref().ok_or(HookError::NoHook)?;
        interactions::receive(key, posted, self.opened.elapsed())
    }

    fn hook_response(&self, received: &PersonReply, reply: &str) -> Option<HookResponse> {
        (received.reply_to == IN_RESPONSE).then(|| interactions::response(reply))
    }

    fn reply<'a>(&'a self, received: &'a PersonReply, reply: &'a str) -> ChannelFuture<'a, ()> {
        Box::pin(async {
            let mut message = render::reply(reply);
            if api::is_id(&received.reply_to)
                && let Some(fields) = message.as_object_mut()
            {
                let to = json!({ "message_id": received.reply_to, "fail_if_not_exists": false });
                fields.insert("message_reference".to_owned(), to);
            }
            self.api.call("POST", &self.api.messages(), Some(&message)).await?;
            Ok(())
        })
    }

    fn direct_message<'a>(
        &'a self,
        account: &'a str,
        text: &'a str,
    ) -> Option<ChannelFuture<'a, ()>> {
        api::is_id(account).then(|| -> ChannelFuture<'a, ()> {
            Box::pin(async move {
                let to = json!({ "recipient_id": account });
                let opened = self.api.call("POST", "/users/@me/channels", Some(&to)).await?;
                let id = opened.get("id").and_then(|id| id.as_str()).filter(|id| api::is_id(id));
                let id = id
                    .ok_or_else(|| ChannelError::again("Discord's response could not be parsed"))?;
                let path = format!("/channels/{id}/messages");
                self.api.call("POST", &path, Some(&render::reply(text))).await?;
                Ok(())
            })
        })
    }

    fn command_text(&self, name: &str) -> String {
        if self.polls { format!("!{name}") } else { format!("/{} {name}", interactions::COMMAND) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_for_which_anybody_can_sign_is_refused() {
        for bad in [
            "",
            "zz",
            "0000000000000000000000000000000000000000000000000000000000000000",
            "0100000000000000000000000000000000000000000000000000000000000000",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        ] {
            assert!(public_key(bad).is_err(), "{bad}");
        }
        let good = ed25519_dalek::SigningKey::from_bytes(&[7; 32]).verifying_key();
        let text: Vec<String> = good.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(public_key(&text.concat()).unwrap(), good);
    }
}
