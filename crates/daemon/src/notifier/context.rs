//! Shared state of the notifier: the gate, the channels, and the other announcements of a request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use countersign_types::time::Timestamp;
use tokio::sync::{RwLock, watch};

use super::channel_pool::ChannelPool;
use super::told_bursts::ToldBursts;
use crate::buttons::Buttons;
use crate::gate::Gate;
use crate::presence::Presence;

/// The channels and their buttons.
#[derive(Debug, Clone)]
pub struct NotifierParts {
    /// The open channels.
    pub channels: Arc<ChannelPool>,
    /// Signs the buttons.
    pub buttons: Arc<Buttons>,
    /// Whether a person uses the inbox.
    pub presence: Arc<Presence>,
}

/// The context of a delivery.
pub struct NotifierContext {
    pub gate: Arc<Gate>,
    pub channels: Arc<ChannelPool>,
    pub buttons: Arc<Buttons>,
    pub presence: Arc<Presence>,
    pub started: Timestamp,
    /// The sessions whose questions were announced as one.
    pub bursts: ToldBursts,
}

/// The announcements of one request in progress.
pub struct RequestAnnouncements {
    /// The newest announcement; older ones are no longer sent.
    pub newest: watch::Sender<u64>,
    /// Shared by prompts, exclusive for the withdrawal.
    pub turn: Arc<RwLock<()>>,
    /// One message about a request per channel at a time.
    pub channels: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}
