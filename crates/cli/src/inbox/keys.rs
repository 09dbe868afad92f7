//! Handles keys, except for approvals, which have a file of their own.

use countersign_client::{DecisionChoice, DecisionScope};

use super::event::{InboxEffect, InputKey, Link, SentAnswer};
use super::list::ListEntry;
use super::model::{ActivePrompt, ApprovalPrompt, Focus};
use super::state::Inbox;
use crate::gate::confirmation::Confirmation;

/// The longest input in bytes; the gate accepts 2,000.
const LONGEST: usize = 500;
/// The most requests that one answer can deny.
pub const MOST_AT_ONCE: usize = 500;

impl Inbox {
    /// A key was pressed.
    pub(super) fn key(&mut self, key: InputKey) -> Vec<InboxEffect> {
        if key == InputKey::Interrupt {
            return vec![InboxEffect::Leave];
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
            ActivePrompt::Nothing => self.command(key),
            ActivePrompt::Help => Vec::new(),
            ActivePrompt::Filter => self.filter(key),
            ActivePrompt::Approve(question) => self.approving(question, key),
            ActivePrompt::Deny(question) => self.denying(question, key),
            ActivePrompt::DenyAll { list, typed } => self.denying_all(list, typed, key),
        }
    }

    /// A text was pasted: it is input, never a command and never Enter.
    pub(super) fn paste(&mut self, text: &str) {
        if self.hush {
            return;
        }
        let text = text.replace(['\n', '\r', '\t'], " ");
        match &mut self.asking {
            ActivePrompt::Approve(question) if question.proof == Confirmation::Yes => {}
            ActivePrompt::Approve(question) | ActivePrompt::Deny(question) => {
                text.chars().for_each(|c| typed(&mut question.typed, InputKey::Char(c)));
            }
            ActivePrompt::DenyAll { typed: all, .. } => {
                text.chars().for_each(|c| typed(all, InputKey::Char(c)));
            }
            ActivePrompt::Filter => {
                let mut filter = self.list.filter().to_owned();
                text.chars().for_each(|c| typed(&mut filter, InputKey::Char(c)));
                self.list.set_filter(filter);
            }
            ActivePrompt::Nothing | ActivePrompt::Help => {}
        }
    }

    fn command(&mut self, key: InputKey) -> Vec<InboxEffect> {
        match key {
            InputKey::Char('q') => return vec![InboxEffect::Leave],
            InputKey::Char('?') => self.asking = ActivePrompt::Help,
            InputKey::Char('/') => self.asking = ActivePrompt::Filter,
            InputKey::Char('a') => self.want(DecisionScope::Once),
            InputKey::Char('s') => self.want(DecisionScope::Session),
            InputKey::Char('p') => self.want(DecisionScope::Repository),
            InputKey::Char('d') => self.want_not(),
            InputKey::Char('x') => self.want_none(),
            // It only stops calls, so one key is enough.
            InputKey::Char('F') => return vec![InboxEffect::Freeze],
            InputKey::Enter | InputKey::Right | InputKey::Char('l')
                if self.list.current().is_some() =>
            {
                self.focus = Focus::Card;
                self.look_again();
            }
            InputKey::Escape | InputKey::Left | InputKey::Char('h') => self.back(key),
            InputKey::Char(' ') | InputKey::PageDown => self.turn(true),
            InputKey::Char('b') | InputKey::PageUp => self.turn(false),
            InputKey::Up | InputKey::Char('k') => self.walk(-1),
            InputKey::Down | InputKey::Char('j') => self.walk(1),
            InputKey::Home | InputKey::Char('g') => self.walk(isize::MIN),
            InputKey::End | InputKey::Char('G') => self.walk(isize::MAX),
            _ => {}
        }
        Vec::new()
    }

    fn back(&mut self, key: InputKey) {
        if self.focus == Focus::Card {
            self.focus = Focus::List;
            self.scroll = 0;
        } else if key == InputKey::Escape && self.list.set_filter(String::new()) {
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
        // A folded card is opened before it is scrolled.
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

    /// The selected request, if an answer can be sent now.
    pub(super) fn answerable(&mut self) -> Option<ListEntry> {
        let entry = self.list.current().cloned()?;
        let link = matches!(self.link, Link::Up);
        match () {
            () if !entry.waits() => self.wrong("This request has already ended."),
            () if entry.sending => self.say("Your answer is being sent."),
            () if !link => self.wrong("The daemon does not respond, so nothing can be decided."),
            () => return Some(entry),
        }
        None
    }

    fn want_not(&mut self) {
        let Some(entry) = self.answerable() else { return };
        self.asking = ActivePrompt::Deny(ApprovalPrompt {
            id: entry.id,
            digest: entry.request.digest,
            phrase: entry.request.phrase,
            proof: Confirmation::Yes,
            unseen: 0,
            scope: DecisionScope::Once,
            typed: String::new(),
        });
    }

    fn want_none(&mut self) {
        if self.answerable().is_none() {
            return;
        }
        let waiting = self.list.shown().filter(|entry| entry.waits() && !entry.sending);
        let list = waiting.map(|entry| (entry.id.clone(), entry.request.digest.clone())).collect();
        self.asking = ActivePrompt::DenyAll { list, typed: String::new() };
    }

    fn filter(&mut self, key: InputKey) -> Vec<InboxEffect> {
        let mut text = self.list.filter().to_owned();
        match key {
            InputKey::Enter => return Vec::new(),
            InputKey::Escape => text.clear(),
            InputKey::Up | InputKey::Down => {
                self.list.step(if key == InputKey::Up { -1 } else { 1 });
                self.asking = ActivePrompt::Filter;
                return Vec::new();
            }
            _ => {
                typed(&mut text, key);
                self.asking = ActivePrompt::Filter;
            }
        }
        if self.list.set_filter(text) {
            self.moved = self.at.steady;
        }
        Vec::new()
    }

    fn denying(&mut self, mut question: ApprovalPrompt, key: InputKey) -> Vec<InboxEffect> {
        match key {
            InputKey::Escape => {
                self.say("Still pending.");
                Vec::new()
            }
            InputKey::Enter => {
                self.list.set_sending(&question.id, true);
                vec![InboxEffect::Answer(SentAnswer {
                    id: question.id,
                    digest: question.digest,
                    choice: DecisionChoice::Deny,
                    reason: question.typed.trim().to_owned(),
                    word: String::new(),
                    scope: DecisionScope::Once,
                })]
            }
            key => {
                typed(&mut question.typed, key);
                self.asking = ActivePrompt::Deny(question);
                Vec::new()
            }
        }
    }

    fn denying_all(
        &mut self,
        list: Vec<(String, String)>,
        mut text: String,
        key: InputKey,
    ) -> Vec<InboxEffect> {
        match key {
            InputKey::Enter if text.trim().eq_ignore_ascii_case("yes") => {
                for (id, _) in &list {
                    self.list.set_sending(id, true);
                }
                vec![InboxEffect::DenyAll(list)]
            }
            InputKey::Enter | InputKey::Escape => {
                self.say("Nothing was denied.");
                Vec::new()
            }
            key => {
                typed(&mut text, key);
                self.asking = ActivePrompt::DenyAll { list, typed: text };
                Vec::new()
            }
        }
    }
}

/// The input after one more key.
pub fn typed(text: &mut String, key: InputKey) {
    match key {
        InputKey::Char(c) if !c.is_control() && text.len() + c.len_utf8() <= LONGEST => {
            text.push(c);
        }
        InputKey::Backspace => {
            text.pop();
        }
        InputKey::Clear => text.clear(),
        _ => {}
    }
}
