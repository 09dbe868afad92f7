//! The command that stops every call, from a chat.

use super::responder::Responder;
use crate::notifier;

impl Responder<'_> {
    /// Stops every call. It can only stop, so neither a tier nor a waiting period limits it.
    pub async fn freeze(&self) -> String {
        let gate = &self.context.gate;
        let frozen = gate.freeze(&self.person, gate.note_by(&self.person)).await;
        let news = format!("{} froze everything: every call is refused.", self.person);
        notifier::broadcast_in_background(gate, &self.context.channels, news);
        match frozen {
            Ok(denied) => format!(
                "Frozen. Every call is refused; {denied} pending denied. Thaw in the inbox: {}",
                gate.rules().inbox
            ),
            Err(error) => format!("Frozen, but it may not survive a restart: {error}."),
        }
    }
}
