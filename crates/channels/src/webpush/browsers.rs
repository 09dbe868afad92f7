//! The list of subscribed browsers.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use countersign_net::HttpUrl;
use tokio::sync::Notify;

use super::browser::Browser;
use super::encryption;
use super::vapid::VapidKey;

impl Browser {
    /// What is wrong with the subscription, if anything.
    pub fn problem(&self) -> Option<&'static str> {
        match HttpUrl::parse(&self.endpoint) {
            Err(problem) => Some(problem),
            Ok(_) if self.secret.len() != 16 => Some("`auth` must have 16 bytes"),
            Ok(_) if encryption::seal(self, b"").is_err() => Some("`p256dh` must be a P-256 key"),
            Ok(_) => None,
        }
    }
}

/// The subscribed browsers. The daemon keeps the list equal to its store, and removes browsers
/// that push services report as gone.
#[derive(Debug, Default)]
pub struct Browsers {
    list: RwLock<Vec<Browser>>,
    key: RwLock<Option<Arc<VapidKey>>>,
    gone: Mutex<Vec<String>>,
    lost: Notify,
}

impl Browsers {
    /// Sets our key for push services.
    pub fn set_key(&self, key: VapidKey) {
        *self.key.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(key));
    }

    /// Our public key, if there is one.
    pub fn public_key(&self) -> Option<Vec<u8>> {
        self.key().map(|key| key.public().to_vec())
    }

    pub(super) fn key(&self) -> Option<Arc<VapidKey>> {
        self.key.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The list as it is now.
    pub fn set(&self, list: Vec<Browser>) {
        *self.list.write().unwrap_or_else(PoisonError::into_inner) = list;
    }

    /// Whether any browser is subscribed.
    pub fn any(&self) -> bool {
        !self.list.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    pub(super) fn all(&self) -> Vec<Browser> {
        self.list.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for browsers that are gone, and returns their push URLs.
    pub async fn gone(&self) -> Vec<String> {
        loop {
            let waits = self.lost.notified();
            let gone =
                std::mem::take(&mut *self.gone.lock().unwrap_or_else(PoisonError::into_inner));
            if !gone.is_empty() {
                return gone;
            }
            waits.await;
        }
    }

    pub(super) fn remove_gone(&self, endpoint: &str) {
        let mut list = self.list.write().unwrap_or_else(PoisonError::into_inner);
        list.retain(|browser| browser.endpoint != endpoint);
        drop(list);
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        gone.push(endpoint.to_owned());
        drop(gone);
        self.lost.notify_one();
    }
}
