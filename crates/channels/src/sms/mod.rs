//! SMS through Twilio. Sender numbers can be forged, so an approval needs the digits that only the
//! phone was sent; a denial does not.

mod segments;
mod signature;

use std::path::PathBuf;
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
    HookError, HookRequest, HookResponse, PersonReply, Receipt, ReceivedReplies, ReplyContent,
    ReplyReceiver, RequestRef,
};
use segments::{cut, segments};

/// The maximum number of SMS segments of one text.
const MAX_SEGMENTS: usize = 3;
/// A longer text never fits, in bytes: 153 characters per segment, each of at most four bytes.
const MAX_BYTES: usize = MAX_SEGMENTS * 153 * 4;
/// The longest sentence that is tried first, in bytes.
const SENTENCE: usize = 400;
/// The longest form that Twilio sends, in bytes.
const MAX_FORM: usize = 64 * 1024;
/// The number of digits of a code.
const DIGITS: usize = 6;
/// The reply to an approval without digits.
const NEEDS_DIGITS: &str = "Not approved. An approval by SMS needs the six digits of the message, \
                            such as: APPROVE 482913";
/// Marks such an approval.
const NO_DIGITS: &str = "no digits";

/// What an operator configures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmsSettings {
    /// The account's id (`AC…`).
    pub account: String,
    /// The file of its token, which also signs what Twilio sends us.
    pub token_file: PathBuf,
    /// Our number, or a messaging service (`MG…`).
    pub from: String,
    /// The number that gets the messages.
    pub to: String,
    /// The base URL of the API.
    pub base_url: String,
    /// Our hook, exactly as configured at Twilio; without it people cannot answer.
    pub hook_url: Option<String>,
    /// Whether this machine and private networks may be reached.
    pub allow_private: bool,
    /// How long one attempt may take.
    pub timeout: Duration,
}

impl SmsSettings {
    /// What is wrong with the settings, if anything.
    pub fn problem(&self) -> Option<String> {
        let name = |text: &str, begin: &str| {
            let rest = text.strip_prefix(begin);
            rest.is_some_and(|rest| {
                rest.len() == 32 && rest.bytes().all(|byte| byte.is_ascii_hexdigit())
            })
        };
        if !name(&self.account, "AC") {
            return Some("account: must be AC followed by 32 hexadecimal digits".to_owned());
        }
        if !is_number(&self.from) && !name(&self.from, "MG") {
            return Some(
                "from: must be a number such as +15551234567, or a service MG…".to_owned(),
            );
        }
        if !is_number(&self.to) {
            return Some("to: must be a number such as +15551234567".to_owned());
        }
        let urls = [("base_url", Some(&self.base_url)), ("hook_url", self.hook_url.as_ref())];
        urls.into_iter().find_map(|(field, url)| {
            HttpUrl::parse(url?).err().map(|problem| format!("{field}: {problem}"))
        })
    }
}

/// Whether this is a phone number in E.164 format.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or_default();
    (7..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

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

/// Parses a text; the second value marks an approval without digits.
fn read(text: &str) -> (ReplyContent, &'static str) {
    let content =
        ReplyContent::parse('/', &format!("/{}", text.trim())).unwrap_or(ReplyContent::Help);
    let ReplyContent::Approve(which) = content else { return (content, "") };
    let words: Vec<&str> =
        [which.name.as_str()].into_iter().chain(which.reason.split_whitespace()).collect();
    let is_code =
        |word: &&&str| word.len() == DIGITS && word.bytes().all(|byte| byte.is_ascii_digit());
    // The agent may know the word pair; it does not know the digits.
    let Some(code) = words.iter().find(is_code) else { return (ReplyContent::Help, NO_DIGITS) };
    let reason = words.iter().filter(|word| !is_code(word)).copied().collect::<Vec<_>>().join(" ");
    (ReplyContent::Approve(RequestRef { name: (*code).to_owned(), reason }), "")
}

/// A response in `TwiML`; an empty text sends no message.
fn twiml(reply: &str) -> HookResponse {
    let reply = cut(reply, MAX_SEGMENTS);
    let reply = reply.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let inside = if reply.is_empty() { reply } else { format!("<Message>{reply}</Message>") };
    let body = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?><Response>{inside}</Response>");
    HookResponse { content_type: "text/xml; charset=utf-8", body }
}

#[cfg(test)]
mod tests;
