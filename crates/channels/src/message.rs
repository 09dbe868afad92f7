//! A message about a request within a platform's limit: as much of the call as fits, and a note
//! about what was left out.

use countersign_text::humanize::thousands;

use crate::announcement::{Announcement, AnnouncementEvent};

/// The parts of a message, in order. All of them are safe to show; none is escaped for a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Which agent asks for what.
    pub title: String,
    /// What the call would do.
    pub sentence: String,
    /// The exact call, or its beginning; empty where this channel shows none.
    pub call: String,
    /// A note about the part that was left out; empty where nothing was.
    pub missing: String,
    /// The reasons for the tier, most important first.
    pub reasons: Vec<String>,
    /// The word pair, the time left and the link to the inbox.
    pub advice: String,
}

/// A message as a platform gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FittedText {
    /// The text, escaped.
    pub text: String,
    /// Whether all of the call is in it: only then may a button approve it.
    pub whole: bool,
}

impl Announcement {
    /// The message with at most `room` bytes of the call.
    pub fn message(&self, most: usize) -> Message {
        let over = matches!(self.news, AnnouncementEvent::Ended(_));
        let call = if over { "" } else { self.call.as_str() };
        let end = call.floor_char_boundary(most.min(call.len()));
        let shown = call.get(..end).unwrap_or_default();
        let cut = (call.len() - shown.len()) as u64 + self.folded;
        let missing = match cut {
            0 => String::new(),
            _ if over || self.call.is_empty() => String::new(),
            _ => format!("… {} more bytes: read them in the inbox", thousands(cut)),
        };
        Message {
            title: self.title(),
            sentence: self.sentence(),
            call: shown.to_owned(),
            missing,
            reasons: if over { Vec::new() } else { self.shown_reasons() },
            advice: self.advice(),
        }
    }

    /// The message shortened to the limit; only the call is cut. `measure` counts as the platform
    /// counts.
    pub fn fitted(
        &self,
        limit: usize,
        measure: impl Fn(&str) -> usize,
        render: impl Fn(&Message) -> String,
    ) -> FittedText {
        let mut most = self.call.len();
        loop {
            let message = self.message(most);
            let text = render(&message);
            if measure(&text) <= limit || most == 0 {
                let whole = !self.call.is_empty() && message.missing.is_empty();
                return FittedText { text, whole };
            }
            most = most * 3 / 4;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announcement::tests::asked;

    fn plain(message: &Message) -> String {
        [&message.title, &message.sentence, &message.call, &message.missing, &message.advice]
            .map(String::as_str)
            .join("\n")
    }

    #[test]
    fn what_is_left_out_is_said_and_cannot_be_approved() {
        let short = Announcement { call: "rm -rf build".to_owned(), ..asked() };
        let fits = short.fitted(4096, str::len, plain);
        assert!(fits.whole && fits.text.contains("rm -rf build"), "{fits:?}");
        let long = Announcement { call: "é".repeat(5_000), ..asked() };
        let cut = long.fitted(4096, str::len, plain);
        assert!(!cut.whole && cut.text.len() <= 4096, "{}", cut.text.len());
        assert!(cut.text.contains("more bytes: read them in the inbox"));
        // What the card does not hold is missing here as well.
        let folded = Announcement { folded: 3_120, ..short.clone() };
        let told = folded.fitted(4096, str::len, plain);
        assert!(!told.whole && told.text.contains("… 3,120 more bytes"), "{}", told.text);
        let none = Announcement { call: String::new(), ..asked() };
        assert!(!none.fitted(4096, str::len, plain).whole);
    }

    #[test]
    fn however_small_the_room_it_ends() {
        let long = Announcement { call: "x".repeat(50_000), ..asked() };
        assert!(!long.fitted(10, str::len, plain).whole);
    }
}
