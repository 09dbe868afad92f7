//! Messages about what the gate did by itself, until they are announced.

use std::sync::{Mutex, PoisonError};

/// How many messages wait at most; further ones are only in the ledger.
const MAX_NEWS: usize = 100;

/// Messages that wait to be announced.
#[derive(Debug, Default)]
pub struct GateNews {
    texts: Mutex<Vec<String>>,
}

impl GateNews {
    /// Adds a message.
    pub(super) fn add(&self, text: String) {
        tracing::info!(text, "announced");
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if texts.len() < MAX_NEWS {
            texts.push(text);
        }
    }

    /// Takes the messages.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.texts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
