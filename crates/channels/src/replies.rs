//! Replies of people through a channel. A channel parses a reply and verifies that the platform
//! sent it; the daemon decides what it means and whether it counts.

use std::fmt;

use countersign_types::time::Timestamp;
use countersign_workflow::assurance::Assurance;

use crate::{Announcement, ChannelError, ChannelFuture};

/// A channel through which people can answer.
pub trait ReplyReceiver: Send + Sync + fmt::Debug {
    /// The assurance of an answer through this channel.
    fn assurance(&self) -> Assurance;

    /// Whether the message shows the whole call: only then can it be approved here.
    fn shows_whole_call(&self, news: &Announcement) -> bool;

    /// The person to whom all answers are attributed, where the platform cannot tell accounts
    /// apart and the operator configured one.
    fn person(&self) -> Option<&str> {
        None
    }

    /// Polls for replies. Where the platform calls our hook instead, this never returns.
    fn listen(&self) -> ChannelFuture<'_, Vec<PersonReply>> {
        Box::pin(std::future::pending())
    }

    /// Parses what was posted to our hook and verifies that the platform sent it.
    fn receive(&self, posted: &HookRequest<'_>) -> Result<ReceivedReplies, HookError> {
        let _ = posted;
        Err(HookError::NoHook)
    }

    /// A delivery failure that the platform reports for a message that it had accepted; called only
    /// for posts that were verified.
    fn delivery_failure(&self, posted: &HookRequest<'_>) -> Option<DeliveryFailure> {
        let _ = posted;
        None
    }

    /// The reply in the same HTTP response, where the platform wants it there.
    fn hook_response(&self, received: &PersonReply, reply: &str) -> Option<HookResponse> {
        let _ = (received, reply);
        None
    }

    /// Tells the sender of a reply what became of it.
    fn reply<'a>(&'a self, received: &'a PersonReply, reply: &'a str) -> ChannelFuture<'a, ()>;

    /// Sends a text that only this account can read; none where the platform has no such message.
    fn direct_message<'a>(
        &'a self,
        account: &'a str,
        text: &'a str,
    ) -> Option<ChannelFuture<'a, ()>> {
        let _ = (account, text);
        None
    }

    /// Whether a test message can have a button, so that the return path is tested too.
    fn supports_test_button(&self) -> bool {
        false
    }

    /// How a command is written here: `/approve`, `!approve`.
    fn command_text(&self, name: &str) -> String {
        format!("/{name}")
    }

    /// A URL that sends the linking code when it is opened, where the platform has one.
    fn link_url(&self, code: &str) -> Option<String> {
        let _ = code;
        None
    }
}

/// A message that the platform had accepted and could not deliver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryFailure {
    /// The platform's id of the message.
    pub message: String,
    /// What went wrong.
    pub error: ChannelError,
}

/// One reply. Only what the platform vouches for is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonReply {
    /// The platform's id of the account, which does not change and cannot be chosen.
    pub account: String,
    /// The display name of the account, which its owner can choose freely.
    pub display_name: String,
    /// The parsed reply.
    pub content: ReplyContent,
    /// The platform's id of this reply: the same if it is delivered twice.
    pub key: String,
    /// What the channel needs to answer this reply.
    pub reply_to: String,
}

/// A reply, parsed as far as possible without knowing any request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyContent {
    /// A button, with its payload.
    Button(String),
    /// A button with a reason.
    Reasoned {
        /// The payload of the button.
        button: String,
        /// The reason as typed.
        reason: String,
        /// The two words as typed; empty if none.
        words: String,
    },
    /// An approval as text.
    Approve(RequestRef),
    /// A denial as text.
    Deny(RequestRef),
    /// A question for pending requests.
    Pending,
    /// Stops every call.
    Freeze,
    /// A code that links this account to a person.
    Link(String),
    /// Anything else that was addressed to us.
    Help,
}

/// Which request, and the reason, as typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestRef {
    /// The word pair, the code or the id; empty if none was given.
    pub name: String,
    /// The rest of the line.
    pub reason: String,
}

impl ReplyContent {
    /// Parses a line such as `/approve olive-tractor looks right`; nothing if it does not begin
    /// with the command prefix.
    pub fn parse(sign: char, text: &str) -> Option<ReplyContent> {
        let line = text.trim().strip_prefix(sign)?;
        let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        // Telegram writes `/approve@our_bot` in groups.
        let command = command.split_once('@').map_or(command, |(command, _)| command);
        let rest = rest.trim();
        let (name, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let which = || RequestRef { name: name.to_owned(), reason: reason.trim().to_owned() };
        Some(match command.to_ascii_lowercase().as_str() {
            "approve" | "yes" => ReplyContent::Approve(which()),
            "deny" | "no" => ReplyContent::Deny(which()),
            "pending" => ReplyContent::Pending,
            "freeze" => ReplyContent::Freeze,
            "link" => ReplyContent::Link(name.to_owned()),
            // Telegram's deep links say `/start CODE`.
            "start" if !name.is_empty() => ReplyContent::Link(name.to_owned()),
            _ => ReplyContent::Help,
        })
    }
}

/// An HTTP request to our hook.
pub struct HookRequest<'a> {
    /// The whole URL as the platform called it.
    pub url: &'a str,
    /// A header by name, if it is present exactly once.
    pub header: &'a (dyn Fn(&str) -> Option<&'a str> + Sync),
    /// The unchanged body.
    pub body: &'a [u8],
    /// Now.
    pub now: Timestamp,
}

/// The replies in a hook's post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedReplies {
    /// The replies; empty where the platform only checks that we are reachable.
    pub replies: Vec<PersonReply>,
    /// The response if no reply has an answer of its own.
    pub response: HookResponse,
}

/// The body of an HTTP response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookResponse {
    /// Its content type.
    pub content_type: &'static str,
    /// The body.
    pub body: String,
}

impl HookResponse {
    /// A JSON body.
    pub fn json(value: &serde_json::Value) -> HookResponse {
        HookResponse { content_type: "application/json", body: value.to_string() }
    }
}

/// Why a post to the hook was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HookError {
    /// This channel has no hook.
    #[error("this channel has no hook")]
    NoHook,
    /// The signature is missing or wrong, or the timestamp is too old or too new.
    #[error("the signature is missing or invalid, or the timestamp is not current")]
    Forged,
    /// The post is signed by the platform and still cannot be parsed.
    #[error("the body could not be parsed")]
    Unreadable,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_people_type_them() {
        let which = |name: &str, reason: &str| RequestRef {
            name: name.to_owned(),
            reason: reason.to_owned(),
        };
        for (text, content) in [
            ("/approve olive-tractor", Some(ReplyContent::Approve(which("olive-tractor", "")))),
            ("/Approve@bot  olive-tractor  it is fine ", {
                Some(ReplyContent::Approve(which("olive-tractor", "it is fine")))
            }),
            ("/deny", Some(ReplyContent::Deny(which("", "")))),
            ("/pending", Some(ReplyContent::Pending)),
            ("/freeze", Some(ReplyContent::Freeze)),
            ("/link AB12-CD34", Some(ReplyContent::Link("AB12-CD34".to_owned()))),
            ("/start AB12-CD34", Some(ReplyContent::Link("AB12-CD34".to_owned()))),
            ("/start", Some(ReplyContent::Help)),
            ("/approved", Some(ReplyContent::Help)),
            ("approve olive-tractor", None),
            ("ok", None),
            ("", None),
        ] {
            assert_eq!(ReplyContent::parse('/', text), content, "{text}");
        }
        assert_eq!(
            ReplyContent::parse('!', "!yes"),
            Some(ReplyContent::Approve(RequestRef::default()))
        );
    }
}
