//! What the inbox knows, and what becomes of it: pure, given what happens and when.

use countersign_client::{Choice, Request};

use super::event::{Drawn, Effect, Event, Link, Moment};
use super::list::List;
use crate::core_api::{Card, thousands};
use crate::gate::proof::Proof;
use crate::gate::{page, show};

/// What has just come up takes no approval for so long: the finger was meant for something else.
pub const SETTLE: u64 = 400;
/// How often the daemon is told that a person is there.
const PRESENCE: u64 = 20_000;
/// How long a note stays, and how long at least, whatever is typed.
const NOTE: u64 = 8000;
const READ: u64 = 1000;

/// Where the keys go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    /// To the list.
    List,
    /// To the card.
    Card,
}

/// What the person is being asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Asking {
    /// Nothing.
    #[default]
    Nothing,
    /// The keys are shown.
    Help,
    /// What to look for.
    Filter,
    /// Whether it may run.
    Approve(Question),
    /// Why it may not.
    Deny(Question),
    /// Whether all of these are to be denied.
    DenyAll {
        /// Each by its id and digest, as they were when it was asked.
        list: Vec<(String, String)>,
        /// What was typed.
        typed: String,
    },
}

/// A question about one request, bound to the call that was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Which request.
    pub id: String,
    /// Which call.
    pub digest: String,
    /// Its two words.
    pub phrase: String,
    /// What an approval takes.
    pub proof: Proof,
    /// Bytes of it that are on no card.
    pub unseen: u64,
    /// Whether the same call may pass again in this session.
    pub for_session: bool,
    /// What was typed.
    pub typed: String,
}

/// The card of the one that is looked at.
#[derive(Debug)]
pub struct Looked {
    /// Whose.
    pub id: String,
    /// The card, as far as it is there.
    pub page: Page,
    /// All of the call was on the screen.
    pub whole: bool,
}

/// A card on its way.
#[derive(Debug)]
pub enum Page {
    /// It was asked for.
    Coming,
    /// It did not come; why.
    Missing(String),
    /// The request, and its card if it can be believed.
    There(Box<Request>, Option<Box<Card>>),
}

/// A word to the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What is said.
    pub text: String,
    /// Whether something did not work.
    pub wrong: bool,
    since: u64,
}

impl Note {
    /// Whether it has stood there for a while: the next key takes it away.
    pub(super) fn was_read(&self, now: u64) -> bool {
        now.saturating_sub(self.since) >= READ
    }
}

/// All of it.
#[derive(Debug)]
pub struct Inbox {
    /// What waits.
    pub list: List,
    /// The card of the one that is looked at.
    pub looked: Option<Looked>,
    /// Where the keys go.
    pub focus: Focus,
    /// What the person is being asked.
    pub asking: Asking,
    /// The first line of the card that is to be drawn.
    pub scroll: usize,
    /// How the connection stands.
    pub link: Link,
    /// Whether the list was ever read.
    pub read: bool,
    /// A word to the person.
    pub note: Option<Note>,
    /// Now.
    pub at: Moment,
    pub(super) drawn: Drawn,
    /// When something last moved under the finger.
    pub(super) moved: u64,
    /// A question was taken away while somebody typed: what they type on is not meant for us.
    pub(super) hush: bool,
    present: Option<u64>,
}

impl Inbox {
    /// Before anything was read.
    pub fn new(at: Moment) -> Inbox {
        Inbox {
            list: List::default(),
            looked: None,
            focus: Focus::List,
            asking: Asking::Nothing,
            scroll: 0,
            link: Link::Opening,
            read: false,
            note: None,
            at,
            drawn: Drawn::default(),
            moved: at.steady,
            hush: false,
            present: None,
        }
    }

    /// Takes in what happened; says what is to be done.
    pub fn apply(&mut self, event: Event, at: Moment) -> Vec<Effect> {
        self.at = at;
        let mut effects = match event {
            Event::Key(key) => {
                let mut effects = self.presence();
                effects.extend(self.key(key));
                effects
            }
            Event::Pasted(text) => {
                self.paste(&text);
                self.presence()
            }
            other => {
                self.happened(other);
                Vec::new()
            }
        };
        effects.extend(self.look());
        effects
    }

    fn happened(&mut self, event: Event) {
        let now = self.at.steady;
        match event {
            Event::Tick => {
                if self.list.tidy(now) {
                    self.moved = now;
                }
                self.note.take_if(|note| now.saturating_sub(note.since) >= NOTE);
            }
            Event::Listed(requests) => {
                self.read = true;
                if self.list.replace(requests, now) {
                    self.moved = now;
                }
            }
            Event::Changed(request) => {
                if self.list.put(*request, now) {
                    self.moved = now;
                }
            }
            Event::Fetched(id, answer) => self.fetched(&id, answer),
            Event::Answered(id, choice, answer) => self.answered(&id, choice, answer),
            Event::DeniedAll(ids, denied, wrong, drill) => {
                self.denied_all(&ids, denied, wrong, drill);
            }
            Event::Link(link) => self.linked(link),
            Event::Drawn(drawn) => self.was_drawn(drawn),
            Event::Key(_) | Event::Pasted(_) => {}
        }
        self.end_stale_question();
    }

    /// A question about something that is over is taken away.
    fn end_stale_question(&mut self) {
        let (Asking::Approve(question) | Asking::Deny(question)) = &self.asking else { return };
        let entry = self.list.by_id(&question.id);
        let stands = entry.is_some_and(|one| one.waits() && one.request.digest == question.digest);
        if !stands {
            self.asking = Asking::Nothing;
            self.hush = true;
            self.moved = self.at.steady;
            self.wrong("It is over already; what you typed was not sent.");
        }
    }

    /// Asks for the card of the one that is looked at, once.
    fn look(&mut self) -> Option<Effect> {
        let Some(entry) = self.list.current() else {
            self.looked = None;
            self.focus = Focus::List;
            return None;
        };
        if self.looked.as_ref().is_some_and(|looked| looked.id == entry.id) {
            return None;
        }
        let id = entry.id.clone();
        self.looked = Some(Looked { id: id.clone(), page: Page::Coming, whole: false });
        self.scroll = 0;
        self.focus = Focus::List;
        self.moved = self.at.steady;
        Some(Effect::Fetch(id))
    }

    /// The card of the one that is looked at has to be asked for again.
    pub(super) fn look_again(&mut self) {
        self.looked.take_if(|looked| matches!(looked.page, Page::Missing(_)));
    }

    fn fetched(&mut self, id: &str, answer: Result<Box<Request>, String>) {
        if let Ok(request) = &answer {
            self.list.put((**request).clone(), self.at.steady);
        }
        let Some(looked) = self.looked.as_mut().filter(|looked| looked.id == id) else { return };
        looked.page = match answer {
            Ok(request) => {
                let card = show::card_of(&request).map(Box::new);
                Page::There(request, card)
            }
            Err(why) => Page::Missing(why),
        };
        looked.whole = false;
        self.moved = self.at.steady;
    }

    fn answered(&mut self, id: &str, choice: Choice, answer: Result<Box<Request>, String>) {
        self.list.set_sending(id, false);
        match answer {
            Ok(request) => {
                let words = page::safe(&request.phrase, 60);
                if let Some(drill) = &request.drill {
                    self.say(page::safe(&drill.words, 1000));
                } else if request.decision.is_none() {
                    let (given, needed) = (request.approvals, request.quorum.approve);
                    self.say(format!("{words}: your word counts; {given} of {needed} said yes."));
                } else {
                    let word = request.state.word();
                    let grant = request.grant.is_some();
                    let more = if grant { ", and again in this session" } else { "" };
                    self.say(format!("{words}: {word}{more}."));
                }
                if self.list.put(*request, self.at.steady) {
                    self.moved = self.at.steady;
                }
            }
            Err(why) => {
                let not = if choice == Choice::Approve { "approved" } else { "denied" };
                self.wrong(format!("Not {not}: {why}"));
            }
        }
    }

    fn denied_all(
        &mut self,
        ids: &[String],
        denied: usize,
        wrong: Option<String>,
        drill: Option<String>,
    ) {
        for id in ids {
            self.list.set_sending(id, false);
        }
        match wrong {
            None => {
                let drill = drill.map_or_else(String::new, |words| format!(" {words}"));
                self.say(format!("{} denied.{drill}", thousands(denied as u64)));
            }
            Some(why) => self.wrong(format!("{denied} of {} denied: {why}", ids.len())),
        }
    }

    fn linked(&mut self, link: Link) {
        if link == Link::Up && self.link != Link::Up {
            self.look_again();
        }
        self.link = link;
    }

    fn was_drawn(&mut self, drawn: Drawn) {
        // Where our own layout changed, the list did not.
        if self.list.fit(drawn.rows) && self.drawn.rows == drawn.rows {
            self.moved = self.at.steady;
        }
        self.scroll = self.scroll.min(drawn.lines.saturating_sub(drawn.page));
        let seen = !drawn.folded && drawn.from + drawn.page >= drawn.call_end && drawn.page > 0;
        if let Some(looked) = &mut self.looked
            && matches!(looked.page, Page::There(..))
            && drawn.id.as_deref() == Some(looked.id.as_str())
        {
            looked.whole |= seen;
        }
        self.drawn = drawn;
    }

    /// Whether a key may be an approval: nothing has moved under the finger just now.
    pub(super) fn is_settled(&self) -> bool {
        self.at.steady.saturating_sub(self.moved) >= SETTLE
    }

    fn presence(&mut self) -> Vec<Effect> {
        let due = self.present.is_none_or(|last| self.at.steady.saturating_sub(last) >= PRESENCE);
        if due {
            self.present = Some(self.at.steady);
            return vec![Effect::Here];
        }
        Vec::new()
    }

    pub(super) fn say(&mut self, text: impl Into<String>) {
        self.note = Some(Note { text: text.into(), wrong: false, since: self.at.steady });
    }

    pub(super) fn wrong(&mut self, text: impl Into<String>) {
        self.note = Some(Note { text: text.into(), wrong: true, since: self.at.steady });
    }
}
