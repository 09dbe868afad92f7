//! The content of an e-mail: headers that keep a request's messages in one thread, and a plain
//! text. The `lettre` crate encodes both, so no text can add a header or end the message.

use std::time::{Duration, SystemTime};

use countersign_types::time::Timestamp;
use lettre::Address;
use lettre::message::header::{
    ContentTransferEncoding, ContentType, Header, HeaderName, HeaderValue, MIME_VERSION_1_0,
};
use lettre::message::{Body, Mailbox, Message as MailMessage};

use crate::message::Message;
use crate::{Announcement, AnnouncementEvent, ChannelError};

/// The longest text, in bytes.
const MAX_TEXT: usize = 16 * 1024;

/// One e-mail about a request.
pub struct Content<'a> {
    pub news: &'a Announcement,
    pub from: &'a Address,
    pub to: &'a [Address],
    /// The channel's name, which is part of message ids.
    pub channel: &'a str,
    /// The message id of the e-mail to which this one replies.
    pub in_reply_to: Option<&'a str>,
}

/// Tells mail servers not to answer automatically (RFC 3834).
#[derive(Clone)]
struct AutoSubmitted;

impl Header for AutoSubmitted {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(AutoSubmitted)
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), "auto-generated".to_owned())
    }
}

impl Content<'_> {
    /// The message id. It is the same in every attempt, so that duplicates can be recognized.
    pub fn message_id(&self) -> String {
        self.id_of(&self.news.key)
    }

    fn id_of(&self, what: &str) -> String {
        let plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        let what: String = what.chars().filter(plain).collect();
        format!("<{what}.{}@{}>", self.channel, self.from.domain())
    }

    /// The whole message as it is sent.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ChannelError> {
        let news = self.news;
        let sender = Mailbox::new(Some("Countersign".to_owned()), self.from.clone());
        let mut builder = MailMessage::builder().from(sender);
        for address in self.to {
            builder = builder.to(Mailbox::new(None, address.clone()));
        }
        builder = builder
            .subject(subject(news))
            .date(system_time(news.at))
            .message_id(Some(self.message_id()));
        if !matches!(news.news, AnnouncementEvent::Notice(_)) {
            // All messages about a request refer to one id, even if the first never arrived.
            let thread = self.id_of(&news.request.to_string());
            let replied = self.in_reply_to.filter(|id| is_message_id(id));
            let references = replied.map(|id| format!("{thread} {id}"));
            builder = builder
                .in_reply_to(replied.unwrap_or(&thread).to_owned())
                .references(references.unwrap_or(thread));
        }
        let body = Body::new_with_encoding(text(news), ContentTransferEncoding::Base64);
        let body = body.map_err(|_| ChannelError::permanent("the text could not be encoded"))?;
        let message = builder
            .header(AutoSubmitted)
            .header(MIME_VERSION_1_0)
            .header(ContentType::TEXT_PLAIN)
            .body(body);
        let message = message.map_err(|error| {
            ChannelError::permanent(format!("the e-mail could not be written: {error}"))
        })?;
        Ok(message.formatted())
    }
}

/// Whether this can be the id of one of our own messages.
fn is_message_id(text: &str) -> bool {
    let inside = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    inside.is_some_and(|inside| {
        inside.contains('@')
            && inside.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'<' && byte != b'>')
    })
}

fn system_time(at: Timestamp) -> SystemTime {
    let since_epoch = Duration::from_secs(u64::try_from(at.seconds()).unwrap_or(0));
    SystemTime::UNIX_EPOCH + since_epoch
}

fn subject(news: &Announcement) -> String {
    match news.news {
        AnnouncementEvent::Notice(_) => news.title(),
        _ => format!("{} ({})", news.title(), news.phrase),
    }
}

fn text(news: &Announcement) -> String {
    let fitted = news.fitted(MAX_TEXT, str::len, |message: &Message| {
        let reasons: Vec<String> =
            message.reasons.iter().map(|reason| format!("- {reason}")).collect();
        let parts = [
            &message.title,
            &message.sentence,
            &message.call,
            &message.missing,
            &reasons.join("\r\n"),
            &message.advice,
        ]
        .map(|part| part.replace("\r\n", "\n").replace('\n', "\r\n"));
        let parts: Vec<&str> =
            parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        parts.join("\r\n\r\n") + "\r\n"
    });
    fitted.text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announcement::tests::asked;

    fn mail(news: &Announcement, in_reply_to: Option<&str>) -> String {
        let to = ["ana@example.org", "bo@example.org"].map(|address| address.parse().unwrap());
        let from = "gate@example.org".parse().unwrap();
        let content = Content { news, from: &from, to: &to, channel: "mail", in_reply_to };
        String::from_utf8(content.to_bytes().unwrap()).unwrap()
    }

    #[test]
    fn every_line_is_short_ascii_and_only_our_headers_are_there() {
        let evil = "x\r\nBcc: eve@example.org\r\n\r\n.\r\nMAIL FROM:<eve@x>\u{1f534}".repeat(20);
        let news = Announcement {
            key: evil.clone(),
            agent: evil.clone(),
            brief: evil.clone(),
            call: evil.clone(),
            phrase: evil.clone(),
            ..asked()
        };
        for text in [mail(&asked(), None), mail(&news, Some(&evil))] {
            assert!(text.is_ascii());
            for line in text.split("\r\n") {
                assert!(line.len() <= 998 && !line.contains(['\r', '\n']), "{line:?}");
                assert!(!line.starts_with('.'), "{line:?}");
            }
            let (head, _) = text.split_once("\r\n\r\n").unwrap();
            let mut names: Vec<&str> = head
                .split("\r\n")
                .filter(|line| !line.starts_with(' '))
                .map(|line| line.split_once(": ").unwrap().0)
                .collect();
            names.sort_unstable();
            assert_eq!(
                names,
                [
                    "Auto-Submitted",
                    "Content-Transfer-Encoding",
                    "Content-Type",
                    "Date",
                    "From",
                    "In-Reply-To",
                    "MIME-Version",
                    "Message-ID",
                    "References",
                    "Subject",
                    "To",
                ]
            );
        }
    }

    #[test]
    fn the_end_replies_to_the_question() {
        let id = "<00000000000000000000000001-7.mail@example.org>";
        let first = mail(&asked(), None);
        assert!(first.contains(&format!("Message-ID: {id}\r\n")), "{first}");
        let end = mail(&asked(), Some(id));
        assert!(end.contains(&format!("In-Reply-To: {id}\r\n")), "{end}");
    }

    #[test]
    fn a_later_attempt_changes_nothing_but_the_time_left() {
        let head = |news: &Announcement| {
            mail(news, None).split_once("\r\n\r\n").map(|(head, _)| head.to_owned())
        };
        let later = Announcement { now: Timestamp(asked().now.0 + 20_000), ..asked() };
        assert_eq!(head(&asked()), head(&later));
        assert_ne!(mail(&asked(), None), mail(&later, None));
    }

    #[test]
    fn dates_are_written_as_mail_has_them() {
        for (seconds, date) in [
            (0, "Thu, 01 Jan 1970 00:00:00 +0000"),
            (1_794_700_000, "Sat, 14 Nov 2026 23:46:40 +0000"),
            (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 +0000"),
        ] {
            let news = Announcement { at: Timestamp(seconds * 1000), ..asked() };
            let text = mail(&news, None);
            assert!(text.contains(&format!("Date: {date}\r\n")), "{text}");
        }
    }
}
