//! The engine of one proxy, and what its parts share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::body::Bytes;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::client_roots::ClientRoots;
use super::observer::{ExpectedResponse, ResponseWatch, ServerKnowledge};
use super::transport::{Forward, Transport};
use crate::mcp::client_limits;
use crate::mcp::message::{RequestId, RequestMeta, ToolCall};
use crate::mcp::pending_calls::PendingCalls;
use crate::mcp::settings::ProxySettings;
use crate::mcp::task::PendingTask;

/// Between the clients and the server of one transport.
pub struct Engine<T: Transport> {
    pub(super) settings: ProxySettings,
    pub(super) transport: T,
    pub(super) knowledge: Arc<ServerKnowledge>,
    pub(super) pending: Arc<PendingCalls>,
    tasks: Mutex<HashMap<String, TaskEntry>>,
    /// The newest client's name for itself: most proxies have one client.
    client_name: Mutex<Option<String>>,
    pub(super) roots: ClientRoots,
    /// Whether the client has sent `notifications/initialized`.
    is_ready: AtomicBool,
    /// Held while the server is asked for its tools, and by the calls that wait for that.
    pub(super) listing: tokio::sync::Mutex<()>,
    /// Counts the spawned tasks by its references.
    spawned: Arc<()>,
}

/// A call that waits as a task.
pub(super) struct TaskEntry {
    pub task: PendingTask,
    /// Who may ask about it.
    pub owner: Option<Vec<u8>>,
    /// The key of its waiter.
    pub key: u64,
    /// The id of its request at the server.
    pub id: RequestId,
    /// Ends the work for it.
    pub work: Option<AbortHandle>,
}

/// A call that is held.
pub(super) struct HeldCall<T: Transport> {
    pub client: T::Client,
    pub id: RequestId,
    /// The text of the id.
    pub written_id: String,
    /// The message, byte for byte.
    pub message: Bytes,
    /// Equal for the same call again, and for no other call.
    pub identity: String,
    pub is_modern: bool,
    pub is_read: bool,
    /// The text of the progress token.
    pub progress: Option<String>,
    /// The key of its waiter.
    pub key: u64,
    /// When the client gives up.
    pub end: Instant,
}

impl<T: Transport> HeldCall<T> {
    pub fn new(
        client: &T::Client,
        (id, written_id): (&RequestId, &str),
        message: Bytes,
        call: &ToolCall<'_>,
        (key, time_limit): (u64, Duration),
    ) -> HeldCall<T> {
        HeldCall {
            client: client.clone(),
            id: id.clone(),
            written_id: written_id.to_owned(),
            message,
            identity: call.identity(),
            is_modern: call.meta.is_modern(),
            is_read: call.is_read,
            progress: call.meta.progress.clone(),
            key,
            end: Instant::now() + time_limit,
        }
    }
}

impl<T: Transport> Engine<T> {
    /// With nothing pending.
    pub fn new(
        settings: ProxySettings,
        transport: T,
        knowledge: Arc<ServerKnowledge>,
        pending: Arc<PendingCalls>,
    ) -> Arc<Engine<T>> {
        Arc::new(Engine {
            settings,
            transport,
            knowledge,
            pending,
            tasks: Mutex::default(),
            client_name: Mutex::default(),
            roots: ClientRoots::default(),
            is_ready: AtomicBool::new(false),
            listing: tokio::sync::Mutex::default(),
            spawned: Arc::default(),
        })
    }

    /// The server's transport.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// Waits until the spawned work has ended, for a limited time.
    pub async fn finish(&self, time_limit: Duration) {
        let end = Instant::now() + time_limit;
        while Arc::strong_count(&self.spawned) > 1 && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let spawned = Arc::clone(&self.spawned);
        let counted = async move {
            work.await;
            drop(spawned);
        };
        tokio::spawn(counted).abort_handle()
    }

    pub(super) fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Relaxed)
    }

    pub(super) fn set_ready(&self) {
        self.is_ready.store(true, Ordering::Relaxed);
    }

    pub(super) fn set_client_name(&self, name: Option<&str>) {
        let mut known = self.client_name.lock().unwrap_or_else(PoisonError::into_inner);
        *known = name.map(ToOwned::to_owned);
    }

    /// What the client of a request calls itself.
    pub(super) fn client_name(&self, meta: &RequestMeta) -> Option<String> {
        let known = || self.client_name.lock().unwrap_or_else(PoisonError::into_inner).clone();
        meta.client.clone().or_else(known)
    }

    /// How long the client of a request waits.
    pub(super) fn time_limit(&self, meta: &RequestMeta) -> Duration {
        self.settings
            .time_limit
            .unwrap_or_else(|| client_limits::time_limit(self.client_name(meta).as_deref()))
    }

    pub(super) fn tasks(&self) -> MutexGuard<'_, HashMap<String, TaskEntry>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forwards a message that is one request, or none.
    pub(super) async fn pass(
        &self,
        client: &T::Client,
        request: Option<(&RequestId, &str, ResponseWatch)>,
        message: Bytes,
    ) {
        let (expected, written_id) = match request {
            Some((id, written, watch)) => {
                (vec![ExpectedResponse { id: id.clone(), watch }], written)
            }
            None => (Vec::new(), "null"),
        };
        let written_id = written_id.to_owned();
        let (progress_floor, leaving_cancels) = (None, true);
        let forward = Forward { message, expected, written_id, progress_floor, leaving_cancels };
        self.transport.forward(client, forward).await;
    }
}
