//! SMS through Twilio. Sender numbers can be forged, so an approval needs the digits that only the
//! phone was sent; a denial does not.

mod replies;
mod segments;
mod settings;
mod signature;

use std::time::Duration;

use countersign_json::base64;
use countersign_net::{Client, HttpRequest, HttpUrl};
use countersign_types::tier::Tier;
use countersign_workflow::assurance::Assurance;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::form::{self, Form};
use crate::http::check_status;
use crate::message::{FittedText, Message};
use crate::secret::Token;
use crate::{
    Announcement, AnnouncementEvent, Channel, ChannelError, ChannelFuture, DeliveryFailure,
    HookError, HookRequest, HookResponse, PersonReply, Receipt, ReceivedReplies, ReplyReceiver,
};
use replies::{NEEDS_DIGITS, NO_DIGITS, read, twiml};
use segments::{MAX_SEGMENTS, cut, segments};
pub use settings::SmsSettings;

/// A longer text never fits, in bytes: 153 characters per segment, each of at most four bytes.
const MAX_BYTES: usize = MAX_SEGMENTS * 153 * 4;
/// The longest sentence that is tried first, in bytes.
const SENTENCE: usize = 400;
/// The longest form that Twilio sends, in bytes.
const MAX_FORM: usize = 64 * 1024;

/// A phone.
#[derive(Debug)]
pub struct Sms {
    name: String,
    max_tier: Tier,
    api: HttpUrl,
    account: String,
    token: Token,
    from: String,
    to: String,
    hook_url: Option<String>,
    client: Client,
    timeout: Duration,
}

impl Sms {
    /// Reads the token.
    pub fn open(name: String, max_tier: Tier, settings: &SmsSettings) -> Result<Sms, ChannelError> {
        let base = HttpUrl::parse(&settings.base_url).map_err(ChannelError::permanent)?;
        let path = format!("/2010-04-01/Accounts/{}/Messages.json", settings.account);
        Ok(Sms {
            name,
            max_tier,
            api: base.join(&path).map_err(ChannelError::permanent)?,
            account: settings.account.clone(),
            token: Token::read(&settings.token_file)
                .map_err(|error| ChannelError::permanent(error.to_string()))?,
            from: settings.from.clone(),
            to: settings.to.clone(),
            hook_url: settings.hook_url.clone(),
            client: Client::new(settings.allow_private),
            timeout: settings.timeout,
        })
    }

    async fn send(&self, to: &str, text: &str) -> Result<Receipt, ChannelError> {
        let from = if self.from.starts_with("MG") { "MessagingServiceSid" } else { "From" };
        let mut fields = vec![("To", to), (from, self.from.as_str()), ("Body", text)];
        fields.extend(self.hook_url.as_deref().map(|url| ("StatusCallback", url)));
        let secret = Zeroizing::new(format!("{}:{}", self.account, self.token.expose()));
        let login = Zeroizing::new(format!("Basic {}", base64::encode(secret.as_bytes())));
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("authorization", login.as_str()),
        ];
        let body = form::write(&fields).into_bytes();
        let request = HttpRequest { method: "POST", url: &self.api, headers: &headers, body };
        let reply = self.client.exchange(request, self.timeout).await?;
        let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        if let Err(mut error) = check_status(&reply, "Twilio") {
            if let Some(code) = body.get("code").and_then(Value::as_u64) {
                error.problem = format!("{} (error {code})", error.problem);
            }
            return Err(error);
        }
        let name = body.get("sid").and_then(Value::as_str);
        Ok(Receipt(name.unwrap_or_default().to_owned()))
    }

    /// The text about a request, within the limit of segments.
    fn text(&self, news: &Announcement) -> FittedText {
        let answers = self.hook_url.is_some();
        let fit = |room: usize| {
            news.fitted(MAX_SEGMENTS, measure, |message: &Message| {
                render(news, message, room, answers)
            })
        };
        let fitted = fit(SENTENCE);
        if measure(&fitted.text) <= MAX_SEGMENTS {
            return fitted;
        }
        // Too long even without the call, so the sentence is shortened too.
        let mut room = SENTENCE;
        while room > 0 && measure(&render(news, &news.message(0), room, answers)) > MAX_SEGMENTS {
            room = room * 3 / 4;
        }
        let fitted = fit(room);
        if measure(&fitted.text) <= MAX_SEGMENTS {
            return fitted;
        }
        let text = format!("{}: decide in the inbox: {}", news.tier.label(), news.link());
        FittedText { text: cut(&text, MAX_SEGMENTS), whole: false }
    }

    /// The form, if Twilio sent it to us.
    fn proven(&self, posted: &HookRequest<'_>) -> Result<Form, HookError> {
        let url = self.hook_url.as_deref().ok_or(HookError::NoHook)?;
        let signature = (posted.header)("x-twilio-signature").ok_or(HookError::Forged)?;
        let body = Some(posted.body).filter(|body| body.len() <= MAX_FORM);
        let fields = body.and_then(Form::read).ok_or(HookError::Forged)?;
        let ours = fields.get("AccountSid") == Some(self.account.as_str());
        if ours && signature::is_signed(&self.token, url, &fields, signature) {
            Ok(fields)
        } else {
            Err(HookError::Forged)
        }
    }
}

/// Counts segments; a text that is far too long is not read for that.
fn measure(text: &str) -> usize {
    if text.len() > MAX_BYTES { MAX_SEGMENTS + 1 } else { segments(text) }
}

/// Without emoji and ellipses: one character outside the GSM alphabet makes every character larger.
fn render(news: &Announcement, message: &Message, room: usize, answers: bool) -> String {
    let title = message.title.strip_prefix(news.tier.emoji()).unwrap_or(&message.title).trim();
    let mut sentence = message.sentence.replace('…', "...");
    if sentence.len() > room {
        let end = sentence.floor_char_boundary(room);
        sentence = format!("{}...", sentence.get(..end).unwrap_or_default());
    }
    let over = matches!(news.news, AnnouncementEvent::Ended(_));
    let mut lines = vec![if over { format!("{title}.") } else { format!("{title}. {sentence}") }];
    if !message.call.is_empty() {
        lines.push(message.call.clone());
    }
    if !message.missing.is_empty() {
        lines.push(message.missing.replace('…', "..."));
    }
    lines.push(message.advice.clone());
    if let Some(ways) = news.ways.as_ref().filter(|_| answers) {
        let whole = !message.call.is_empty() && message.missing.is_empty();
        lines.push(if ways.one_tap().is_some() && whole {
            format!("Reply DENY {0} or APPROVE {0}", ways.code)
        } else {
            format!("Reply DENY {}", ways.code)
        });
    }
    lines.join("\n")
}

impl Channel for Sms {
    fn name(&self) -> &str {
        &self.name
    }

    fn max_tier(&self) -> Tier {
        self.max_tier
    }

    fn announce<'a>(&'a self, news: &'a Announcement) -> ChannelFuture<'a, Receipt> {
        Box::pin(async { self.send(&self.to, &self.text(news).text).await })
    }

    fn withdraw<'a>(
        &'a self,
        _prompt: Option<&'a Receipt>,
        end: &'a Announcement,
    ) -> ChannelFuture<'a, ()> {
        Box::pin(async {
            // The person who answered here was told in the reply.
            let here = format!("through {}", self.name);
            if matches!(&end.news, AnnouncementEvent::Ended(ending) if ending.place == here) {
                return Ok(());
            }
            self.send(&self.to, &self.text(end).text).await.map(|_| ())
        })
    }

    fn reply_receiver(&self) -> Option<&dyn ReplyReceiver> {
        self.hook_url.is_some().then_some(self as &dyn ReplyReceiver)
    }
}

impl ReplyReceiver for Sms {
    fn assurance(&self) -> Assurance {
        Assurance::Reached
    }

    fn shows_whole_call(&self, news: &Announcement) -> bool {
        self.text(news).whole
    }

    fn receive(&self, posted: &HookRequest<'_>) -> Result<ReceivedReplies, HookError> {
        let fields = self.proven(posted)?;
        let response = twiml("");
        // A delivery report about one of our messages.
        if fields.get("MessageStatus").is_some() {
            return Ok(ReceivedReplies { replies: Vec::new(), response });
        }
        let field = |name| fields.get(name).ok_or(HookError::Unreadable);
        let (number, text, key) = (field("From")?, field("Body")?, field("MessageSid")?);
        let (content, mark) = read(text);
        let received = PersonReply {
            account: number.to_owned(),
            display_name: number.to_owned(),
            content,
            key: key.to_owned(),
            reply_to: mark.to_owned(),
        };
        Ok(ReceivedReplies { replies: vec![received], response })
    }

    fn delivery_failure(&self, posted: &HookRequest<'_>) -> Option<DeliveryFailure> {
        let fields = self.proven(posted).ok()?;
        let status = fields.get("MessageStatus")?;
        let message = fields.get("MessageSid").unwrap_or_default().to_owned();
        matches!(status, "failed" | "undelivered").then(|| {
            let code = fields
                .get("ErrorCode")
                .filter(|code| code.len() <= 10 && code.bytes().all(|byte| byte.is_ascii_digit()));
            let code = code.map_or_else(String::new, |code| format!(" (error {code})"));
            let problem = format!("Twilio could not deliver a message{code}");
            DeliveryFailure { message, error: ChannelError::again(problem) }
        })
    }

    fn hook_response(&self, received: &PersonReply, reply: &str) -> Option<HookResponse> {
        Some(twiml(if received.reply_to == NO_DIGITS { NEEDS_DIGITS } else { reply }))
    }

    fn reply<'a>(&'a self, received: &'a PersonReply, reply: &'a str) -> ChannelFuture<'a, ()> {
        Box::pin(async {
            self.send(&received.account, &cut(reply, MAX_SEGMENTS)).await.map(|_| ())
        })
    }

    fn command_text(&self, name: &str) -> String {
        name.to_uppercase()
    }
}

#[cfg(test)]
mod tests;
