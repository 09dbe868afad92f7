//! What handling a reply needs of the daemon.

use std::sync::Arc;

use countersign_types::time::{Clock as _, Millis, Timestamp};

use super::link_codes::LinkCodes;
use super::replay_guard::ReplayGuard;
use crate::auth::Directory;
use crate::buttons::Buttons;
use crate::gate::Gate;
use crate::notifier::ChannelPool;

/// The parts of the daemon that handle replies, and what is remembered between two replies.
pub struct InboundContext {
    pub gate: Arc<Gate>,
    pub directory: Arc<Directory>,
    pub channels: Arc<ChannelPool>,
    pub buttons: Arc<Buttons>,
    /// Open codes for linking accounts.
    pub link_codes: LinkCodes,
    /// Messages that were received already.
    pub replay_guard: ReplayGuard,
}

impl InboundContext {
    /// Over these parts.
    pub fn new(
        gate: Arc<Gate>,
        directory: Arc<Directory>,
        channels: Arc<ChannelPool>,
        buttons: Arc<Buttons>,
    ) -> InboundContext {
        let (link_codes, replay_guard) = (LinkCodes::default(), ReplayGuard::default());
        InboundContext { gate, directory, channels, buttons, link_codes, replay_guard }
    }

    /// The present time.
    pub fn now(&self) -> Timestamp {
        self.gate.clock().now().at
    }

    /// How long a new linked account of this person waits before it may approve.
    pub fn waiting_period(&self, person: &str) -> Millis {
        self.directory.waiting_period(person, self.gate.rules().waiting_period)
    }
}
