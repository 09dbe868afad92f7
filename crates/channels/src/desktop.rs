//! Notifications on the desktop of the daemon's own user, through notify-send.

use std::time::Duration;

use countersign_types::tier::Tier;

use crate::program::run;
use crate::{Announcement, AnnouncementEvent, Channel, ChannelError, ChannelFuture, Receipt};

const TIMEOUT: Duration = Duration::from_secs(5);

/// What an operator configures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesktopSettings {
    /// The program.
    pub program: String,
}

impl Default for DesktopSettings {
    fn default() -> Self {
        DesktopSettings { program: "notify-send".to_owned() }
    }
}

/// The desktop.
#[derive(Debug)]
pub struct Desktop {
    name: String,
    max_tier: Tier,
    settings: DesktopSettings,
}

impl Desktop {
    /// The channel.
    pub const fn new(name: String, max_tier: Tier, settings: DesktopSettings) -> Desktop {
        Desktop { name, max_tier, settings }
    }

    async fn show(
        &self,
        news: &Announcement,
        prompt: Option<&Receipt>,
    ) -> Result<Receipt, ChannelError> {
        let said = run(&self.settings.program, &arguments(news, prompt), "", TIMEOUT).await?;
        // The number under which the notification can be replaced; older versions print none.
        let number = said.trim();
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        Ok(Receipt(if is_number { number.to_owned() } else { String::new() }))
    }
}

fn arguments(news: &Announcement, prompt: Option<&Receipt>) -> Vec<String> {
    let over = matches!(news.news, AnnouncementEvent::Ended(_));
    let urgency = if over {
        "low"
    } else if news.tier >= Tier::High {
        "critical"
    } else {
        "normal"
    };
    let mut arguments: Vec<String> =
        ["--app-name=Countersign", "--print-id", "--urgency", urgency].map(str::to_owned).into();
    if over {
        arguments.push("--expire-time=5000".to_owned());
    }
    if let Some(Receipt(number)) = prompt.filter(|prompt| !prompt.0.is_empty()) {
        arguments.push(format!("--replace-id={number}"));
    }
    // A text that begins with a dash must not be read as an option.
    arguments.push("--".to_owned());
    arguments.push(news.title());
    arguments.push(escaped(&format!("{}\n{}", news.sentence(), news.advice())));
    arguments
}

/// Escapes the body: desktops interpret some HTML, and none of it may come from a call.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl Channel for Desktop {
    fn name(&self) -> &str {
        &self.name
    }

    fn max_tier(&self) -> Tier {
        self.max_tier
    }

    fn announce<'a>(&'a self, news: &'a Announcement) -> ChannelFuture<'a, Receipt> {
        Box::pin(self.show(news, None))
    }

    fn withdraw<'a>(
        &'a self,
        prompt: Option<&'a Receipt>,
        end: &'a Announcement,
    ) -> ChannelFuture<'a, ()> {
        Box::pin(async move {
            match prompt {
                Some(_) => self.show(end, prompt).await.map(|_| ()),
                // Without a receipt there may be no notification to replace.
                None => Ok(()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announcement::tests::asked;

    #[test]
    fn a_call_is_neither_an_option_nor_markup() {
        let mut news = asked();
        news.brief = "--help <b>all is well</b> & more".to_owned();
        news.agent = "--urgency=low".to_owned();
        let arguments = arguments(&news, None);
        let end = arguments.iter().position(|argument| argument == "--").unwrap();
        assert_eq!(arguments.len(), end + 3);
        assert!(arguments[end + 2].starts_with("--help &lt;b&gt;all is well&lt;/b&gt; &amp; more"));
        assert_eq!(arguments[3], "critical");
    }

    #[tokio::test]
    async fn without_the_program_it_fails_for_good() {
        let settings = DesktopSettings { program: "notify-send-that-is-not-there".to_owned() };
        let desktop = Desktop::new("desktop".to_owned(), Tier::Critical, settings);
        assert!(desktop.announce(&asked()).await.unwrap_err().permanent);
    }
}
