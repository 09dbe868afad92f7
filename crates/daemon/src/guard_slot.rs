//! The guard model in use: it follows the rules in force and is tested in the background.

use std::sync::{Mutex, PoisonError};

use countersign_guard::{GuardService, GuardSettings};
use tokio::task::AbortHandle;

/// Holds the guard that the rules name.
#[derive(Default)]
pub struct GuardSlot {
    running: Mutex<Option<RunningGuard>>,
}

struct RunningGuard {
    service: GuardService,
    test: AbortHandle,
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.test.abort();
    }
}

impl GuardSlot {
    /// The guard with these settings. A guard with other settings is replaced, and the new one is
    /// unavailable until its model has passed its self-test.
    pub fn follow(&self, wanted: Option<&GuardSettings>) -> Option<GuardService> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let current = running.as_ref().map(|guard| guard.service.settings());
        if current != wanted {
            *running = wanted.map(|settings| start(settings.clone()));
        }
        running.as_ref().map(|guard| guard.service.clone())
    }
}

fn start(settings: GuardSettings) -> RunningGuard {
    let service = GuardService::new(settings);
    let tested = service.clone();
    let test = tokio::spawn(async move { tested.keep_tested().await }).abort_handle();
    RunningGuard { service, test }
}
