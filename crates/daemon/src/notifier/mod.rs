//! The notifier: delivers announcements from the outbox to the channels, at least once each.
//!
//! An announcement is durable before the notifier sees it; it is removed only together with the
//! record of its last attempt. After a crash the outbox is read again.

mod announce;
pub mod announcement;
mod burst;
mod channel_pool;
mod context;
mod deliver;
pub mod digest;
mod outbox_delivery;
mod plan;
mod test_buttons;
mod told_bursts;

#[cfg(test)]
pub mod test_notifier;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use countersign_store::{AnnouncementKind, OutboxEntry, Store as _, StoreEvent};
use countersign_types::id::Id;
use countersign_types::time::Clock as _;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::watch;
use tokio::task::JoinSet;

use context::{NotifierContext, RequestAnnouncements};

use crate::gate::Gate;
use crate::shutdown::{Stop, stopped};

pub use channel_pool::{ChannelPool, OpenChannel};
pub use context::NotifierParts;
pub use digest::{broadcast, broadcast_in_background};
pub use plan::is_superseded;
pub use test_buttons::TestButtons;

/// The outbox is read at least this often.
const SWEEP_INTERVAL: Duration = Duration::from_secs(5);
/// The number of announcements per read.
const MAX_CONCURRENT: u32 = 256;

/// Delivers announcements until the daemon stops. What is asked after this call is known to be new,
/// even if the task is first run later.
pub fn run(gate: Arc<Gate>, parts: NotifierParts, stop: Stop) -> impl Future<Output = ()> + Send {
    let happenings = gate.store().subscribe();
    dispatch(Dispatcher::new(gate, parts), happenings, stop)
}

async fn dispatch(
    mut dispatcher: Dispatcher,
    mut happenings: tokio::sync::broadcast::Receiver<StoreEvent>,
    mut stop: Stop,
) {
    let mut sweep = tokio::time::interval(SWEEP_INTERVAL);
    sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut look = true;
    loop {
        look = look && dispatcher.take().await;
        let pause = if look { Duration::from_millis(250) } else { SWEEP_INTERVAL };
        tokio::select! {
            heard = happenings.recv() => match heard {
                Ok(StoreEvent::Voted(_) | StoreEvent::Opinion(_) | StoreEvent::Settings) => {}
                Ok(_) | Err(RecvError::Lagged(_)) => look = true,
                Err(RecvError::Closed) => return,
            },
            Some(ended) = dispatcher.deliveries.join_next_with_id() => {
                // An unfinished announcement has more channels to notify.
                let (task, again) = match ended {
                    Ok((task, delivery)) => (task, !delivery.done),
                    // An announcement whose task panicked is read again by the next sweep.
                    Err(error) => (error.id(), false),
                };
                dispatcher.finish_task(task, again);
                look |= again;
            },
            _ = sweep.tick() => {
                dispatcher.read = 0;
                look = true;
            },
            () = tokio::time::sleep(pause) => look = true,
            () = stopped(&mut stop) => return,
        }
        // One read covers all events since the last.
        while !matches!(happenings.try_recv(), Err(TryRecvError::Empty | TryRecvError::Closed)) {
            look = true;
        }
    }
}

/// The deliveries in progress of one request.
struct InFlight {
    announcements: Arc<RequestAnnouncements>,
    deliveries: usize,
}

/// All deliveries in progress.
struct Dispatcher {
    context: Arc<NotifierContext>,
    deliveries: JoinSet<announce::DeliveryEnd>,
    taken: HashMap<tokio::task::Id, (u64, Id)>,
    in_flight: HashSet<u64>,
    about: HashMap<Id, InFlight>,
    /// The sequence number after which the outbox is read next. A sweep starts at 0.
    read: u64,
}

impl Dispatcher {
    fn new(gate: Arc<Gate>, parts: NotifierParts) -> Dispatcher {
        let started = gate.clock().now().at;
        let NotifierParts { channels, buttons, presence } = parts;
        let bursts = told_bursts::ToldBursts::default();
        let context = NotifierContext { gate, channels, buttons, presence, started, bursts };
        let context = Arc::new(context);
        Dispatcher {
            context,
            deliveries: JoinSet::new(),
            taken: HashMap::new(),
            in_flight: HashSet::new(),
            about: HashMap::new(),
            read: 0,
        }
    }

    /// Starts the new announcements of the outbox. Returns whether to read again soon.
    async fn take(&mut self) -> bool {
        let (listed, failed) = self.list().await;
        // Newest first, so that older announcements are not sent too.
        for outgoing in &listed {
            let about = self.about.entry(outgoing.request).or_insert_with(|| InFlight {
                deliveries: 0,
                announcements: Arc::new(RequestAnnouncements {
                    newest: watch::Sender::new(outgoing.seq),
                    turn: Arc::default(),
                    channels: std::sync::Mutex::default(),
                }),
            });
            about.announcements.newest.send_if_modified(|newest| {
                let newer = outgoing.seq > *newest;
                *newest = outgoing.seq.max(*newest);
                newer
            });
        }
        for outgoing in listed {
            let Some(about) = self.about.get_mut(&outgoing.request) else { continue };
            about.deliveries += 1;
            let (context, announcements) =
                (Arc::clone(&self.context), Arc::clone(&about.announcements));
            let turn = match outgoing.news {
                AnnouncementKind::Asked | AnnouncementKind::Escalated(_) => {
                    Arc::clone(&announcements.turn).try_read_owned().ok()
                }
                AnnouncementKind::Ended(_) => None,
            };
            let place = (outgoing.seq, outgoing.request);
            let task = self
                .deliveries
                .spawn(announce::announce(context, announcements, outgoing, turn))
                .id();
            self.taken.insert(task, place);
            self.in_flight.insert(place.0);
        }
        failed
    }

    /// Reads the outbox in parts, so that other readers get their turn. Returns the announcements
    /// that are not in progress, and whether a read failed.
    async fn list(&mut self) -> (Vec<OutboxEntry>, bool) {
        let mut listed = Vec::new();
        loop {
            let part = match self.context.gate.store().outbox(self.read, MAX_CONCURRENT).await {
                Ok(part) => part,
                Err(error) => {
                    tracing::error!(%error, "announcements could not be read; retrying");
                    return (listed, true);
                }
            };
            let more = part.len() >= usize::try_from(MAX_CONCURRENT).unwrap_or(usize::MAX);
            self.read = part.last().map_or(self.read, |last| last.seq);
            let new = |outgoing: &OutboxEntry| !self.in_flight.contains(&outgoing.seq);
            listed.extend(part.into_iter().filter(new));
            if !more {
                return (listed, false);
            }
        }
    }

    /// Finishes an announcement. With `again` it is read once more.
    fn finish_task(&mut self, task: tokio::task::Id, again: bool) {
        let Some((seq, request)) = self.taken.remove(&task) else { return };
        self.in_flight.remove(&seq);
        if again {
            self.read = self.read.min(seq.saturating_sub(1));
        }
        if let Some(about) = self.about.get_mut(&request) {
            about.deliveries = about.deliveries.saturating_sub(1);
            if about.deliveries == 0 {
                self.about.remove(&request);
            }
        }
    }
}
