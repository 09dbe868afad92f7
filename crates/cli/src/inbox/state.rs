//! The state of the inbox and its transitions: pure, driven by events and time.

use countersign_client::{DecisionChoice, DecisionRecord, RequestRecord};

use super::event::{Drawn, InboxEffect, InboxEvent, Link, UiTime};
use super::list::{ListEntry, RequestList};
use super::model::{ActivePrompt, CardPage, Focus, SelectedCard, StatusNote};
use crate::engine::thousands;
use crate::gate::{page, show};

/// A card that just appeared accepts no approval for this long: the key was meant for another card.
pub const SETTLE: u64 = 400;
/// How often the presence of the person is reported to the daemon.
const PRESENCE: u64 = 20_000;
/// How long a note stays.
const NOTE: u64 = 8000;

/// The state of the inbox.
#[derive(Debug)]
pub struct Inbox {
    /// The pending requests.
    pub list: RequestList,
    /// The card of the selected request.
    pub looked: Option<SelectedCard>,
    /// Where keys go.
    pub focus: Focus,
    /// The open prompt.
    pub asking: ActivePrompt,
    /// The first visible line of the card.
    pub scroll: usize,
    /// The state of the connection.
    pub link: Link,
    /// Whether the list was loaded.
    pub read: bool,
    /// A message to the person.
    pub note: Option<StatusNote>,
    /// Now.
    pub at: UiTime,
    pub(super) drawn: Drawn,
    /// When something last moved on the screen.
    pub(super) moved: u64,
    /// A prompt closed while the person typed: the rest of the typed text is ignored.
    pub(super) hush: bool,
    present: Option<u64>,
}

impl Inbox {
    /// The initial state.
    pub fn new(at: UiTime) -> Inbox {
        Inbox {
            list: RequestList::default(),
            looked: None,
            focus: Focus::List,
            asking: ActivePrompt::Nothing,
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

    /// Handles an event; returns the effects.
    pub fn apply(&mut self, event: InboxEvent, at: UiTime) -> Vec<InboxEffect> {
        self.at = at;
        let mut effects = match event {
            InboxEvent::Key(key) => {
                let mut effects = self.presence();
                effects.extend(self.key(key));
                effects
            }
            InboxEvent::Pasted(text) => {
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

    fn happened(&mut self, event: InboxEvent) {
        let now = self.at.steady;
        match event {
            InboxEvent::Tick => {
                if self.list.tidy(now) {
                    self.moved = now;
                }
                self.note.take_if(|note| now.saturating_sub(note.since) >= NOTE);
            }
            InboxEvent::Listed(requests) => {
                self.read = true;
                if self.list.replace(requests, now) {
                    self.moved = now;
                }
            }
            InboxEvent::Changed(request) => {
                if self.list.put(*request, now) {
                    self.moved = now;
                }
            }
            InboxEvent::Fetched(id, answer) => self.fetched(&id, answer),
            InboxEvent::Answered(id, choice, answer) => self.answered(&id, choice, answer),
            InboxEvent::DeniedAll(ids, denied, wrong, drill) => {
                self.denied_all(&ids, denied, wrong, drill);
            }
            InboxEvent::Frozen(Ok(())) => {
                self.say("Frozen. Every call is refused; run `countersign thaw people` to end it.");
            }
            InboxEvent::Frozen(Err(why)) => self.wrong(format!("Not frozen: {why}")),
            InboxEvent::Link(link) => self.linked(link),
            InboxEvent::Drawn(drawn) => self.was_drawn(drawn),
            InboxEvent::Key(_) | InboxEvent::Pasted(_) => {}
        }
        self.end_stale_question();
    }

    /// Closes a prompt about a request that has ended.
    fn end_stale_question(&mut self) {
        let (ActivePrompt::Approve(question) | ActivePrompt::Deny(question)) = &self.asking else {
            return;
        };
        let entry = self.list.by_id(&question.id);
        let is_edited =
            entry.is_some_and(|one| one.waits() && one.request.digest != question.digest);
        let stands = entry.is_some_and(ListEntry::waits) && !is_edited;
        if !stands {
            self.asking = ActivePrompt::Nothing;
            self.hush = true;
            self.moved = self.at.steady;
            self.wrong(if is_edited {
                "A person edited the call. Look at it again; your text was not sent."
            } else {
                "The request has already ended; your text was not sent."
            });
        }
    }

    /// Loads the card of the selected request, once.
    fn look(&mut self) -> Option<InboxEffect> {
        let Some(entry) = self.list.current() else {
            self.looked = None;
            self.focus = Focus::List;
            return None;
        };
        // An edit takes the place of the call that was loaded.
        let is_current = |page: &CardPage| match page {
            CardPage::There(request, _) => request.digest == entry.request.digest,
            CardPage::Coming | CardPage::Missing(_) => true,
        };
        let looked = self.looked.as_ref().filter(|looked| looked.id == entry.id);
        if looked.is_some_and(|looked| is_current(&looked.page)) {
            return None;
        }
        let id = entry.id.clone();
        self.looked = Some(SelectedCard { id: id.clone(), page: CardPage::Coming, whole: false });
        self.scroll = 0;
        self.focus = Focus::List;
        self.moved = self.at.steady;
        Some(InboxEffect::Fetch(id))
    }

    /// Loads the card of the selected request again.
    pub(super) fn look_again(&mut self) {
        self.looked.take_if(|looked| matches!(looked.page, CardPage::Missing(_)));
    }

    fn fetched(&mut self, id: &str, answer: Result<Box<RequestRecord>, String>) {
        if let Ok(request) = &answer {
            self.list.put((**request).clone(), self.at.steady);
        }
        let Some(looked) = self.looked.as_mut().filter(|looked| looked.id == id) else { return };
        looked.page = match answer {
            Ok(request) => {
                let card = show::card_of(&request).map(Box::new);
                CardPage::There(request, card)
            }
            Err(why) => CardPage::Missing(why),
        };
        looked.whole = false;
        self.moved = self.at.steady;
    }

    fn answered(
        &mut self,
        id: &str,
        choice: DecisionChoice,
        answer: Result<Box<RequestRecord>, String>,
    ) {
        self.list.set_sending(id, false);
        match answer {
            Ok(request) => {
                let words = page::safe(&request.phrase, 60);
                if let Some(drill) = &request.drill {
                    self.say(page::safe(&drill.words, 1000));
                } else if request.decision.is_none() {
                    let (given, needed) = (request.approvals, request.quorum.approve);
                    self.say(format!(
                        "{words}: your vote was counted; {given} of {needed} approvals."
                    ));
                } else {
                    let word = request.state.as_str();
                    let decided = request.decision.as_ref();
                    let more = decided.map_or("", DecisionRecord::scope_text);
                    self.say(format!("{words}: {word}{more}."));
                }
                if self.list.put(*request, self.at.steady) {
                    self.moved = self.at.steady;
                }
            }
            Err(why) => {
                let not = if choice == DecisionChoice::Approve { "approved" } else { "denied" };
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
        // If only the layout changed, the list did not.
        if self.list.fit(drawn.rows) && self.drawn.rows == drawn.rows {
            self.moved = self.at.steady;
        }
        self.scroll = self.scroll.min(drawn.lines.saturating_sub(drawn.page));
        let seen = !drawn.folded && drawn.from + drawn.page >= drawn.call_end && drawn.page > 0;
        if let Some(looked) = &mut self.looked
            && matches!(looked.page, CardPage::There(..))
            && drawn.id.as_deref() == Some(looked.id.as_str())
        {
            looked.whole |= seen;
        }
        self.drawn = drawn;
    }

    /// Whether a key may be an approval: nothing has just moved on the screen.
    pub(super) fn is_settled(&self) -> bool {
        self.at.steady.saturating_sub(self.moved) >= SETTLE
    }

    fn presence(&mut self) -> Vec<InboxEffect> {
        let due = self.present.is_none_or(|last| self.at.steady.saturating_sub(last) >= PRESENCE);
        if due {
            self.present = Some(self.at.steady);
            return vec![InboxEffect::Here];
        }
        Vec::new()
    }

    pub(super) fn say(&mut self, text: impl Into<String>) {
        self.note = Some(StatusNote { text: text.into(), wrong: false, since: self.at.steady });
    }

    pub(super) fn wrong(&mut self, text: impl Into<String>) {
        self.note = Some(StatusNote { text: text.into(), wrong: true, since: self.at.steady });
    }
}
