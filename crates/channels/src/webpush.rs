//! Web Push to subscribed browsers. Messages are encrypted for the browser (RFC 8291) and signed
//! (RFC 8292); the push service in between cannot read them.

mod browser;
mod browsers;
mod encryption;
mod push;
mod vapid;

use std::sync::Arc;

use countersign_net::Client;
use countersign_types::tier::Tier;
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    Announcement, AnnouncementEvent, Channel, ChannelError, ChannelFuture, ChannelLimits, Receipt,
};

use push::{Push, Pushed};

pub use browser::Browser;
pub use browsers::Browsers;
pub use vapid::VapidKey;

/// The name of this channel, which is always there; no other channel may have it.
pub const NAME: &str = "webpush";
/// How long a push service keeps the end of a request, in seconds.
const END_IS_NEWS: u64 = 600;
/// The longest part of a call in a message, in bytes.
const CALL: usize = 1_500;

/// What an operator may configure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebPushSettings {
    /// The operator's contact for push services: `mailto:` or `https:`.
    pub contact: Option<String>,
    /// Whether this machine and private networks may be reached.
    pub allow_private: bool,
}

/// The channel to all browsers.
#[derive(Debug)]
pub struct WebPush {
    name: String,
    max_tier: Tier,
    details: bool,
    settings: WebPushSettings,
    client: Client,
    browsers: Arc<Browsers>,
}

impl WebPush {
    /// Over the daemon's list.
    pub fn new(
        name: &str,
        limits: ChannelLimits,
        settings: &WebPushSettings,
        browsers: Arc<Browsers>,
    ) -> WebPush {
        WebPush {
            name: name.to_owned(),
            max_tier: limits.max_tier,
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
                Ok(Pushed::Gone(endpoint)) => self.browsers.remove_gone(&endpoint),
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

/// How long the push service keeps the message, in seconds.
fn lasts(news: &Announcement) -> u64 {
    match news.news {
        AnnouncementEvent::Asked | AnnouncementEvent::Escalated => {
            news.now.until(news.deadline).0.div_ceil(1000)
        }
        AnnouncementEvent::Ended(_) | AnnouncementEvent::Notice(_) => END_IS_NEWS,
    }
}

fn urgency(news: &Announcement) -> &'static str {
    let asks = matches!(news.news, AnnouncementEvent::Asked | AnnouncementEvent::Escalated);
    if asks && (news.tier >= Tier::High || news.crisis) { "high" } else { "normal" }
}

/// At most 32 characters that are safe in a URL.
fn topic(news: &Announcement) -> String {
    match news.news {
        AnnouncementEvent::Notice(_) => "notice".to_owned(),
        _ => news.request.to_string(),
    }
}

/// What the service worker shows. It has the call only where this channel may show it.
fn payload(news: &Announcement, details: bool) -> String {
    let asks = matches!(news.news, AnnouncementEvent::Asked | AnnouncementEvent::Escalated);
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

    fn max_tier(&self) -> Tier {
        self.max_tier
    }

    fn announce<'a>(&'a self, news: &'a Announcement) -> ChannelFuture<'a, Receipt> {
        Box::pin(async { self.call(news).await.map(|()| Receipt(topic(news))) })
    }

    fn withdraw<'a>(
        &'a self,
        _prompt: Option<&'a Receipt>,
        end: &'a Announcement,
    ) -> ChannelFuture<'a, ()> {
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
        assert!(payload(&news, true).len() < encryption::MOST, "too long to be sealed");
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
        let good = browser::test_browser("https://push.example.org/x");
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
