//! What all deliveries of push notifications share.

use std::sync::Arc;

use countersign_net::Client;
use tokio::sync::{Notify, Semaphore};

/// How many deliveries run at once.
const CONCURRENT: usize = 32;

/// What delivers push notifications.
#[derive(Debug)]
pub struct PushSender {
    /// The HTTP client, with its check of addresses.
    pub client: Client,
    /// One for each delivery that may run.
    pub slots: Arc<Semaphore>,
    /// There may be something to deliver.
    pub wake: Notify,
    /// Whether this machine and private networks may be reached.
    pub allow_private: bool,
}

impl PushSender {
    /// A sender; with `allow_private` it also reaches this machine and private networks.
    pub fn new(allow_private: bool) -> PushSender {
        PushSender {
            client: Client::new(allow_private),
            slots: Arc::new(Semaphore::new(CONCURRENT)),
            wake: Notify::new(),
            allow_private,
        }
    }

    /// Looks for deliveries now.
    pub fn wake(&self) {
        self.wake.notify_one();
    }
}
