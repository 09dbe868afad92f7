//! One push message to one browser.

use std::sync::Arc;
use std::time::Duration;

use countersign_net::{Client, HttpUrl};
use countersign_types::time::Timestamp;

use super::browser::Browser;
use super::encryption;
use super::vapid::VapidKey;
use crate::ChannelError;
use crate::http::post;

/// How long one push may take.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The result of one push.
pub(super) enum Pushed {
    Taken,
    Gone(String),
    Failed(ChannelError),
}

/// One message to one browser.
pub(super) struct Push {
    pub(super) browser: Browser,
    pub(super) key: Arc<VapidKey>,
    pub(super) client: Client,
    pub(super) contact: Option<String>,
    pub(super) text: Arc<str>,
    pub(super) topic: String,
    pub(super) urgency: &'static str,
    pub(super) seconds: u64,
    pub(super) now: Timestamp,
}

impl Push {
    pub(super) async fn send(self) -> Pushed {
        let url = match HttpUrl::parse(&self.browser.endpoint) {
            Ok(url) => url,
            Err(problem) => return Pushed::Failed(ChannelError::permanent(problem)),
        };
        let Ok(body) = encryption::seal(&self.browser, self.text.as_bytes()) else {
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
