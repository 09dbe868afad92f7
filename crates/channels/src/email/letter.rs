//! A letter as it goes over the wire: seven-bit lines with names for its parts (RFC 5322, 2045,
//! 2047). No text of anybody reaches a header or a line but encoded.

use std::fmt::Write as _;

use countersign_core::base64;
use countersign_core::time::Timestamp;

use crate::message::Message;
use crate::{Announcement, News};

/// Bytes of text in one encoded word: as base64 with its frame below 76 characters.
const WORD: usize = 42;
/// Characters in a line of base64.
const LINE: usize = 76;
/// The longest text, in bytes.
const LONGEST: usize = 16 * 1024;

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// What is written to whom.
pub struct Letter<'a> {
    pub news: &'a Announcement,
    pub from: &'a str,
    pub to: &'a [String],
    pub channel: &'a str,
    /// The name of the letter that this one answers.
    pub answers: Option<&'a str>,
}

impl Letter<'_> {
    /// Its name: the same in every attempt, so that a letter that arrives twice is known.
    pub fn name(&self) -> String {
        self.named(&self.news.key)
    }

    fn named(&self, what: &str) -> String {
        let host = self.from.rsplit_once('@').map_or("localhost", |(_, host)| host);
        let plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        let what: String = what.chars().filter(plain).collect();
        format!("<{what}.{}@{host}>", self.channel)
    }

    /// The whole letter, its lines ended by CR LF.
    pub fn text(&self) -> String {
        let news = self.news;
        let mut text = String::new();
        let mut header = |name: &str, value: &str| {
            let _ = write!(text, "{name}: {value}\r\n");
        };
        header("From", &format!("Countersign <{}>", self.from));
        header("To", &self.to.join(",\r\n "));
        header("Subject", &encoded(&subject(news)));
        header("Date", &date(news.at));
        header("Message-ID", &self.name());
        if !matches!(news.news, News::Notice(_)) {
            // All letters about a request hang on one name, even if the first never arrived.
            let thread = self.named(&news.request.to_string());
            let answers = self.answers.filter(|name| is_name(name));
            header("In-Reply-To", answers.unwrap_or(&thread));
            let references = answers.map(|name| format!("{thread}\r\n {name}"));
            header("References", references.as_deref().unwrap_or(&thread));
        }
        header("Auto-Submitted", "auto-generated");
        header("MIME-Version", "1.0");
        header("Content-Type", "text/plain; charset=utf-8");
        header("Content-Transfer-Encoding", "base64");
        text.push_str("\r\n");
        let body = base64::encode(body(news).as_bytes());
        // Base64 is ASCII: every place is one between letters.
        let mut rest = body.as_str();
        while let Some((line, more)) = rest.split_at_checked(LINE.min(rest.len()))
            && !line.is_empty()
        {
            text.push_str(line);
            text.push_str("\r\n");
            rest = more;
        }
        text
    }
}

/// Whether this can be the name of one of our letters.
fn is_name(text: &str) -> bool {
    let inside = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    inside.is_some_and(|inside| {
        inside.contains('@')
            && inside.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'<' && byte != b'>')
    })
}

fn subject(news: &Announcement) -> String {
    match news.news {
        News::Notice(_) => news.title(),
        _ => format!("{} ({})", news.title(), news.phrase),
    }
}

fn body(news: &Announcement) -> String {
    let fitted = news.fitted(LONGEST, str::len, |message: &Message| {
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

/// A text for a header: encoded words, each whole by itself.
fn encoded(text: &str) -> String {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.floor_char_boundary(WORD.min(rest.len()));
        let Some((word, more)) = rest.split_at_checked(end) else { break };
        words.push(format!("=?utf-8?B?{}?=", base64::encode(word.as_bytes())));
        rest = more;
    }
    words.join("\r\n ")
}

/// A time as letters have it.
fn date(at: Timestamp) -> String {
    let text = at.to_string();
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let weekday = usize::try_from(at.seconds().div_euclid(86_400).rem_euclid(7)).unwrap_or(0);
    let month = part(5, 7).parse::<usize>().unwrap_or(1).saturating_sub(1);
    let (day, month) = (DAYS.get(weekday).unwrap_or(&"Thu"), MONTHS.get(month).unwrap_or(&"Jan"));
    format!("{day}, {} {month} {} {} +0000", part(8, 10), part(0, 4), part(11, 19))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announcement::tests::asked;

    fn letter(news: &Announcement, answers: Option<&str>) -> String {
        let to = ["ana@example.org".to_owned(), "bo@example.org".to_owned()];
        Letter { news, from: "gate@example.org", to: &to, channel: "mail", answers }.text()
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
        for text in [letter(&asked(), None), letter(&news, Some(&evil))] {
            assert!(text.is_ascii() && text.ends_with("\r\n"));
            for line in text.split("\r\n") {
                assert!(line.len() <= 998 && !line.contains(['\r', '\n']), "{line:?}");
                assert!(!line.starts_with('.'), "{line:?}");
            }
            let (head, _) = text.split_once("\r\n\r\n").unwrap();
            let names: Vec<&str> = head
                .split("\r\n")
                .filter(|line| !line.starts_with(' '))
                .map(|line| line.split_once(": ").unwrap().0)
                .collect();
            assert_eq!(
                names,
                [
                    "From",
                    "To",
                    "Subject",
                    "Date",
                    "Message-ID",
                    "In-Reply-To",
                    "References",
                    "Auto-Submitted",
                    "MIME-Version",
                    "Content-Type",
                    "Content-Transfer-Encoding"
                ]
            );
        }
    }

    #[test]
    fn the_end_answers_the_question() {
        let name = "<00000000000000000000000001-7.mail@example.org>";
        let first = letter(&asked(), None);
        assert!(first.contains(&format!("Message-ID: {name}\r\n")), "{first}");
        let end = letter(&asked(), Some(name));
        assert!(end.contains(&format!("In-Reply-To: {name}\r\n")), "{end}");
    }

    #[test]
    fn a_later_attempt_changes_nothing_but_the_time_left() {
        let head = |news: &Announcement| {
            letter(news, None).split_once("\r\n\r\n").map(|(head, _)| head.to_owned())
        };
        let later = Announcement { now: Timestamp(asked().now.0 + 20_000), ..asked() };
        assert_eq!(head(&asked()), head(&later));
        assert_ne!(letter(&asked(), None), letter(&later, None));
    }

    #[test]
    fn dates_are_written_as_letters_have_them() {
        for (seconds, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 +0000"),
            (1_794_700_000, "Sat, 14 Nov 2026 23:46:40 +0000"),
            (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 +0000"),
        ] {
            assert_eq!(date(Timestamp(seconds * 1000)), text);
        }
    }

    #[test]
    fn encoded_words_are_short_and_whole() {
        let text = "\u{1f534} HIGH: \u{e4}\u{f6}\u{fc} asks ".repeat(10);
        let mut whole = String::new();
        for word in encoded(&text).split("\r\n ") {
            assert!(word.len() <= 75, "{word}");
            let inside = word.strip_prefix("=?utf-8?B?").unwrap().strip_suffix("?=").unwrap();
            whole += &String::from_utf8(base64::decode(inside).unwrap()).unwrap();
        }
        assert_eq!(whole, text);
    }
}
