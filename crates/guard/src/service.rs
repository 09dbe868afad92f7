//! The connection to a guard model: deadline, limit, self-test and circuit breaker.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_net::{Client, HttpRequest, NetError};
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use crate::chunks::chunks;
use crate::health::Health;
use crate::probes::PROBES;
use crate::settings::GuardSettings;
use crate::verdict::{GuardFailure, GuardRole, GuardVerdict};

/// Texts that may wait for each one that is checked.
const WAITING: usize = 8;

/// A guard model that can be asked. Cheap to clone.
#[derive(Clone)]
pub struct GuardService {
    shared: Arc<Shared>,
}

struct Shared {
    settings: GuardSettings,
    client: Client,
    health: Mutex<Health>,
    /// Wakes the task that tests the model.
    opened: Notify,
    running: Semaphore,
    waiting: Semaphore,
}

impl GuardService {
    /// A guard with these settings. It answers after [`GuardService::keep_tested`] has run.
    pub fn new(settings: GuardSettings) -> GuardService {
        let client = Client::new(settings.allow_private);
        let concurrent = settings.concurrent.max(1);
        let shared = Shared {
            client,
            health: Mutex::default(),
            opened: Notify::new(),
            running: Semaphore::new(concurrent),
            waiting: Semaphore::new(concurrent.saturating_mul(WAITING)),
            settings,
        };
        GuardService { shared: Arc::new(shared) }
    }

    /// The settings.
    pub fn settings(&self) -> &GuardSettings {
        &self.shared.settings
    }

    /// Whether the model answers now; otherwise why not.
    pub fn state(&self) -> Result<(), GuardFailure> {
        self.health().check()
    }

    /// Checks a text. It returns before the deadline, with a verdict or the reason for none.
    pub async fn check(&self, role: GuardRole, text: &str) -> GuardVerdict {
        if let Err(why) = self.state() {
            return GuardVerdict::Unavailable(why);
        }
        let Ok(_place) = self.shared.waiting.try_acquire() else {
            return GuardVerdict::Unavailable(GuardFailure::Busy);
        };
        let deadline = Instant::now() + self.shared.settings.timeout;
        let verdict = match tokio::time::timeout_at(deadline, self.shared.running.acquire()).await {
            Ok(Ok(_turn)) => self.check_parts(role, text, deadline).await,
            Ok(Err(_)) | Err(_) => GuardVerdict::Unavailable(GuardFailure::Busy),
        };
        let failure = match &verdict {
            GuardVerdict::Unavailable(why) => Some(*why),
            GuardVerdict::Safe | GuardVerdict::Unsafe(_) => None,
        };
        if self.health().note(failure) {
            tracing::warn!("the guard model failed repeatedly; it is tested until it answers");
            self.shared.opened.notify_one();
        }
        verdict
    }

    /// Every part must be safe. An unsafe part ends the check.
    async fn check_parts(&self, role: GuardRole, text: &str, deadline: Instant) -> GuardVerdict {
        let Some(parts) = chunks(text) else {
            return GuardVerdict::Unavailable(GuardFailure::TooLong);
        };
        let mut all = GuardVerdict::Safe;
        for part in parts {
            let left = deadline.saturating_duration_since(Instant::now());
            all = all.and(self.ask(role, part, left).await);
            if all != GuardVerdict::Safe {
                break;
            }
        }
        all
    }

    async fn ask(&self, role: GuardRole, part: &str, timeout: Duration) -> GuardVerdict {
        let GuardSettings { family, model, url, api_key, .. } = &self.shared.settings;
        let (path, body) = family.request(model, role, part);
        let Ok(url) = url.join(path) else {
            return GuardVerdict::Unavailable(GuardFailure::Unreachable);
        };
        let secret = api_key.as_ref().map(|key| format!("Bearer {key}"));
        let mut headers = vec![("content-type", "application/json")];
        if let Some(secret) = &secret {
            headers.push(("authorization", secret));
        }
        let request = HttpRequest { method: "POST", url: &url, headers: &headers, body };
        match self.shared.client.exchange(request, timeout).await {
            Ok(reply) => family.parse(model, role, reply.status, &reply.body),
            Err(NetError::TimedOut(_)) => GuardVerdict::Unavailable(GuardFailure::TimedOut),
            Err(NetError::TooLarge(_)) => GuardVerdict::Unavailable(GuardFailure::Unparseable),
            Err(NetError::Closed) => GuardVerdict::Unavailable(GuardFailure::Incomplete),
            Err(_) => GuardVerdict::Unavailable(GuardFailure::Unreachable),
        }
    }

    /// Asks about every known text.
    async fn self_test(&self) -> Result<(), GuardFailure> {
        let mut timeout = self.shared.settings.load_timeout;
        for probe in &PROBES {
            let verdict = self.ask(probe.role, probe.text, timeout).await;
            if let GuardVerdict::Unavailable(why) = verdict {
                return Err(why);
            }
            if !probe.is_right(&verdict) {
                return Err(GuardFailure::SelfTest);
            }
            // After the first answer the model is loaded.
            timeout = self.shared.settings.timeout.saturating_mul(2);
        }
        Ok(())
    }

    /// Tests the model now, and again whenever the circuit opened, until the future is dropped.
    pub async fn keep_tested(&self) {
        loop {
            let result = self.self_test().await;
            let pause = self.health().tested(result);
            match result {
                Ok(()) => tracing::info!("the guard model passed its self-test"),
                Err(why) => tracing::warn!(why = why.code(), "the guard model is unavailable"),
            }
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => self.shared.opened.notified().await,
            }
        }
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.shared.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
