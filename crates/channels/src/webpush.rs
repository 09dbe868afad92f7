//! Web Push to subscribed browsers. Messages are encrypted for the browser (RFC 8291) and signed
//! (RFC 8292); the push service in between cannot read them.

mod sealed;
mod vapid;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use countersign_net::{Client, HttpUrl};
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::http::post;
use crate::{Announcement, Channel, ChannelError, Limits, News, Receipt, Sending};

pub use vapid::VapidKey;

/// The name of this channel, which is always there; no other channel may have it.
pub const NAME: &str = "webpush";
/// How long one push may take.
const TIMEOUT: Duration = Duration::from_secs(15);
/// How long a push service keeps the end of a request, in seconds.
const END_IS_NEWS: u64 = 600;
/// The longest part of a call in a message, in bytes.
const CALL: usize = 1_500;

/// What an operator may configure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The operator's contact for push services: `mailto:` or `https:`.
    pub contact: Option<String>,
    /// Whether this machine and private networks may be reached.
    pub allow_private: bool,
}

/// One browser.
#[derive(Clone, PartialEq, Eq)]
pub struct Browser {
    /// The push URL, which is a secret: everyone who knows it can send.
    pub endpoint: String,
    /// Its P-256 key, uncompressed.
    pub public_key: Vec<u8>,
    /// The authentication secret of the subscription.
    pub secret: Vec<u8>,
}

impl fmt::Debug for Browser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Browser")
    }
}

impl Browser {
    /// What is wrong with the subscription, if anything.
    pub fn problem(&self) -> Option<&'static str> {
        match HttpUrl::parse(&self.endpoint) {
            Err(problem) => Some(problem),
            Ok(_) if self.secret.len() != 16 => Some("`auth` must have 16 bytes"),
            Ok(_) if sealed::seal(self, b"").is_err() => Some("`p256dh` must be a P-256 key"),
            Ok(_) => None,
        }
    }
}

/// The subscribed browsers. The daemon keeps the list equal to its store, and removes browsers
/// that push services report as gone.
#[derive(Debug, Default)]
pub struct Browsers {
    list: RwLock<Vec<Browser>>,
    key: RwLock<Option<Arc<VapidKey>>>,
    gone: Mutex<Vec<String>>,
    lost: Notify,
}

impl Browsers {
    /// Sets our key for push services.
    pub fn set_key(&self, key: VapidKey) {
        *self.key.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(key));
    }

    /// Our public key, if there is one.
    pub fn public_key(&self) -> Option<Vec<u8>> {
        self.key().map(|key| key.public().to_vec())
    }

    fn key(&self) -> Option<Arc<VapidKey>> {
        self.key.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The list as it is now.
    pub fn set(&self, list: Vec<Browser>) {
        *self.list.write().unwrap_or_else(PoisonError::into_inner) = list;
    }

    /// Whether any browser is subscribed.
    pub fn any(&self) -> bool {
        !self.list.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn all(&self) -> Vec<Browser> {
        self.list.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for browsers that are gone, and returns their push URLs.
    pub async fn gone(&self) -> Vec<String> {
        loop {
            let waits = self.lost.notified();
            let gone =
                std::mem::take(&mut *self.gone.lock().unwrap_or_else(PoisonError::into_inner));
            if !gone.is_empty() {
                return gone;
            }
            waits.await;
        }
    }

    fn lose(&self, endpoint: &str) {
        let mut list = self.list.write().unwrap_or_else(PoisonError::into_inner);
        list.retain(|browser| browser.endpoint != endpoint);
        drop(list);
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        gone.push(endpoint.to_owned());
        drop(gone);
        self.lost.notify_one();
    }
}

/// The channel to all browsers.
#[derive(Debug)]
pub struct WebPush {
    name: String,
    most: Tier,
    details: bool,
    settings: Settings,
    client: Client,
    browsers: Arc<Browsers>,
}

/// The result of one push.
enum Pushed {
    Taken,
    Gone(String),
    Failed(ChannelError),
}

impl WebPush {
    /// Over the daemon's list.
    pub fn new(
        name: &str,
        limits: Limits,
        settings: &Settings,
        browsers: Arc<Browsers>,
    ) -> WebPush {
        WebPush {
            name: name.to_owned(),
            most: limits.most,
            details: limits.details,
            client: Client::new(settings.allow_private),
            settings: settings.clone(),
            browsers,
        }
    }

    /// Sends to every browser. One success is enough: a retry would send a second message to the
    /// browsers that got the first.
    async fn call(&self, news: &Announcement) -> Result<(), ChannelError> {
        let browsers = self.browsers.all();
        if browsers.is_empty() {
            return Err(ChannelError::permanent(
                "no browser is subscribed: enable notifications in the inbox",
            ));
        }
        let key = self.browsers.key();
        let key =
            key.ok_or_else(|| ChannelError::permanent("the daemon has no key for Web Push"))?;
        let text: Arc<str> = payload(news, self.details).into();
        let mut pushes = JoinSet::new();
        for browser in browsers {
            // In parallel, so that one slow push service does not delay the others.
            let push = Push {
                browser,
                key: Arc::clone(&key),
                client: self.client.clone(),
                contact: self.settings.contact.clone(),
                text: Arc::clone(&text),
                topic: topic(news),
                urgency: urgency(news),
                seconds: lasts(news),
                now: news.now,
            };
            pushes.spawn(push.send());
        }
        let (mut reached, mut newest) = (false, None);
        while let Some(pushed) = pushes.join_next().await {
            match pushed {
                Ok(Pushed::Taken) => reached = true,
                Ok(Pushed::Gone(endpoint)) => self.browsers.lose(&endpoint),
                Ok(Pushed::Failed(error)) => newest = Some(error),
                Err(_) => newest = Some(ChannelError::again("a push was cancelled")),
            }
        }
        match newest {
            _ if reached => Ok(()),
            Some(error) => Err(error),
            None => Err(ChannelError::permanent(
                "every subscription has expired: enable notifications in the inbox again",
            )),
        }
    }
}

/// One message to one browser.
struct Push {
    browser: Browser,
    key: Arc<VapidKey>,
    client: Client,
    contact: Option<String>,
    text: Arc<str>,
    topic: String,
    urgency: &'static str,
    seconds: u64,
    now: Timestamp,
}

impl Push {
    async fn send(self) -> Pushed {
        let url = match HttpUrl::parse(&self.browser.endpoint) {
            Ok(url) => url,
            Err(problem) => return Pushed::Failed(ChannelError::permanent(problem)),
        };
        let Ok(body) = sealed::seal(&self.browser, self.text.as_bytes()) else {
            return Pushed::Failed(ChannelError::permanent(
                "the message could not be encrypted for the browser",
            ));
        };
        let contact = self.contact.as_deref();
        let Some(who) = self.key.authorization(&url.origin(), self.now, contact) else {
            return Pushed::Failed(ChannelError::permanent(
                "the message could not be signed for the push service",
            ));
        };
        let seconds = self.seconds.to_string();
        let headers = [
            ("content-type", "application/octet-stream"),
            ("content-encoding", "aes128gcm"),
            ("authorization", who.as_str()),
            ("ttl", seconds.as_str()),
            ("urgency", self.urgency),
            // A newer message about the same request replaces an undelivered one.
            ("topic", self.topic.as_str()),
        ];
        let reply = match post(&self.client, &url, &headers, body, TIMEOUT).await {
            Ok(reply) => reply,
            Err(error) => return Pushed::Failed(error),
        };
        let problem = format!("the push service answered {}", reply.status);
        match reply.status {
            200..=299 => Pushed::Taken,
            404 | 410 => Pushed::Gone(self.browser.endpoint),
            408 | 429 | 500.. => Pushed::Failed(ChannelError {
                problem,
                retry_after: reply.retry_after,
                permanent: false,
            }),
            _ => Pushed::Failed(ChannelError::permanent(problem)),
        }
    }
}

/// How long the push service keeps the message, in seconds.
fn lasts(news: &Announcement) -> u64 {
    match news.news {
        News::Asked | News::Climbed => news.now.until(news.deadline).0.div_ceil(1000),
        News::Ended(_) | News::Notice(_) => END_IS_NEWS,
    }
}

fn urgency(news: &Announcement) -> &'static str {
    let asks = matches!(news.news, News::Asked | News::Climbed);
    if asks && (news.tier >= Tier::High || news.crisis) { "high" } else { "normal" }
}

/// At most 32 characters that are safe in a URL.
fn topic(news: &Announcement) -> String {
    match news.news {
        News::Notice(_) => "notice".to_owned(),
        _ => news.request.to_string(),
    }
}

/// What the service worker shows. It has the call only where this channel may show it.
fn payload(news: &Announcement, details: bool) -> String {
    let asks = matches!(news.news, News::Asked | News::Climbed);
    let message = news.message(if details { CALL } else { 0 });
    let mut body = message.sentence;
    if details && asks && !message.call.is_empty() {
        body = format!("{body}\n{}{}", message.call, message.missing);
    }
    json!({
        "v": 1, "request": asks.then_some(news.request), "topic": topic(news),
        "kind": news.news.word(), "title": message.title, "body": body,
        "phrase": news.phrase, "grave": news.tier >= Tier::High,
    })
    .to_string()
}

impl Channel for WebPush {
    fn name(&self) -> &str {
        &self.name
    }

    fn most(&self) -> Tier {
        self.most
    }

    fn announce<'a>(&'a self, news: &'a Announcement) -> Sending<'a, Receipt> {
        Box::pin(async { self.call(news).await.map(|()| Receipt(topic(news))) })
    }

    fn withdraw<'a>(
        &'a self,
        _prompt: Option<&'a Receipt>,
        end: &'a Announcement,
    ) -> Sending<'a, ()> {
        Box::pin(self.call(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announcement::tests::asked;

    #[test]
    fn the_call_is_sent_only_where_it_may_be_shown() {
        let mut news = asked();
        news.call = "rm -rf ~/code/shop".to_owned();
        assert!(!payload(&news, false).contains("rm -rf"));
        assert!(payload(&news, true).contains("rm -rf"));
        news.call = "é".repeat(100_000);
        assert!(payload(&news, true).len() < sealed::MOST, "too long to be sealed");
    }

    #[test]
    fn what_is_grave_wakes_a_phone_and_an_end_does_not() {
        let mut news = asked();
        news.tier = Tier::Critical;
        assert_eq!(urgency(&news), "high");
        news.tier = Tier::Medium;
        assert_eq!(urgency(&news), "normal");
        assert!(topic(&news).len() <= 32);
    }

    #[test]
    fn only_real_addresses_and_keys_are_browsers() {
        let good = sealed::tests::browser("https://push.example.org/x");
        assert_eq!(good.problem(), None);
        let bad = |change: fn(&mut Browser)| {
            let mut browser = good.clone();
            change(&mut browser);
            browser.problem().is_some()
        };
        assert!(bad(|browser| browser.endpoint = "ftp://push.example.org".to_owned()));
        assert!(bad(|browser| browser.endpoint = "push".to_owned()));
        assert!(bad(|browser| browser.secret.truncate(15)));
        assert!(bad(|browser| browser.public_key[40] ^= 1));
        assert!(bad(|browser| browser.public_key.clear()));
    }
}
