//! The only path to an approval: `a`, `s` or `p` on a call that was shown in full, and then a
//! confirmation.

use countersign_client::{DecisionChoice, DecisionScope};

use super::event::{InboxEffect, InputKey, Link, SentAnswer};
use super::keys::typed;
use super::model::{ActivePrompt, ApprovalPrompt, CardPage, Focus};
use super::state::Inbox;
use crate::gate::confirmation::{self, Confirmation};

impl Inbox {
    /// Starts an approval: the call must be loaded, shown in full, and not have just appeared.
    pub(super) fn want(&mut self, scope: DecisionScope) {
        let Some(entry) = self.answerable() else { return };
        let again = match scope {
            DecisionScope::Once => 'a',
            DecisionScope::Session => 's',
            DecisionScope::Repository => 'p',
        };
        if !self.is_settled() {
            self.say(format!("This request just appeared. Read it, then press {again} again."));
            return;
        }
        let Some(looked) = self.looked.as_ref().filter(|looked| looked.id == entry.id) else {
            return;
        };
        let (request, card) = match &looked.page {
            CardPage::Coming => return self.say("The call is still loading."),
            CardPage::Missing(why) => {
                let why = format!("The call could not be loaded, so it cannot be approved: {why}");
                return self.wrong(why);
            }
            CardPage::There(_, None) => {
                return self.wrong("The call cannot be shown here, so it cannot be approved here.");
            }
            CardPage::There(request, Some(card)) => (request, card),
        };
        if request.digest != entry.request.digest {
            return self.wrong("The call shown is not the requested call; it cannot be approved.");
        }
        if let Some(why) = confirmation::scope_refusal(request, scope) {
            return self.say(why);
        }
        if !looked.whole {
            self.focus = Focus::Card;
            let how = format!("Opened. Read the call to the end (space), then press {again}.");
            return self.say(how);
        }
        self.asking = ActivePrompt::Approve(ApprovalPrompt {
            id: entry.id.clone(),
            digest: request.digest.clone(),
            phrase: request.phrase.clone(),
            proof: confirmation::needed(request, card),
            unseen: card.folded,
            scope,
            typed: String::new(),
        });
    }

    /// A key while the approval prompt is open.
    pub(super) fn approving(
        &mut self,
        mut question: ApprovalPrompt,
        key: InputKey,
    ) -> Vec<InboxEffect> {
        if key == InputKey::Escape {
            self.say("Nothing was approved.");
            return Vec::new();
        }
        let done = match (question.proof, key) {
            (Confirmation::Yes, InputKey::Char('y')) => {
                "y".clone_into(&mut question.typed);
                true
            }
            (Confirmation::Yes, InputKey::Char('n' | 'q')) => {
                self.say("Not approved; d denies.");
                return Vec::new();
            }
            (Confirmation::Yes, _) => false,
            (_, InputKey::Enter) => true,
            (_, key) => {
                typed(&mut question.typed, key);
                false
            }
        };
        if !done {
            self.asking = ActivePrompt::Approve(question);
            return Vec::new();
        }
        if !self.is_settled() {
            self.say("The list just changed. Check again, then answer.");
            self.asking = ActivePrompt::Approve(question);
            return Vec::new();
        }
        if !question.proof.is_given(&question.typed, &question.phrase) {
            self.wrong("That does not match; nothing was approved.");
            question.typed.clear();
            self.asking = ActivePrompt::Approve(question);
            return Vec::new();
        }
        self.approve(question)
    }

    /// The only function that approves: exactly the call on the screen.
    fn approve(&mut self, question: ApprovalPrompt) -> Vec<InboxEffect> {
        let current = self.list.current().filter(|entry| entry.waits() && !entry.sending);
        let same = current.is_some_and(|entry| {
            entry.id == question.id && entry.request.digest == question.digest
        });
        if !same || self.link != Link::Up {
            self.wrong("This request cannot be decided now; nothing was approved.");
            return Vec::new();
        }
        self.list.set_sending(&question.id, true);
        let typed = question.typed.trim().to_owned();
        let (reason, word) = match question.proof {
            Confirmation::Reason => (typed, String::new()),
            Confirmation::Word | Confirmation::OnlyWord => (String::new(), typed),
            Confirmation::Yes => (String::new(), String::new()),
        };
        vec![InboxEffect::Answer(SentAnswer {
            id: question.id,
            digest: question.digest,
            choice: DecisionChoice::Approve,
            reason,
            word,
            scope: question.scope,
        })]
    }
}
