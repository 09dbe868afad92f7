//! What every announcement needs: the gate, the channels, and the other announcements of a request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use countersign_types::time::Timestamp;
use tokio::sync::{RwLock, watch};

use super::channel_pool::ChannelPool;
use crate::buttons::Buttons;
use crate::gate::Gate;
use crate::presence::Presence;

/// What people are reached with.
#[derive(Debug, Clone)]
pub struct NotifierParts {
    /// The open channels.
    pub channels: Arc<ChannelPool>,
    /// What their buttons carry.
    pub buttons: Arc<Buttons>,
    /// Whether somebody sits at the inbox.
    pub presence: Arc<Presence>,
}

/// What every delivery needs.
pub struct NotifierContext {
    pub gate: Arc<Gate>,
    pub channels: Arc<ChannelPool>,
    pub buttons: Arc<Buttons>,
    pub presence: Arc<Presence>,
    pub started: Timestamp,
}

/// The announcements about one request that are on their way.
pub struct RequestAnnouncements {
    /// The newest of them: what is older is not sent any more.
    pub newest: watch::Sender<u64>,
    /// Shared by those who ask, held alone by the one that withdraws.
    pub turn: Arc<RwLock<()>>,
    /// One message about a request at a time through one channel.
    pub channels: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}
