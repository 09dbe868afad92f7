//! What is told about a request, and the plain words for it. Never the arguments: only the brief.

use countersign_core::id::Id;
use countersign_core::request::{Rung, State};
use countersign_core::show::show_within;
use countersign_core::tier::Tier;
use countersign_core::time::Timestamp;
use serde_json::{Value, json};

/// The longest sentence and the longest name that a message holds, in bytes.
const SENTENCE: usize = 400;
const NAME: usize = 80;

/// What is told about a request. Free of secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// The name of this announcement: the same in every attempt, another for other news.
    pub key: String,
    /// What happened.
    pub news: News,
    /// When it happened.
    pub at: Timestamp,
    /// Now.
    pub now: Timestamp,
    /// About which request.
    pub request: Id,
    /// One plain sentence; empty in a crisis.
    pub brief: String,
    /// The tool.
    pub tool: String,
    /// How grave it is.
    pub tier: Tier,
    /// Two words from the digest.
    pub phrase: String,
    /// Who asks.
    pub agent: String,
    /// In which session.
    pub session: String,
    /// Until when it can be approved.
    pub deadline: Timestamp,
    /// Who is asked by now.
    pub rung: Rung,
    /// Whether a person may be in danger.
    pub crisis: bool,
    /// Where the people's door is.
    pub inbox: String,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// A person is asked.
    Asked,
    /// Nobody answered: more people are asked.
    Climbed,
    /// It is over.
    Ended(Ending),
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Approved, denied, expired or cancelled.
    pub state: State,
    /// By whom, in words.
    pub by: String,
}

impl News {
    /// The word for machines.
    pub const fn word(&self) -> &'static str {
        match self {
            News::Asked => "asked",
            News::Climbed => "climbed",
            News::Ended(_) => "ended",
        }
    }
}

impl Announcement {
    /// Where a person can answer.
    pub fn link(&self) -> String {
        format!("{}/requests/{}", self.inbox.trim_end_matches('/'), self.request)
    }

    /// Who wants what, in a few words: the title of a message.
    pub fn title(&self) -> String {
        let (emoji, tier) = (self.tier.emoji(), self.tier.label());
        let agent = safe(&self.agent, NAME);
        match &self.news {
            News::Asked => format!("{emoji} {tier}: {agent} asks"),
            News::Climbed => format!("{emoji} {tier}: {agent} still waits for an answer"),
            News::Ended(ending) => format!("{emoji} {tier}: {}", ending.say()),
        }
    }

    /// What would happen.
    pub fn sentence(&self) -> String {
        if self.brief.trim().is_empty() {
            format!("It wants to use {}.", safe(&self.tool, NAME))
        } else {
            safe(&self.brief, SENTENCE)
        }
    }

    /// What to do, with the two words that must be the same everywhere.
    pub fn advice(&self) -> String {
        match self.news {
            News::Asked | News::Climbed => {
                let (phrase, left) = (&self.phrase, time_left(self.now, self.deadline));
                format!("{phrase}. Answer {left}, or it is denied: {}", self.link())
            }
            News::Ended(_) => self.phrase.clone(),
        }
    }

    /// All of it in one line without control characters.
    pub fn line(&self) -> String {
        format!("{}. {} {}", self.title(), self.sentence(), self.advice())
    }

    /// All of it for machines.
    pub fn data(&self) -> Value {
        let ended = match &self.news {
            News::Ended(ending) => json!({ "state": ending.state, "by": ending.by }),
            News::Asked | News::Climbed => Value::Null,
        };
        json!({
            "request": self.request, "kind": self.news.word(), "ended": ended,
            "brief": self.brief, "tool": self.tool, "tier": self.tier,
            "emoji": self.tier.emoji(), "phrase": self.phrase, "agent": self.agent,
            "session": self.session, "deadline": self.deadline, "rung": self.rung,
            "crisis": self.crisis, "link": self.link(),
        })
    }
}

impl Ending {
    /// In words.
    pub fn say(&self) -> String {
        let by = safe(&self.by, NAME);
        match self.state {
            State::Approved => format!("approved by {by}"),
            State::Denied => format!("denied by {by}"),
            State::Cancelled => "the agent took it back".to_owned(),
            State::Expired | State::Pending => "denied, because nobody answered".to_owned(),
        }
    }
}

/// A text that can stand before a person.
pub(crate) fn safe(text: &str, limit: usize) -> String {
    show_within(text, limit).text.into_owned()
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
            news: News::Asked,
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
            rung: Rung::First,
            crisis: false,
            inbox: "http://127.0.0.1:6001".to_owned(),
        }
    }

    #[test]
    fn a_line_says_who_what_and_until_when() {
        assert_eq!(
            asked().line(),
            "\u{1f534} HIGH: hermes asks. Deletes 214 files below ~/code/shop. olive-tractor. \
             Answer within 40 s, or it is denied: \
             http://127.0.0.1:6001/requests/00000000000000000000000001"
        );
        let by = "ana".to_owned();
        let news = News::Ended(Ending { state: State::Denied, by });
        let ended = Announcement { news, ..asked() };
        assert_eq!(ended.title(), "\u{1f534} HIGH: denied by ana");
    }

    #[test]
    fn nobody_draws_on_the_terminal_of_who_decides() {
        let evil = "\x1b[2J\x07safe\u{202e}\r\n".to_owned();
        let news = News::Ended(Ending { state: State::Approved, by: evil.clone() });
        for told in [
            Announcement { agent: evil.clone(), brief: evil.clone(), ..asked() },
            Announcement { tool: evil.clone(), brief: String::new(), ..asked() },
            Announcement { news, ..asked() },
        ] {
            let line = told.line();
            assert!(!line.chars().any(|c| c.is_control() || c == '\u{202e}'), "{line:?}");
        }
    }

    #[test]
    fn a_message_stays_short_whatever_an_agent_calls_itself() {
        let long = "x".repeat(100_000);
        let told = Announcement { agent: long.clone(), brief: long.clone(), ..asked() };
        assert!(told.line().len() < 1_000, "{}", told.line().len());
    }
}
