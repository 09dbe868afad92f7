//! The only way to an approval: `a` or `s` on a call that was seen whole, and then what it takes.

use countersign_client::Choice;

use super::event::{Answer, Effect, Key, Link};
use super::keys::typed;
use super::state::{Asking, Focus, Inbox, Page, Question};
use crate::gate::proof::{self, Proof};

impl Inbox {
    /// Somebody wants to approve: the call must be there, seen whole, and not have just come up.
    pub(super) fn want(&mut self, for_session: bool) {
        let Some(entry) = self.answerable() else { return };
        let again = if for_session { 's' } else { 'a' };
        if !self.is_settled() {
            self.say(format!("This has just come up: look at it, then press {again} again."));
            return;
        }
        let Some(looked) = self.looked.as_ref().filter(|looked| looked.id == entry.id) else {
            return;
        };
        let (request, card) = match &looked.page {
            Page::Coming => return self.say("The call is not here yet."),
            Page::Missing(why) => {
                let why = format!("The call could not be read, so it cannot be approved: {why}");
                return self.wrong(why);
            }
            Page::There(_, None) => {
                return self.wrong("The call cannot be shown here, so it cannot be approved here.");
            }
            Page::There(request, Some(card)) => (request, card),
        };
        if request.digest != entry.request.digest {
            return self.wrong("What is shown is not what is asked for; it cannot be approved.");
        }
        if for_session && !proof::has_session_offer(request) {
            let why = "This can only be approved once: ";
            let because = match request.session.as_deref() {
                None | Some("") => "the agent named no session.",
                Some(_) => "it is too grave to pass again unseen.",
            };
            return self.say(format!("{why}{because}"));
        }
        if !looked.whole {
            self.focus = Focus::Card;
            let how =
                format!("It is opened: read the call to its end (space), then press {again}.");
            return self.say(how);
        }
        self.asking = Asking::Approve(Question {
            id: entry.id.clone(),
            digest: request.digest.clone(),
            phrase: request.phrase.clone(),
            proof: proof::needed(request, card),
            unseen: card.folded,
            for_session,
            typed: String::new(),
        });
    }

    /// A key while the card asks.
    pub(super) fn approving(&mut self, mut question: Question, key: Key) -> Vec<Effect> {
        if key == Key::Escape {
            self.say("Nothing was approved.");
            return Vec::new();
        }
        let done = match (question.proof, key) {
            (Proof::Yes, Key::Char('y')) => {
                "y".clone_into(&mut question.typed);
                true
            }
            (Proof::Yes, Key::Char('n' | 'q')) => {
                self.say("Nothing was approved; d denies it.");
                return Vec::new();
            }
            (Proof::Yes, _) => false,
            (_, Key::Enter) => true,
            (_, key) => {
                typed(&mut question.typed, key);
                false
            }
        };
        if !done {
            self.asking = Asking::Approve(question);
            return Vec::new();
        }
        if !self.is_settled() {
            self.say("Something has just changed: look again, then answer.");
            self.asking = Asking::Approve(question);
            return Vec::new();
        }
        if !question.proof.is_given(&question.typed, &question.phrase) {
            self.wrong("That is not enough; nothing was approved.");
            question.typed.clear();
            self.asking = Asking::Approve(question);
            return Vec::new();
        }
        self.approve(question)
    }

    /// The one place that approves: the call that is on the screen, and no other.
    fn approve(&mut self, question: Question) -> Vec<Effect> {
        let current = self.list.current().filter(|entry| entry.waits() && !entry.sending);
        let same = current.is_some_and(|entry| {
            entry.id == question.id && entry.request.digest == question.digest
        });
        if !same || self.link != Link::Up {
            self.wrong("It cannot be decided just now; nothing was approved.");
            return Vec::new();
        }
        self.list.set_sending(&question.id, true);
        let reason = match question.proof {
            Proof::Reason => question.typed.trim().to_owned(),
            Proof::Yes | Proof::Word | Proof::OnlyWord => String::new(),
        };
        vec![Effect::Answer(Answer {
            id: question.id,
            digest: question.digest,
            choice: Choice::Approve,
            reason,
            for_session: question.for_session,
        })]
    }
}
