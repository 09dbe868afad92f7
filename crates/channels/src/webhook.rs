//! Webhooks: `CloudEvents` 1.0, signed as Standard Webhooks 1.0 requires.

use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_net::{Client, HttpUrl};
use countersign_types::tier::Tier;
use serde_json::json;

use crate::callback::{self, Callback};
use crate::http::{USER_AGENT, check_status, post};
use crate::secret::Secrets;
use crate::{Announcement, Channel, ChannelError, ChannelFuture, Receipt, ReplyReceiver};

/// What an operator configures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookSettings {
    /// The receiver's URL.
    pub url: String,
    /// The file of the secret: `whsec_` and base64, readable only by its owner.
    pub secret_file: PathBuf,
    /// Whether the receiver may post people's answers to our hook.
    pub callback: bool,
    /// The file of the secret that signs those answers; none means the same secret.
    pub callback_secret_file: Option<PathBuf>,
    /// Whether this machine and private networks may be reached.
    pub allow_private: bool,
    /// How long one attempt may take.
    pub timeout: Duration,
}

impl WebhookSettings {
    /// What is wrong with the URL, if anything.
    pub fn url_problem(&self) -> Option<&'static str> {
        HttpUrl::parse(&self.url).err()
    }
}

/// A receiver of signed messages.
#[derive(Debug)]
pub struct Webhook {
    name: String,
    max_tier: Tier,
    url: HttpUrl,
    secrets: Secrets,
    callback: Option<Callback>,
    client: Client,
    timeout: Duration,
}

impl Webhook {
    /// Reads the secret.
    pub fn open(
        name: String,
        max_tier: Tier,
        settings: &WebhookSettings,
    ) -> Result<Webhook, ChannelError> {
        let read = |file: &Path| {
            Secrets::read(file).map_err(|error| ChannelError::permanent(error.to_string()))
        };
        let callback = if settings.callback {
            let file = settings.callback_secret_file.as_ref().unwrap_or(&settings.secret_file);
            Some(Callback::new(read(file)?))
        } else {
            None
        };
        Ok(Webhook {
            name,
            max_tier,
            url: HttpUrl::parse(&settings.url).map_err(ChannelError::permanent)?,
            secrets: read(&settings.secret_file)?,
            callback,
            client: Client::new(settings.allow_private),
            timeout: settings.timeout,
        })
    }

    async fn send(&self, news: &Announcement) -> Result<(), ChannelError> {
        let body = event(news, self.callback.is_some());
        // The time of the attempt, so that a receiver can reject replays.
        let seconds = news.now.seconds();
        let signature = self.secrets.sign(&news.key, seconds, &body);
        let seconds = seconds.to_string();
        let headers = [
            ("content-type", "application/cloudevents+json; charset=utf-8"),
            ("user-agent", USER_AGENT),
            ("webhook-id", news.key.as_str()),
            ("webhook-timestamp", seconds.as_str()),
            ("webhook-signature", signature.as_str()),
        ];
        let body = body.into_bytes();
        let reply = post(&self.client, &self.url, &headers, body, self.timeout).await?;
        check_status(&reply, "the receiver")
    }
}

/// The body: the same bytes in every attempt.
fn event(news: &Announcement, callback: bool) -> String {
    let mut data = news.data();
    if let Some(data) = data.as_object_mut() {
        if !news.call.is_empty() {
            let (call, reasons) = (json!(news.call), json!(news.shown_reasons()));
            data.extend([("call".to_owned(), call), ("reasons".to_owned(), reasons)]);
            data.insert("folded".to_owned(), json!(news.folded));
        }
        if let Some(ways) = news.ways.as_ref().filter(|_| callback) {
            let approve = ways.approve.as_ref().filter(|_| callback::is_whole(news));
            let buttons = json!({ "approve": approve, "deny": ways.deny });
            data.insert("buttons".to_owned(), buttons);
            // The receiver asks its person for the two words and sends them back as `words`.
            data.insert("words_required".to_owned(), json!(ways.type_to_approve.is_some()));
        }
    }
    json!({
        "specversion": "1.0",
        "id": news.key,
        "source": news.inbox,
        "type": format!("countersign.request.{}", news.news.word()),
        "subject": news.request,
        "time": news.at,
        "datacontenttype": "application/json",
        "data": data,
    })
    .to_string()
}

impl Channel for Webhook {
    fn name(&self) -> &str {
        &self.name
    }

    fn max_tier(&self) -> Tier {
        self.max_tier
    }

    fn announce<'a>(&'a self, news: &'a Announcement) -> ChannelFuture<'a, Receipt> {
        Box::pin(async { self.send(news).await.map(|()| Receipt(news.key.clone())) })
    }

    fn withdraw<'a>(
        &'a self,
        _prompt: Option<&'a Receipt>,
        end: &'a Announcement,
    ) -> ChannelFuture<'a, ()> {
        Box::pin(self.send(end))
    }

    fn reply_receiver(&self) -> Option<&dyn ReplyReceiver> {
        self.callback.as_ref().map(|callback| callback as &dyn ReplyReceiver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announcement::tests::{asked, deceptive, is_displayable};

    #[test]
    fn a_receiver_gets_nothing_that_hides_or_draws() {
        let body: serde_json::Value = serde_json::from_str(&event(&deceptive(), true)).unwrap();
        assert!(is_displayable(&body), "{body}");
    }

    #[test]
    fn the_body_is_the_same_in_every_attempt() {
        let (first, mut second) = (asked(), asked());
        second.now.0 += 60_000;
        assert_eq!(event(&first, true), event(&second, true));
        let body: serde_json::Value = serde_json::from_str(&event(&first, false)).unwrap();
        assert_eq!(body["type"], "countersign.request.asked");
        assert_eq!(body["specversion"], "1.0");
        assert_eq!(body["data"]["phrase"], "olive-tractor");
        assert!(body["data"].get("buttons").is_none(), "no way back without a callback");
    }

    #[test]
    fn only_what_is_there_whole_can_be_approved() {
        let buttons = |news: &Announcement| -> serde_json::Value {
            let body: serde_json::Value = serde_json::from_str(&event(news, true)).unwrap();
            body["data"]["buttons"].clone()
        };
        assert!(buttons(&asked())["approve"].is_string());
        let folded = Announcement { folded: 1, ..asked() };
        let none = Announcement { call: String::new(), ..asked() };
        for news in [folded, none] {
            assert!(buttons(&news)["approve"].is_null() && buttons(&news)["deny"].is_string());
        }
    }
}
