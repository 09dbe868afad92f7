//! ntfy: push messages to the subscribers of a topic. Several people may know the topic, so an
//! answer proves only that a subscriber was reached.

use std::path::PathBuf;
use std::time::Duration;

use countersign_net::{Client, HttpRequest, HttpUrl};
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::assurance::Assurance;
use serde_json::{Value, json};

use crate::http::check_status;
use crate::message::{FittedText, Message};
use crate::secret::{SecretError, Secrets, Token};
use crate::{
    Announcement, AnnouncementEvent, Channel, ChannelError, ChannelFuture, HookError, HookRequest,
    HookResponse, PersonReply, Receipt, ReceivedReplies, ReplyContent, ReplyReceiver,
};

/// The longest text of a message, in bytes; ntfy turns a longer one into an attachment.
const LONGEST: usize = 4_000;
/// The longest topic.
const TOPIC: usize = 64;
/// The longest payload of a button.
const BUTTON: usize = 64;
/// Seconds after which the same button counts as pressed again.
const AGAIN: i64 = 10;
/// The header with which a button proves that it comes from one of our messages.
const PROOF: &str = "x-countersign-proof";

/// What an operator configures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NtfySettings {
    /// The server.
    pub url: String,
    /// The topic: everyone who knows it can read and write there.
    pub topic: String,
    /// The file of the token, where the server wants one.
    pub token_file: Option<PathBuf>,
    /// How buttons in the message answer, if there are any.
    pub hook: Option<NtfyHook>,
    /// Whether this machine and private networks may be reached.
    pub allow_private: bool,
    /// How long one attempt may take.
    pub timeout: Duration,
}

/// How buttons answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NtfyHook {
    /// Our hook, as a phone reaches it.
    pub url: String,
    /// The file of the secret that signs the payloads of buttons: `whsec_` and base64.
    pub secret_file: PathBuf,
    /// The person to whom answers are attributed.
    pub person: String,
}

impl NtfySettings {
    /// What is wrong with the URLs or the topic, if anything.
    pub fn problem(&self) -> Option<String> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if self.topic.is_empty() || self.topic.len() > TOPIC || !self.topic.bytes().all(plain) {
            return Some(format!(
                "topic: must have 1 to {TOPIC} characters of a-z, A-Z, 0-9, - and _"
            ));
        }
        let urls = [("url", Some(&self.url)), ("hook_url", self.hook.as_ref().map(|h| &h.url))];
        urls.into_iter().find_map(|(field, url)| {
            HttpUrl::parse(url?).err().map(|problem| format!("{field}: {problem}"))
        })
    }
}

/// A topic.
#[derive(Debug)]
pub struct Ntfy {
    name: String,
    max_tier: Tier,
    server: HttpUrl,
    topic: String,
    token: Option<Token>,
    hook: Option<Buttons>,
    client: Client,
    timeout: Duration,
}

#[derive(Debug)]
struct Buttons {
    url: String,
    secrets: Secrets,
    person: String,
}

impl Ntfy {
    /// Reads the secrets.
    pub fn open(
        name: String,
        max_tier: Tier,
        settings: &NtfySettings,
    ) -> Result<Ntfy, ChannelError> {
        let unread = |error: SecretError| ChannelError::permanent(error.to_string());
        let token = settings.token_file.as_ref().map(|file| Token::read(file)).transpose();
        let hook = settings.hook.as_ref().map(|hook| {
            let secrets = Secrets::read(&hook.secret_file)?;
            Ok(Buttons { url: hook.url.clone(), secrets, person: hook.person.clone() })
        });
        Ok(Ntfy {
            name,
            max_tier,
            server: HttpUrl::parse(&settings.url).map_err(ChannelError::permanent)?,
            topic: settings.topic.clone(),
            token: token.map_err(unread)?,
            hook: hook.transpose().map_err(unread)?,
            client: Client::new(settings.allow_private),
            timeout: settings.timeout,
        })
    }

    async fn publish(&self, message: &Value) -> Result<Receipt, ChannelError> {
        let bearer = self.token.as_ref().map(|token| format!("Bearer {}", token.expose()));
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        let body = message.to_string().into_bytes();
        let request = HttpRequest { method: "POST", url: &self.server, headers: &headers, body };
        let reply = self.client.exchange(request, self.timeout).await?;
        check_status(&reply, "the ntfy server")?;
        let body: Option<Value> = serde_json::from_slice(&reply.body).ok();
        let id = body.as_ref().and_then(|body| body.get("id")?.as_str());
        Ok(Receipt(id.unwrap_or_default().to_owned()))
    }

    /// The message as the server takes it.
    fn message(&self, news: &Announcement) -> Value {
        let FittedText { text, whole } = fitted(news);
        let mut message = json!({
            "topic": self.topic,
            "title": news.title(),
            "message": text,
            "priority": priority(news),
            "click": news.link(),
        });
        if let Some(message) = message.as_object_mut() {
            if !matches!(news.news, AnnouncementEvent::Notice(_)) {
                // A later message about a request replaces the earlier one on the phone. A server
                // that does not support this shows a second message.
                message.insert("sequence_id".to_owned(), json!(news.request));
            }
            if matches!(news.news, AnnouncementEvent::Asked | AnnouncementEvent::Escalated) {
                message.insert("actions".to_owned(), self.actions(news, whole));
            }
        }
        message
    }

    fn actions(&self, news: &Announcement, whole: bool) -> Value {
        let mut actions = Vec::new();
        if let (Some(hook), Some(ways)) = (&self.hook, &news.ways) {
            actions.push(hook.action("Deny", &ways.deny, &self.topic, news.deadline));
            if let Some(approve) = ways.one_tap().filter(|_| whole) {
                actions.push(hook.action("Approve once", approve, &self.topic, news.deadline));
            }
        }
        actions.push(json!({ "action": "view", "label": "Open", "url": news.link() }));
        Value::Array(actions)
    }
}

impl Buttons {
    fn action(&self, label: &str, button: &str, topic: &str, until: Timestamp) -> Value {
        // Every subscriber gets this proof; it is valid for one answer until the deadline.
        let until = until.seconds();
        let proof = format!("{until} {}", self.secrets.sign(button, until, topic));
        json!({
            "action": "http", "label": label, "url": self.url, "method": "POST",
            "headers": { PROOF: proof }, "body": button, "clear": true,
        })
    }

    /// The payload of the pressed button, if its proof is valid and not expired.
    fn pressed<'a>(&self, posted: &HookRequest<'a>, topic: &str) -> Option<&'a str> {
        let body = posted.body.get(..posted.body.len().min(BUTTON + 1))?;
        let button = std::str::from_utf8(body).ok().filter(|text| text.len() <= BUTTON)?;
        let (until, signature) = (posted.header)(PROOF)?.split_once(' ')?;
        let seconds: i64 = until.parse().ok()?;
        let holds = seconds.to_string() == until
            && posted.now.seconds() <= seconds
            && self.secrets.holds(button, seconds, topic.as_bytes(), signature);
        holds.then_some(button)
    }
}

/// The ntfy priority.
fn priority(news: &Announcement) -> u8 {
    match (&news.news, news.tier) {
        (AnnouncementEvent::Ended(_), _) => 2,
        (AnnouncementEvent::Notice(_), _) => 3,
        (_, Tier::Critical) => 5,
        _ if news.crisis => 5,
        (_, Tier::High) => 4,
        (_, Tier::Safe | Tier::Low | Tier::Medium) => 3,
    }
}

fn fitted(news: &Announcement) -> FittedText {
    news.fitted(LONGEST, str::len, |message: &Message| {
        let parts = [&message.sentence, &message.call, &message.missing];
        let reasons = message.reasons.join("\n");
        let parts = parts.into_iter().chain([&reasons, &message.advice]);
        let parts: Vec<&str> = parts.map(String::as_str).filter(|part| !part.is_empty()).collect();
        parts.join("\n\n")
    })
}

impl Channel for Ntfy {
    fn name(&self) -> &str {
        &self.name
    }

    fn max_tier(&self) -> Tier {
        self.max_tier
    }

    fn announce<'a>(&'a self, news: &'a Announcement) -> ChannelFuture<'a, Receipt> {
        Box::pin(async { self.publish(&self.message(news)).await })
    }

    fn withdraw<'a>(
        &'a self,
        _prompt: Option<&'a Receipt>,
        end: &'a Announcement,
    ) -> ChannelFuture<'a, ()> {
        Box::pin(async { self.publish(&self.message(end)).await.map(|_| ()) })
    }

    fn reply_receiver(&self) -> Option<&dyn ReplyReceiver> {
        self.hook.is_some().then_some(self as &dyn ReplyReceiver)
    }
}

impl ReplyReceiver for Ntfy {
    fn assurance(&self) -> Assurance {
        Assurance::Reached
    }

    fn shows_whole_call(&self, news: &Announcement) -> bool {
        fitted(news).whole
    }

    fn person(&self) -> Option<&str> {
        self.hook.as_ref().map(|hook| hook.person.as_str())
    }

    fn receive(&self, posted: &HookRequest<'_>) -> Result<ReceivedReplies, HookError> {
        let hook = self.hook.as_ref().ok_or(HookError::NoHook)?;
        let button = hook.pressed(posted, &self.topic).ok_or(HookError::Forged)?;
        let received = PersonReply {
            // The topic itself stays a secret.
            account: "a subscriber of the topic".to_owned(),
            display_name: String::new(),
            content: ReplyContent::Button(button.to_owned()),
            // A duplicate delivery has the same key; a later press has another.
            key: format!("{button} {}", posted.now.seconds() / AGAIN),
            reply_to: String::new(),
        };
        let body = "Received.".to_owned();
        let response = HookResponse { content_type: "text/plain; charset=utf-8", body };
        Ok(ReceivedReplies { replies: vec![received], response })
    }

    /// The app does not show a hook's response, so the reply is published to the topic.
    fn reply<'a>(&'a self, _received: &'a PersonReply, reply: &'a str) -> ChannelFuture<'a, ()> {
        let message = json!({ "topic": self.topic, "message": reply, "priority": 2 });
        Box::pin(async move { self.publish(&message).await.map(|_| ()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announcement::Ending;
    use crate::announcement::tests::asked;
    use countersign_workflow::request::State;

    fn topic(hook: bool) -> Ntfy {
        let secrets = Secrets::from_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let url = "https://approve.example.org/hooks/phone".to_owned();
        Ntfy {
            name: "phone".to_owned(),
            max_tier: Tier::Critical,
            server: HttpUrl::parse("https://ntfy.example.org").unwrap(),
            topic: "k3TqfX9".to_owned(),
            token: None,
            hook: hook.then(|| Buttons { url, secrets, person: "ana".to_owned() }),
            client: Client::new(false),
            timeout: Duration::from_secs(1),
        }
    }

    fn kinds(message: &Value) -> Vec<(&str, &str)> {
        let actions = message["actions"].as_array().unwrap().iter();
        actions.map(|a| (a["action"].as_str().unwrap(), a["label"].as_str().unwrap())).collect()
    }

    #[test]
    fn without_a_hook_a_message_only_leads_to_the_inbox() {
        let message = topic(false).message(&asked());
        assert_eq!(kinds(&message), [("view", "Open")]);
        assert_eq!(message["click"], asked().link());
        assert_eq!(message["priority"], 4);
        assert!(topic(false).reply_receiver().is_none());
    }

    #[test]
    fn what_is_not_there_whole_has_no_button_to_approve_it() {
        let open = ("view", "Open");
        let deny = ("http", "Deny");
        let whole = topic(true).message(&asked());
        assert_eq!(kinds(&whole), [deny, ("http", "Approve once"), open]);
        for news in [
            Announcement { folded: 9, ..asked() },
            Announcement { call: String::new(), ..asked() },
            Announcement { call: "x".repeat(5_000), ..asked() },
        ] {
            let message = topic(true).message(&news);
            assert_eq!(kinds(&message), [deny, open]);
            assert!(message["message"].as_str().unwrap().len() <= LONGEST);
            assert!(!topic(true).shows_whole_call(&news));
        }
    }

    #[test]
    fn the_end_takes_the_place_of_the_question_and_is_quiet() {
        let (by, place) = ("ana".to_owned(), String::new());
        let news = AnnouncementEvent::Ended(Ending {
            state: State::Denied,
            by,
            place,
            drill: None,
            edited: None,
        });
        let end = topic(true).message(&Announcement { news, ..asked() });
        assert_eq!(end["sequence_id"], topic(true).message(&asked())["sequence_id"]);
        assert!(end.get("actions").is_none() && end["priority"] == 2);
    }

    #[test]
    fn a_button_is_heard_until_the_deadline_and_only_as_it_was_written() {
        let (phone, news) = (topic(true), asked());
        let message = phone.message(&news);
        let action = &message["actions"][0];
        let (proof, body) =
            (action["headers"][PROOF].as_str().unwrap(), action["body"].as_str().unwrap());
        let receive = |phone: &Ntfy, proof: Option<&str>, body: &str, now: Timestamp| {
            let header = |name: &str| if name == PROOF { proof } else { None };
            let body = body.as_bytes();
            phone.receive(&HookRequest { url: "", header: &header, body, now })
        };
        let heard = receive(&phone, Some(proof), body, news.now).unwrap();
        assert_eq!(heard.replies[0].content, ReplyContent::Button(body.to_owned()));
        let late = Timestamp(news.deadline.0 + 1000);
        assert_eq!(receive(&phone, Some(proof), body, late), Err(HookError::Forged));
        let other = Ntfy { topic: "other".to_owned(), ..topic(true) };
        assert_eq!(receive(&other, Some(proof), body, news.now), Err(HookError::Forged));
        let later = proof.replacen("1794700041", "1894700041", 1);
        let yes = body.replacen('d', "a", 1);
        let long = format!("{body}{}", "x".repeat(100));
        for (proof, body) in [
            (None, body),
            (Some(""), body),
            (Some(later.as_str()), body),
            (Some(proof), yes.as_str()),
            (Some(proof), long.as_str()),
            (Some(proof), ""),
        ] {
            assert_eq!(receive(&phone, proof, body, news.now), Err(HookError::Forged), "{proof:?}");
        }
        assert_eq!(receive(&topic(false), Some(proof), body, news.now), Err(HookError::NoHook));
    }

    #[test]
    fn a_topic_and_addresses_are_checked() {
        let good = NtfySettings {
            url: "https://ntfy.sh".to_owned(),
            topic: "k3TqfX9".to_owned(),
            token_file: None,
            hook: None,
            allow_private: false,
            timeout: Duration::from_secs(1),
        };
        assert_eq!(good.problem(), None);
        for topic in ["", "a/b", "a b", "\u{e9}", &"x".repeat(65)] {
            let bad = NtfySettings { topic: topic.to_owned(), ..good.clone() };
            assert!(bad.problem().unwrap().starts_with("topic"), "{topic}");
        }
        let bad = NtfySettings { url: "ntfy.sh".to_owned(), ..good };
        assert!(bad.problem().unwrap().starts_with("url"));
    }
}
