//! The ledger entry of a card: what was shown, never what a person wrote.

use countersign_json::Value;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_store::Store as _;

use super::state::Gate;

/// A card that was shown, for reports without content.
#[derive(Debug, Clone)]
pub struct ScreeningRecord {
    /// The agent that asked.
    pub agent: String,
    /// The session.
    pub session: String,
    /// `possible` or `likely`.
    pub concern: &'static str,
    /// The level, 0 to 6.
    pub level: u8,
    /// Whether danger may be imminent.
    pub imminent: bool,
    /// The country of the helplines on the card.
    pub country: Option<&'static str>,
}

impl Gate {
    /// Records that a card was shown. An agent without room on the disk is not recorded: help
    /// never depends on the record.
    pub async fn record_screening(&self, record: ScreeningRecord) {
        let mut entry = Entry::new(0, EntryKind::Screen, self.rules().hash);
        let text = |text: &str| Value::String(text.to_owned().into());
        entry.facts = vec![
            ("concern".into(), text(record.concern)),
            ("country".into(), text(record.country.unwrap_or_default())),
            ("imminent".into(), Value::Bool(record.imminent)),
            ("level".into(), Value::Number(record.level.to_string().into())),
        ];
        let agent = record.agent.clone();
        entry.agent = Some(record.agent.into());
        entry.session = Some(record.session.into());
        if self.charge_entry(&agent, &entry).await.is_err() {
            return;
        }
        if let Err(error) = self.store().append(vec![entry]).await {
            tracing::warn!(%error, "a crisis card was not recorded");
        }
    }
}
