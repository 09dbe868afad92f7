//! A message as Telegram gets it: plain text with marked parts, counted as Telegram counts. There
//! is no markup in it, so nothing in a call can change how it looks.

use std::cell::Cell;

use serde_json::{Value, json};

use crate::{Announcement, AnnouncementEvent, FittedText, Message};

/// The longest text, in UTF-16 units.
const LONGEST: usize = 4096;
/// Space for parts that change between messages about a request: the title, the time left.
const SPARE: usize = 64;

/// A text and its marked parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelegramText {
    /// The text.
    pub text: String,
    /// Which part is bold, which one is the call.
    pub entities: Vec<Value>,
}

/// The length as Telegram counts it.
pub fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The message about a request.
pub fn text(news: &Announcement) -> TelegramText {
    let call = Cell::new(0);
    let fitted = fitted(news, LONGEST, &call);
    let (title, sentence) = (units(&news.title()), units(&news.sentence()));
    let mut entities = vec![json!({ "type": "bold", "offset": 0, "length": title })];
    if call.get() > 0 {
        let offset = title + 1 + sentence + 2;
        entities.push(json!({ "type": "pre", "offset": offset, "length": call.get() }));
    }
    TelegramText { text: fitted.text, entities }
}

/// Whether every message about this request shows the whole call.
pub fn shows_whole(news: &Announcement) -> bool {
    matches!(news.news, AnnouncementEvent::Asked | AnnouncementEvent::Escalated)
        && fitted(news, LONGEST - SPARE, &Cell::new(0)).whole
}

fn fitted(news: &Announcement, limit: usize, call: &Cell<usize>) -> FittedText {
    news.fitted(limit, units, |message| {
        call.set(units(&message.call));
        written(message)
    })
}

fn written(message: &Message) -> String {
    let mut text = format!("{}\n{}", message.title, message.sentence);
    let mut part = |before: &str, part: &str| {
        if !part.is_empty() {
            text.push_str(before);
            text.push_str(part);
        }
    };
    part("\n\n", &message.call);
    part("\n", &message.missing);
    for (number, reason) in message.reasons.iter().enumerate() {
        part(if number == 0 { "\n\nWhy: " } else { "\nand: " }, reason);
    }
    part("\n\n", &message.advice);
    text
}

/// The buttons below a message, each in a row of its own, so that a thumb does not hit two.
pub fn buttons(news: &Announcement) -> Vec<Value> {
    let mut rows = Vec::new();
    if let Some(works) = &news.works {
        return vec![json!([{ "text": "\u{1f44d} This works", "callback_data": works }])];
    }
    let Some(ways) = &news.ways else { return rows };
    let mut button = |text: &str, kind: &str, value: &str| {
        rows.push(json!([{ "text": text, kind: value }]));
    };
    if let Some(approve) = ways.one_tap().filter(|_| shows_whole(news)) {
        button("\u{2705} Approve once", "callback_data", approve);
    }
    button("\u{26d4} Deny", "callback_data", &ways.deny);
    // Telegram rejects a message with a URL that is not public.
    if news.inbox.starts_with("https://") && news.inbox.contains('.') {
        button("Open in inbox", "url", &news.link());
    }
    rows
}

/// A text cut to this many units, with an ellipsis if it was cut.
pub fn cut(text: &str, most: usize) -> String {
    if units(text) <= most {
        return text.to_owned();
    }
    let mut left = most.saturating_sub(1);
    let kept = text.chars().take_while(|c| {
        let fits = c.len_utf16() <= left;
        left = left.saturating_sub(c.len_utf16());
        fits
    });
    kept.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announcement::tests::asked;
    use crate::{Ending, ReplyOptions};

    fn part(text: &TelegramText, kind: &str) -> String {
        let entity = text.entities.iter().find(|entity| entity["type"] == kind).unwrap();
        let number = |name: &str| usize::try_from(entity[name].as_u64().unwrap()).unwrap();
        let all: Vec<u16> = text.text.encode_utf16().collect();
        let from = number("offset");
        String::from_utf16(&all[from..from + number("length")]).unwrap()
    }

    #[test]
    fn the_marks_stand_around_what_they_mean() {
        let news = Announcement {
            agent: "\u{1f9d9} hermes".to_owned(),
            brief: "Löscht \u{1f4a3} 214 files.".to_owned(),
            call: "$ rm -rf \u{1f4a3}\n  ~/code/shop".to_owned(),
            ..asked()
        };
        let text = text(&news);
        assert_eq!(part(&text, "bold"), news.title());
        assert_eq!(part(&text, "pre"), news.call);
        assert!(text.text.contains("Why: Deletes a folder"), "{}", text.text);
        assert!(text.text.contains("olive-tractor"), "{}", text.text);
    }

    #[test]
    fn it_fits_as_telegram_counts_and_says_what_is_missing() {
        for sign in ["x", "é", "\u{1f4a3}", "字"] {
            let news = Announcement { call: sign.repeat(9_000), ..asked() };
            let text = text(&news);
            assert!(units(&text.text) <= LONGEST, "{sign}: {}", units(&text.text));
            assert!(text.text.contains("more bytes: read them in the inbox"), "{sign}");
            assert!(news.call.starts_with(&part(&text, "pre")), "{sign}");
            assert!(!shows_whole(&news), "{sign}");
        }
    }

    /// The texts of the buttons.
    fn offered(news: &Announcement) -> Vec<String> {
        let rows = buttons(news);
        rows.iter().map(|row| row[0]["text"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn what_is_not_shown_whole_cannot_be_approved() {
        assert_eq!(offered(&asked()), ["\u{2705} Approve once", "\u{26d4} Deny"]);
        let mut before = true;
        for length in 3_000..4_200 {
            let news = Announcement { call: "x".repeat(length), ..asked() };
            let now =
                Announcement { news: AnnouncementEvent::Escalated, now: news.at, ..news.clone() };
            let whole = shows_whole(&news);
            // Once it is said to be whole, it is whole in every later message.
            assert!(!whole || text(&now).text.contains(&news.call), "{length}");
            assert_eq!(offered(&news).len(), if whole { 2 } else { 1 });
            assert!(before || !whole, "{length}");
            before = whole;
        }
        assert!(!before);
        let ways = asked().ways.map(|ways| ReplyOptions { approve: None, ..ways });
        assert_eq!(offered(&Announcement { ways, ..asked() }), ["\u{26d4} Deny"]);
    }

    #[test]
    fn only_an_address_on_the_internet_becomes_a_button() {
        let news = Announcement { inbox: "https://approve.example.org".to_owned(), ..asked() };
        let last = buttons(&news).pop().unwrap();
        assert_eq!(last[0]["url"], news.link());
        let over = AnnouncementEvent::Ended(Ending {
            state: countersign_workflow::request::State::Denied,
            by: "ana".to_owned(),
            place: String::new(),
            drill: None,
            edited: None,
        });
        let over = Announcement { news: over, ways: None, ..news };
        assert!(buttons(&over).is_empty() && !shows_whole(&over));
        assert!(!text(&over).text.contains("rm -rf"));
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("a\u{1f4a3}b", 3), "a…");
    }
}
