//! Passphrases: generated from words, stored as argon2id hashes, and checked a few at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use countersign_risk::word_pair;
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use crate::random::{self, EntropyUnavailable};

/// Words in a passphrase, 10 bits each.
const WORDS: usize = 7;
/// Parallel hashes: each takes 19 MiB and a whole core.
const MAX_CONCURRENT: usize = 2;
/// Further hashes that may wait.
const MAX_QUEUED: usize = 16;

/// A hash that no passphrase matches, so that an unknown name takes as long as a wrong passphrase.
const DUMMY_HASH: &str = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$\
                      AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// 19 MiB, two passes: the minimum that OWASP recommends for argon2id.
fn argon() -> Option<Argon2<'static>> {
    let params = Params::new(19_456, 2, 1, None).ok()?;
    Some(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// Generates a passphrase of seven words.
pub fn generate() -> Result<Zeroizing<String>, EntropyUnavailable> {
    let bytes = Zeroizing::new(random::bytes::<{ WORDS * 2 }>()?);
    let words = bytes.chunks_exact(2).map(|pair| {
        let number = pair.iter().fold(0_usize, |number, &byte| number << 8 | usize::from(byte));
        word_pair::word(number)
    });
    Ok(Zeroizing::new(words.collect::<Vec<_>>().join("-")))
}

/// The argon2id hash of a passphrase.
pub fn hash(passphrase: &str) -> Option<String> {
    let hashed = argon()?.hash_password(passphrase.as_bytes()).ok()?;
    Some(hashed.to_string())
}

/// Whether the passphrase matches. An unreadable hash never matches.
fn check(passphrase: &str, stored: &str) -> bool {
    let (Some(argon), Ok(stored)) = (argon(), PasswordHash::new(stored)) else { return false };
    argon.verify_password(passphrase.as_bytes(), &stored).is_ok()
}

/// Too many passphrases are being checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many logins at the same time; try again")]
pub struct TooManyLogins;

/// Hashes passphrases on blocking threads, a few at a time.
#[derive(Debug)]
pub struct PassphraseChecks {
    permits: Arc<Semaphore>,
    queued: Arc<AtomicUsize>,
}

impl Default for PassphraseChecks {
    fn default() -> PassphraseChecks {
        PassphraseChecks {
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT)),
            queued: Arc::default(),
        }
    }
}

/// A place in the queue, released on drop.
struct QueueSlot(Arc<AtomicUsize>);

impl Drop for QueueSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl PassphraseChecks {
    /// Whether the passphrase matches the stored hash; without a stored hash it never does.
    pub async fn check(
        &self,
        passphrase: Zeroizing<String>,
        stored: Option<String>,
    ) -> Result<bool, TooManyLogins> {
        self.work(move || {
            let right = check(&passphrase, stored.as_deref().unwrap_or(DUMMY_HASH));
            right && stored.is_some()
        })
        .await
    }

    /// The argon2id hash of a passphrase.
    pub async fn hash(
        &self,
        passphrase: Zeroizing<String>,
    ) -> Result<Option<String>, TooManyLogins> {
        self.work(move || hash(&passphrase)).await
    }

    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, TooManyLogins> {
        let before = self.queued.fetch_add(1, Ordering::AcqRel);
        let slot = QueueSlot(Arc::clone(&self.queued));
        if before >= MAX_CONCURRENT + MAX_QUEUED {
            return Err(TooManyLogins);
        }
        let turn = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| TooManyLogins)?;
        // Permit and slot move into the task, so that a caller that disconnects frees nothing
        // early.
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop((turn, slot));
            done
        });
        done.await.map_err(|_| TooManyLogins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Zeroizing<String> {
        Zeroizing::new(text.to_owned())
    }

    #[tokio::test]
    async fn only_the_right_passphrase_matches() {
        let checks = PassphraseChecks::default();
        let stored = checks.hash(text("olive")).await.unwrap();
        assert_eq!(checks.check(text("olive"), stored.clone()).await, Ok(true));
        for wrong in ["Olive", "olive ", "", "\0"] {
            assert_eq!(checks.check(text(wrong), stored.clone()).await, Ok(false), "{wrong:?}");
        }
        assert_eq!(checks.check(text("olive"), Some("olive".to_owned())).await, Ok(false));
        assert_eq!(checks.check(text("olive"), None).await, Ok(false));
    }

    #[test]
    fn the_dummy_hash_costs_as_much_as_a_real_one() {
        let real = hash("olive").unwrap();
        let cost = |hash: &str| {
            let hash = PasswordHash::new(hash).unwrap();
            (hash.algorithm.to_string(), hash.version, hash.params.to_string())
        };
        assert_eq!(cost(&real), cost(DUMMY_HASH));
        let nobody = PasswordHash::new(DUMMY_HASH).unwrap();
        let real = PasswordHash::new(&real).unwrap();
        assert_eq!(nobody.hash.map(|hash| hash.len()), real.hash.map(|hash| hash.len()));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn too_many_parallel_checks_are_rejected() {
        let checks = Arc::new(PassphraseChecks::default());
        let tries: Vec<_> = (0..40)
            .map(|_| {
                let checks = Arc::clone(&checks);
                tokio::spawn(async move { checks.check(text("x"), None).await })
            })
            .collect();
        let mut crowded = 0;
        for tried in tries {
            crowded += usize::from(tried.await.unwrap().is_err());
        }
        assert!((1..=40 - MAX_CONCURRENT - MAX_QUEUED).contains(&crowded), "{crowded}");
        assert_eq!(checks.queued.load(Ordering::Acquire), 0);
        assert_eq!(checks.check(text("x"), None).await, Ok(false));
    }
}
