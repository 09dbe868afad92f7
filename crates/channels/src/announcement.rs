//! The content of an announcement and its texts. The call itself is included only where the
//! channel may show it.

use countersign_text::sanitize::{sanitize, sanitize_again, sanitize_within};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::request::{EscalationLevel, State};
use serde_json::{Value, json};

/// The maximum length of a sentence and of a name in a message, in bytes.
const MAX_SENTENCE: usize = 400;
const MAX_NAME: usize = 80;
/// The maximum length of the text about an edit, and of the edited call in it.
const MAX_EDIT: usize = 600;
const MAX_EDITED_CALL: usize = 240;
/// The maximum length of a notice.
const MAX_NOTICE: usize = 2_000;

/// What a channel announces about a request. It contains no secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// The id of this announcement: the same in every attempt, different for each announcement.
    pub key: String,
    /// What happened.
    pub news: AnnouncementEvent,
    /// When it happened.
    pub at: Timestamp,
    /// Now.
    pub now: Timestamp,
    /// The request.
    pub request: Id,
    /// A summary in one sentence; empty in a crisis.
    pub brief: String,
    /// The tool.
    pub tool: String,
    /// The risk tier.
    pub tier: Tier,
    /// The word pair made from the digest.
    pub phrase: String,
    /// The agent that asks.
    pub agent: String,
    /// The agent's session.
    pub session: String,
    /// The deadline for an approval.
    pub deadline: Timestamp,
    /// The people who have been asked so far.
    pub level: EscalationLevel,
    /// Whether a person may be in danger.
    pub crisis: bool,
    /// The base URL of the inbox.
    pub inbox: String,
    /// The exact call, safe to show; empty where this channel shows none of it.
    pub call: String,
    /// Bytes of the call that were left out.
    pub folded: u64,
    /// The reasons for the tier, most important first; empty where this channel shows no details.
    pub reasons: Vec<String>,
    /// How a person can answer, where this channel takes answers.
    pub ways: Option<ReplyOptions>,
    /// The payload of a test message's button, where a test waits for it.
    pub works: Option<String>,
}

/// How a person can reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyOptions {
    /// The payload of the Approve button; none where this channel cannot approve the request.
    pub approve: Option<String>,
    /// The message that approves the request, where a tap is not enough.
    pub type_to_approve: Option<String>,
    /// The payload of the Deny button.
    pub deny: String,
    /// A few digits to type, where there are no buttons.
    pub code: String,
}

impl ReplyOptions {
    /// The payload of the Approve button, where one tap approves.
    pub fn one_tap(&self) -> Option<&str> {
        self.approve.as_deref().filter(|_| self.type_to_approve.is_none())
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnnouncementEvent {
    /// A new request.
    Asked,
    /// The request was escalated to more people.
    Escalated,
    /// The request has ended.
    Ended(Ending),
    /// A notice without a request: a test, a digest.
    Notice(String),
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Approved, denied, expired or cancelled.
    pub state: State,
    /// Who ended it, as text.
    pub by: String,
    /// Through which channel, as text; empty where no person did.
    pub place: String,
    /// The text that is added if the request was a drill.
    pub drill: Option<String>,
    /// The call that was approved in place of the original.
    pub edited: Option<EditedNotice>,
}

/// A call that a person edited and approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedNotice {
    /// The risk tier of the edited call.
    pub tier: Tier,
    /// A summary in one sentence.
    pub brief: String,
    /// The exact call, safe to show; empty where this channel shows no calls.
    pub call: String,
}

impl EditedNotice {
    /// The edited call first, then the original, of which nothing runs.
    fn sentence(&self, original: &str) -> String {
        let mut text = format!("Edited call ({}): {}", self.tier.label(), self.brief);
        if !self.call.is_empty() {
            text = format!("{text} {}", sanitize_again(&self.call, MAX_EDITED_CALL));
        }
        sanitize_again(&format!("{text} Original, not approved: {original}"), MAX_EDIT)
    }
}

impl AnnouncementEvent {
    /// The word in events and JSON.
    pub const fn word(&self) -> &'static str {
        match self {
            AnnouncementEvent::Asked => "asked",
            AnnouncementEvent::Escalated => "escalated",
            AnnouncementEvent::Ended(_) => "ended",
            AnnouncementEvent::Notice(_) => "notice",
        }
    }
}

impl Announcement {
    /// The URL where a person can answer.
    pub fn link(&self) -> String {
        if matches!(self.news, AnnouncementEvent::Notice(_)) {
            return self.inbox.clone();
        }
        format!("{}/requests/{}", self.inbox.trim_end_matches('/'), self.request)
    }

    /// The title of a message: which agent asks for what.
    pub fn title(&self) -> String {
        let (emoji, tier) = (self.tier.emoji(), self.tier.label());
        let agent = safe(&self.agent, MAX_NAME);
        match &self.news {
            AnnouncementEvent::Asked => format!("{emoji} {tier}: {agent} asks for approval"),
            AnnouncementEvent::Escalated => {
                format!("{emoji} {tier}: escalated, {agent} still waits")
            }
            AnnouncementEvent::Ended(ending) => format!("{emoji} {tier}: {}", ending.text()),
            AnnouncementEvent::Notice(_) => "Countersign".to_owned(),
        }
    }

    /// What the call would do.
    pub fn sentence(&self) -> String {
        if let AnnouncementEvent::Notice(text) = &self.news {
            safe(text, MAX_NOTICE)
        } else if let AnnouncementEvent::Ended(Ending { drill: Some(words), .. }) = &self.news {
            safe(words, MAX_NOTICE)
        } else if let AnnouncementEvent::Ended(Ending { edited: Some(edited), .. }) = &self.news {
            edited.sentence(&self.brief)
        } else if self.brief.trim().is_empty() {
            format!("The agent wants to use {}.", safe(&self.tool, MAX_NAME))
        } else {
            sanitize_again(&self.brief, MAX_SENTENCE)
        }
    }

    /// What to do next, with the word pair that must be the same on every surface.
    pub fn advice(&self) -> String {
        match self.news {
            AnnouncementEvent::Asked | AnnouncementEvent::Escalated => {
                let (phrase, left) = (&self.phrase, time_left(self.now, self.deadline));
                let typed = self.ways.as_ref().and_then(|ways| ways.type_to_approve.as_ref());
                let typed = typed.map(|text| format!(" To approve, send: {text}."));
                let typed = typed.unwrap_or_default();
                let link = self.link();
                format!("{phrase}.{typed} Decide {left}, or the request is denied: {link}")
            }
            AnnouncementEvent::Ended(_) => self.phrase.clone(),
            AnnouncementEvent::Notice(_) => self.link(),
        }
    }

    /// A notice without a request.
    pub fn notice(text: String, now: Timestamp, inbox: String) -> Announcement {
        Announcement {
            key: format!("notice-{}", now.0),
            news: AnnouncementEvent::Notice(text),
            at: now,
            now,
            request: Id::from_bytes([0; 16]),
            brief: String::new(),
            tool: String::new(),
            tier: Tier::Safe,
            phrase: String::new(),
            agent: String::new(),
            session: String::new(),
            deadline: now,
            level: EscalationLevel::First,
            crisis: false,
            inbox,
            call: String::new(),
            folded: 0,
            reasons: Vec::new(),
            ways: None,
            works: None,
        }
    }

    /// The announcement in one line without control characters.
    pub fn line(&self) -> String {
        format!("{}. {} {}", self.title(), self.sentence(), self.advice())
    }

    /// The reasons, safe to show.
    pub(crate) fn shown_reasons(&self) -> Vec<String> {
        self.reasons.iter().map(|reason| sanitize_again(reason, MAX_NOTICE)).collect()
    }

    /// The announcement as JSON. A receiver may show every text as it is; names are not shortened,
    /// so that different ones stay different.
    pub fn data(&self) -> Value {
        let ended = match &self.news {
            AnnouncementEvent::Ended(ending) => {
                json!({
                    "state": ending.state, "by": sanitize(&ending.by).text,
                    "place": sanitize(&ending.place).text,
                    "drill": ending.drill.as_ref().map(|words| sanitize(words).text),
                    "edited": ending.edited.as_ref().map(|edited| {
                        let brief = sanitize_again(&edited.brief, MAX_SENTENCE);
                        json!({ "tier": edited.tier, "brief": brief })
                    }),
                })
            }
            AnnouncementEvent::Asked
            | AnnouncementEvent::Escalated
            | AnnouncementEvent::Notice(_) => Value::Null,
        };
        // A notice has no call, so its text is the summary.
        let brief = match &self.news {
            AnnouncementEvent::Notice(text) => safe(text, MAX_NOTICE),
            _ => sanitize_again(&self.brief, MAX_SENTENCE),
        };
        json!({
            "request": self.request, "kind": self.news.word(), "ended": ended,
            "brief": brief, "tool": sanitize(&self.tool).text, "tier": self.tier,
            "emoji": self.tier.emoji(), "phrase": self.phrase,
            "agent": sanitize(&self.agent).text, "session": sanitize(&self.session).text,
            "deadline": self.deadline, "level": self.level,
            "crisis": self.crisis, "link": self.link(),
        })
    }
}

impl Ending {
    /// The end as text.
    pub fn text(&self) -> String {
        let mut by = safe(&self.by, MAX_NAME);
        if !self.place.is_empty() {
            by = format!("{by} {}", safe(&self.place, MAX_NAME));
        }
        match self.state {
            State::Cancelled if self.drill.is_some() => "a drill, cancelled".to_owned(),
            _ if self.drill.is_some() => format!("a drill, {} by {by}", self.state.label()),
            State::Approved if self.edited.is_some() => format!("approved as edited by {by}"),
            State::Approved => format!("approved by {by}"),
            State::Denied => format!("denied by {by}"),
            State::Cancelled => "cancelled by the agent".to_owned(),
            State::Expired | State::Pending => {
                "expired without an answer, so it was denied".to_owned()
            }
        }
    }
}

/// A text that is safe to show.
pub(crate) fn safe(text: &str, limit: usize) -> String {
    sanitize_within(text, limit).text.into_owned()
}

fn time_left(now: Timestamp, deadline: Timestamp) -> String {
    let seconds = now.until(deadline).0 / 1000;
    match seconds {
        0 => "now".to_owned(),
        1..=119 => format!("within {seconds} s"),
        _ => format!("within {} min", seconds / 60),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn asked() -> Announcement {
        Announcement {
            key: "00000000000000000000000001-7".to_owned(),
            news: AnnouncementEvent::Asked,
            at: Timestamp(1_794_700_000_000),
            now: Timestamp(1_794_700_001_000),
            request: Id::parse("00000000000000000000000001").unwrap(),
            brief: "Deletes 214 files below ~/code/shop.".to_owned(),
            tool: "shell".to_owned(),
            tier: Tier::High,
            phrase: "olive-tractor".to_owned(),
            agent: "hermes".to_owned(),
            session: "s1".to_owned(),
            deadline: Timestamp(1_794_700_041_000),
            level: EscalationLevel::First,
            crisis: false,
            inbox: "http://127.0.0.1:6001".to_owned(),
            call: "rm -rf ~/code/shop".to_owned(),
            folded: 0,
            reasons: vec!["Deletes a folder and everything in it.".to_owned()],
            ways: Some(ReplyOptions {
                approve: Some("a:00000000000000000000000001:AAAAAAAAAAAA".to_owned()),
                type_to_approve: None,
                deny: "d:00000000000000000000000001:BBBBBBBBBBBB".to_owned(),
                code: "482913".to_owned(),
            }),
            works: None,
        }
    }

    #[test]
    fn a_call_that_takes_its_words_has_no_button() {
        let ways = asked().ways.unwrap();
        assert!(ways.one_tap().is_some());
        let type_to_approve = Some("/approve olive-tractor".to_owned());
        let ways = ReplyOptions { type_to_approve, ..ways };
        assert_eq!(ways.one_tap(), None);
        let advice = Announcement { ways: Some(ways), ..asked() }.advice();
        assert!(advice.contains("To approve, send: /approve olive-tractor. Decide"), "{advice}");
    }

    #[test]
    fn a_line_says_who_what_and_until_when() {
        assert_eq!(
            asked().line(),
            "\u{1f534} HIGH: hermes asks for approval. Deletes 214 files below ~/code/shop. olive-tractor. \
             Decide within 40 s, or the request is denied: \
             http://127.0.0.1:6001/requests/00000000000000000000000001"
        );
        let by = "ana".to_owned();
        let place = "in the web inbox".to_owned();
        let news = AnnouncementEvent::Ended(Ending {
            state: State::Denied,
            by,
            place,
            drill: None,
            edited: None,
        });
        let ended = Announcement { news, ..asked() };
        assert_eq!(ended.title(), "\u{1f534} HIGH: denied by ana in the web inbox");
        let (by, drill) = ("ana".to_owned(), Some("This was a drill.".to_owned()));
        let over = Ending { state: State::Approved, by, place: String::new(), drill, edited: None };
        let drill = Announcement { news: AnnouncementEvent::Ended(over), ..asked() };
        assert_eq!(drill.title(), "\u{1f534} HIGH: a drill, approved by ana");
        assert_eq!(drill.sentence(), "This was a drill.");
    }

    #[test]
    fn an_edited_call_is_told_with_its_own_tier_before_the_original() {
        let edited = EditedNotice {
            tier: Tier::Critical,
            brief: "Deletes /var/www.".to_owned(),
            call: "$ rm -rf /var/www".to_owned(),
        };
        let (by, place) = ("ana".to_owned(), "in the web inbox".to_owned());
        let ending =
            Ending { state: State::Approved, by, place, drill: None, edited: Some(edited) };
        let told = Announcement { news: AnnouncementEvent::Ended(ending), ..asked() };
        assert_eq!(told.title(), "\u{1f534} HIGH: approved as edited by ana in the web inbox");
        assert_eq!(
            told.sentence(),
            "Edited call (CRITICAL): Deletes /var/www. $ rm -rf /var/www Original, not approved: \
             Deletes 214 files below ~/code/shop."
        );
        assert_eq!(told.data()["ended"]["edited"]["tier"], "CRITICAL");
    }

    #[test]
    fn nobody_draws_on_the_terminal_of_who_decides() {
        let evil = "\x1b[2J\x07safe\u{202e}\r\n".to_owned();
        let (by, place, drill) = (evil.clone(), evil.clone(), Some(evil.clone()));
        let news = AnnouncementEvent::Ended(Ending {
            state: State::Approved,
            by,
            place,
            drill,
            edited: None,
        });
        for told in [
            Announcement { agent: evil.clone(), brief: evil.clone(), ..asked() },
            Announcement { tool: evil.clone(), brief: String::new(), ..asked() },
            Announcement { news, ..asked() },
        ] {
            let line = told.line();
            assert!(!line.chars().any(|c| c.is_control() || c == '\u{202e}'), "{line:?}");
        }
    }

    /// Bidi override and isolate, ANSI escape, NUL, line breaks, zero-width and tag characters.
    pub(crate) const DECEPTIVE: &str =
        "rm\u{202e}\u{2066}\x1b[2J\x1b]0;x\x07\0\r\nok\u{200b}\u{feff}\u{2028}\u{e0041}\u{9b}31m";

    /// Whether a JSON value has no text that hides, reorders or draws.
    pub(crate) fn is_displayable(value: &Value) -> bool {
        match value {
            Value::String(text) => !text.chars().any(|c| {
                c.is_control() || DECEPTIVE.chars().any(|d| d == c && !d.is_ascii_graphic())
            }),
            Value::Array(list) => list.iter().all(is_displayable),
            Value::Object(members) => members.values().all(is_displayable),
            _ => true,
        }
    }

    pub(crate) fn deceptive() -> Announcement {
        let evil = || DECEPTIVE.to_owned();
        Announcement {
            brief: evil(),
            tool: evil(),
            agent: evil(),
            session: evil(),
            reasons: vec![evil()],
            ..asked()
        }
    }

    #[test]
    fn every_text_of_the_json_is_displayable() {
        let evil = || DECEPTIVE.to_owned();
        assert!(is_displayable(&deceptive().data()), "{}", deceptive().data());
        let edited = EditedNotice { tier: Tier::High, brief: evil(), call: String::new() };
        let ending = Ending {
            state: State::Approved,
            by: evil(),
            place: evil(),
            drill: Some(evil()),
            edited: Some(edited),
        };
        let ended = Announcement { news: AnnouncementEvent::Ended(ending), ..deceptive() };
        assert!(is_displayable(&ended.data()), "{}", ended.data());
        let notice = Announcement { news: AnnouncementEvent::Notice(evil()), ..asked() };
        assert!(is_displayable(&notice.data()), "{}", notice.data());
        // Different names stay different.
        let other = Announcement { session: format!("{DECEPTIVE}\0"), ..deceptive() };
        assert_ne!(other.data()["session"], deceptive().data()["session"]);
    }

    #[test]
    fn a_sanitized_summary_is_not_escaped_again() {
        let brief = "Deletes a⟨U+202E⟩b⏎c and ⟨secret⟩.".to_owned();
        let told = Announcement { brief: brief.clone(), reasons: vec![brief.clone()], ..asked() };
        assert_eq!(told.sentence(), brief);
        assert_eq!(told.data()["brief"], brief);
        assert_eq!(told.message(0).reasons, [brief]);
    }

    #[test]
    fn a_message_stays_short_whatever_an_agent_calls_itself() {
        let long = "x".repeat(100_000);
        let told = Announcement { agent: long.clone(), brief: long.clone(), ..asked() };
        assert!(told.line().len() < 1_000, "{}", told.line().len());
    }
}
