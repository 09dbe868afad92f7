//! Webhooks: `CloudEvents` 1.0, signed as Standard Webhooks 1.0 demands.

use std::path::PathBuf;
use std::time::Duration;

use countersign_core::tier::Tier;
use serde_json::json;

use crate::post::{Target, post};
use crate::secret::Secrets;
use crate::{Announcement, Channel, ChannelError, Receipt, Sending};

/// What an operator sets up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where to.
    pub url: String,
    /// The file of the secret: `whsec_` and base64, readable by nobody else.
    pub secret_file: PathBuf,
    /// Whether this machine and private networks may be reached.
    pub allow_private: bool,
    /// How long one attempt may take.
    pub timeout: Duration,
}

impl Settings {
    /// What is wrong with the URL, if anything.
    pub fn url_problem(&self) -> Option<&'static str> {
        Target::parse(&self.url).err()
    }
}

/// A receiver of signed messages.
#[derive(Debug)]
pub struct Webhook {
    name: String,
    most: Tier,
    target: Target,
    secrets: Secrets,
    allow_private: bool,
    timeout: Duration,
}

impl Webhook {
    /// Reads the secret.
    pub fn open(name: String, most: Tier, settings: &Settings) -> Result<Webhook, ChannelError> {
        Ok(Webhook {
            name,
            most,
            target: Target::parse(&settings.url).map_err(ChannelError::permanent)?,
            secrets: Secrets::read(&settings.secret_file)
                .map_err(|error| ChannelError::permanent(error.to_string()))?,
            allow_private: settings.allow_private,
            timeout: settings.timeout,
        })
    }

    async fn send(&self, news: &Announcement) -> Result<(), ChannelError> {
        let body = event(news);
        // The time is the attempt's, so that a receiver can refuse what was recorded long ago.
        let seconds = news.now.seconds();
        let signature = self.secrets.sign(&news.key, seconds, &body);
        let seconds = seconds.to_string();
        let headers = [
            ("content-type", "application/cloudevents+json; charset=utf-8"),
            ("user-agent", concat!("countersign/", env!("CARGO_PKG_VERSION"))),
            ("webhook-id", news.key.as_str()),
            ("webhook-timestamp", seconds.as_str()),
            ("webhook-signature", signature.as_str()),
        ];
        let answer = post(&self.target, self.allow_private, &headers, body, self.timeout).await?;
        let status = answer.status;
        match status {
            200..=299 => Ok(()),
            300..=399 => Err(ChannelError::permanent(format!(
                "the receiver answered {status}: it sends us elsewhere, which is not followed"
            ))),
            408 | 409 | 425 | 429 | 500.. => Err(ChannelError {
                problem: format!("the receiver answered {status}"),
                retry_after: answer.retry_after,
                permanent: false,
            }),
            _ => Err(ChannelError::permanent(format!("the receiver answered {status}"))),
        }
    }
}

/// The body: the same bytes in every attempt.
fn event(news: &Announcement) -> String {
    json!({
        "specversion": "1.0",
        "id": news.key,
        "source": news.inbox,
        "type": format!("countersign.request.{}", news.news.word()),
        "subject": news.request,
        "time": news.at,
        "datacontenttype": "application/json",
        "data": news.data(),
    })
    .to_string()
}

impl Channel for Webhook {
    fn name(&self) -> &str {
        &self.name
    }

    fn most(&self) -> Tier {
        self.most
    }

    fn announce<'a>(&'a self, news: &'a Announcement) -> Sending<'a, Receipt> {
        Box::pin(async { self.send(news).await.map(|()| Receipt(news.key.clone())) })
    }

    fn withdraw<'a>(
        &'a self,
        _prompt: Option<&'a Receipt>,
        end: &'a Announcement,
    ) -> Sending<'a, ()> {
        Box::pin(self.send(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announcement::tests::asked;

    #[test]
    fn the_body_is_the_same_in_every_attempt() {
        let (first, mut second) = (asked(), asked());
        second.now.0 += 60_000;
        assert_eq!(event(&first), event(&second));
        let body: serde_json::Value = serde_json::from_str(&event(&first)).unwrap();
        assert_eq!(body["type"], "countersign.request.asked");
        assert_eq!(body["specversion"], "1.0");
        assert_eq!(body["data"]["phrase"], "olive-tractor");
    }
}
