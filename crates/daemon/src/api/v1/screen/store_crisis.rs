//! Writes a crisis to the store, however long that takes.

use std::time::Duration;

use countersign_store::{CrisisSession, Store as _, StoreError, WriteContext};

use crate::api::Api;

/// The first and the longest pause between two attempts to write.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Stores a crisis in the background, until that succeeds or a person has resolved it.
pub fn store_crisis(api: &Api, crisis: CrisisSession) -> tokio::task::JoinHandle<()> {
    let api = api.clone();
    tokio::spawn(async move {
        let mut pause = FIRST_PAUSE;
        while api.gate.crises().signs(&crisis.agent, &crisis.session).is_some() {
            let note = WriteContext { policy: api.gate.rules().hash, facts: None, edited: None };
            match api.gate.store().begin_crisis(crisis.clone(), note).await {
                Ok(()) | Err(StoreError::Closed) => return,
                Err(error) => tracing::error!(
                    %error, agent = %crisis.agent,
                    "a crisis was not stored; it applies in memory, and the write is retried"
                ),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    })
}
