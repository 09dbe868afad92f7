//! What a key does, but for the way to an approval, which has a file of its own.

use countersign_client::Choice;

use super::event::{Answer, Effect, Key, Link};
use super::list::Entry;
use super::state::{Asking, Focus, Inbox, Question};
use crate::gate::proof::Proof;

/// The longest text that is typed, in bytes; the gate takes 2,000.
const LONGEST: usize = 500;
/// The most requests that one answer can deny.
pub const MOST_AT_ONCE: usize = 500;

impl Inbox {
    /// A key was pressed.
    pub(super) fn key(&mut self, key: Key) -> Vec<Effect> {
        if key == Key::Interrupt {
            return vec![Effect::Leave];
        }
        if self.hush {
            if !self.is_settled() {
                self.moved = self.at.steady;
                return Vec::new();
            }
            self.hush = false;
        }
        self.note.take_if(|note| note.was_read(self.at.steady));
        match std::mem::take(&mut self.asking) {
            Asking::Nothing => self.command(key),
            Asking::Help => Vec::new(),
            Asking::Filter => self.filter(key),
            Asking::Approve(question) => self.approving(question, key),
            Asking::Deny(question) => self.denying(question, key),
            Asking::DenyAll { list, typed } => self.denying_all(list, typed, key),
        }
    }

    /// A text was pasted: it can be typed text, never a command and never an Enter.
    pub(super) fn paste(&mut self, text: &str) {
        if self.hush {
            return;
        }
        let text = text.replace(['\n', '\r', '\t'], " ");
        match &mut self.asking {
            Asking::Approve(question) if question.proof == Proof::Yes => {}
            Asking::Approve(question) | Asking::Deny(question) => {
                text.chars().for_each(|c| typed(&mut question.typed, Key::Char(c)));
            }
            Asking::DenyAll { typed: all, .. } => {
                text.chars().for_each(|c| typed(all, Key::Char(c)));
            }
            Asking::Filter => {
                let mut filter = self.list.filter().to_owned();
                text.chars().for_each(|c| typed(&mut filter, Key::Char(c)));
                self.list.set_filter(filter);
            }
            Asking::Nothing | Asking::Help => {}
        }
    }

    fn command(&mut self, key: Key) -> Vec<Effect> {
        match key {
            Key::Char('q') => return vec![Effect::Leave],
            Key::Char('?') => self.asking = Asking::Help,
            Key::Char('/') => self.asking = Asking::Filter,
            Key::Char('a') => self.want(false),
            Key::Char('s') => self.want(true),
            Key::Char('d') => self.want_not(),
            Key::Char('x') => self.want_none(),
            Key::Enter | Key::Right | Key::Char('l') if self.list.current().is_some() => {
                self.focus = Focus::Card;
                self.look_again();
            }
            Key::Escape | Key::Left | Key::Char('h') => self.back(key),
            Key::Char(' ') | Key::PageDown => self.turn(true),
            Key::Char('b') | Key::PageUp => self.turn(false),
            Key::Up | Key::Char('k') => self.walk(-1),
            Key::Down | Key::Char('j') => self.walk(1),
            Key::Home | Key::Char('g') => self.walk(isize::MIN),
            Key::End | Key::Char('G') => self.walk(isize::MAX),
            _ => {}
        }
        Vec::new()
    }

    fn back(&mut self, key: Key) {
        if self.focus == Focus::Card {
            self.focus = Focus::List;
            self.scroll = 0;
        } else if key == Key::Escape && self.list.set_filter(String::new()) {
            self.moved = self.at.steady;
        }
    }

    fn walk(&mut self, by: isize) {
        match self.focus {
            Focus::List => self.list.step(by),
            Focus::Card => self.scroll_to(self.scroll.saturating_add_signed(by)),
        }
    }

    fn turn(&mut self, down: bool) {
        // A page that hides something is opened before it is turned.
        if self.drawn.folded && self.list.current().is_some() {
            self.focus = Focus::Card;
            return;
        }
        let page = self.drawn.page.saturating_sub(1).max(1);
        let to = if down { self.scroll + page } else { self.scroll.saturating_sub(page) };
        self.scroll_to(to);
    }

    fn scroll_to(&mut self, line: usize) {
        self.scroll = line.min(self.drawn.lines.saturating_sub(self.drawn.page));
    }

    /// The one that is looked at, if an answer to it can be sent now.
    pub(super) fn answerable(&mut self) -> Option<Entry> {
        let entry = self.list.current().cloned()?;
        let link = matches!(self.link, Link::Up);
        match () {
            () if !entry.waits() => self.wrong("It is over already."),
            () if entry.sending => self.say("Your answer is on its way."),
            () if !link => self.wrong("The daemon does not answer, so nothing can be decided."),
            () => return Some(entry),
        }
        None
    }

    fn want_not(&mut self) {
        let Some(entry) = self.answerable() else { return };
        self.asking = Asking::Deny(Question {
            id: entry.id,
            digest: entry.request.digest,
            phrase: entry.request.phrase,
            proof: Proof::Yes,
            unseen: 0,
            for_session: false,
            typed: String::new(),
        });
    }

    fn want_none(&mut self) {
        if self.answerable().is_none() {
            return;
        }
        let waiting = self.list.shown().filter(|entry| entry.waits() && !entry.sending);
        let list = waiting.map(|entry| (entry.id.clone(), entry.request.digest.clone())).collect();
        self.asking = Asking::DenyAll { list, typed: String::new() };
    }

    fn filter(&mut self, key: Key) -> Vec<Effect> {
        let mut text = self.list.filter().to_owned();
        match key {
            Key::Enter => return Vec::new(),
            Key::Escape => text.clear(),
            Key::Up | Key::Down => {
                self.list.step(if key == Key::Up { -1 } else { 1 });
                self.asking = Asking::Filter;
                return Vec::new();
            }
            _ => {
                typed(&mut text, key);
                self.asking = Asking::Filter;
            }
        }
        if self.list.set_filter(text) {
            self.moved = self.at.steady;
        }
        Vec::new()
    }

    fn denying(&mut self, mut question: Question, key: Key) -> Vec<Effect> {
        match key {
            Key::Escape => {
                self.say("It waits on.");
                Vec::new()
            }
            Key::Enter => {
                self.list.set_sending(&question.id, true);
                vec![Effect::Answer(Answer {
                    id: question.id,
                    digest: question.digest,
                    choice: Choice::Deny,
                    reason: question.typed.trim().to_owned(),
                    for_session: false,
                })]
            }
            key => {
                typed(&mut question.typed, key);
                self.asking = Asking::Deny(question);
                Vec::new()
            }
        }
    }

    fn denying_all(
        &mut self,
        list: Vec<(String, String)>,
        mut text: String,
        key: Key,
    ) -> Vec<Effect> {
        match key {
            Key::Enter if text.trim().eq_ignore_ascii_case("yes") => {
                for (id, _) in &list {
                    self.list.set_sending(id, true);
                }
                vec![Effect::DenyAll(list)]
            }
            Key::Enter | Key::Escape => {
                self.say("Nothing was denied.");
                Vec::new()
            }
            key => {
                typed(&mut text, key);
                self.asking = Asking::DenyAll { list, typed: text };
                Vec::new()
            }
        }
    }
}

/// A text after one more key.
pub fn typed(text: &mut String, key: Key) {
    match key {
        Key::Char(c) if !c.is_control() && text.len() + c.len_utf8() <= LONGEST => text.push(c),
        Key::Backspace => {
            text.pop();
        }
        Key::Clear => text.clear(),
        _ => {}
    }
}
