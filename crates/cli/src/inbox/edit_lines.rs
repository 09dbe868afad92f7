//! An edit that several people decide, as lines of a card.

use countersign_client::RequestRecord;

use super::card_lines::CardLines;
use super::card_style::CardStyle;
use crate::gate::page;

/// The maximum length of a text.
const TEXT: usize = 2000;

impl CardLines {
    /// Who edited the call, and the other call beside the one that is shown.
    pub(super) fn proposed_edit(&mut self, request: &RequestRecord, pen: CardStyle) {
        let Some(edit) = request.proposed_edit.as_ref().filter(|_| request.edited.is_none()) else {
            return;
        };
        let by = page::safe(&edit.by, 80);
        let (line, other) = if request.decision.is_none() {
            let missing = edit.needed.saturating_sub(request.approvals);
            let needed = edit.needed;
            let line = format!(
                "Edited by {by}; {needed} people must approve the edited call, {missing} missing."
            );
            (line, ("Original", &edit.original))
        } else {
            (format!("Edited by {by}; the edit was not approved."), ("Edit", &edit.edited))
        };
        self.words(&line, pen.look.strong(), pen);
        let (name, call) = other;
        let (tier, brief) = (page::safe(&call.tier, 12), page::safe(&call.brief, TEXT));
        self.words(&format!("{name} ({tier}): {brief}"), pen.look.faint(), pen);
        self.blank();
    }
}
