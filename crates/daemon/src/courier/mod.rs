//! The courier: takes announcements from the outbox to the channels, at least once each.
//!
//! What is to be told is durable before the courier hears of it; it is struck off only together
//! with the record of its last attempt. After a crash the outbox is simply read again.

mod deliver;
pub mod digest;
mod lines;
mod plan;
mod row;
pub mod tell;
mod tries;

#[cfg(test)]
pub mod rig;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use countersign_store::{AnnouncementKind, OutboxEntry, Store as _, StoreEvent};
use countersign_types::id::Id;
use countersign_types::time::{Clock as _, Timestamp};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{RwLock, watch};
use tokio::task::JoinSet;

use crate::buttons::Buttons;
use crate::doors::{self, Stop};
use crate::gate::Gate;
use crate::presence::Presence;

pub use digest::broadcast;
pub use lines::{Line, Lines};
pub use plan::is_overtaken;
pub use row::NOBODY;
pub use tries::Tries;

/// The outbox is read this often, whatever was heard.
const SWEEP: Duration = Duration::from_secs(5);
/// So many announcements are read at once.
const AT_ONCE: u32 = 256;

/// Carries announcements until the daemon stops.
pub async fn run(gate: Arc<Gate>, reach: Reach, mut stop: Stop) {
    let mut happenings = gate.store().subscribe();
    let mut rounds = Rounds::new(gate, reach);
    let mut sweep = tokio::time::interval(SWEEP);
    sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut look = true;
    loop {
        look = look && rounds.take().await;
        let pause = if look { Duration::from_millis(250) } else { SWEEP };
        tokio::select! {
            heard = happenings.recv() => match heard {
                Ok(StoreEvent::Voted(_) | StoreEvent::Settings) => {}
                Ok(_) | Err(RecvError::Lagged(_)) => look = true,
                Err(RecvError::Closed) => return,
            },
            Some(ended) = rounds.rows.join_next_with_id() => {
                // A row that is not done with has more people to tell.
                let (task, again) = match ended {
                    Ok((task, row)) => (task, !row.done),
                    // A row that broke is read again with the next sweep.
                    Err(error) => (error.id(), false),
                };
                rounds.over(task, again);
                look |= again;
            },
            _ = sweep.tick() => {
                rounds.read = 0;
                look = true;
            },
            () = tokio::time::sleep(pause) => look = true,
            () = doors::stopped(&mut stop) => return,
        }
        // One look is enough for all that happened meanwhile.
        while !matches!(happenings.try_recv(), Err(TryRecvError::Empty | TryRecvError::Closed)) {
            look = true;
        }
    }
}

/// What people are reached with.
#[derive(Debug, Clone)]
pub struct Reach {
    /// The open channels.
    pub lines: Arc<Lines>,
    /// What their buttons carry.
    pub buttons: Arc<Buttons>,
    /// Whether somebody sits at the inbox.
    pub presence: Arc<Presence>,
}

/// What every delivery needs.
struct Courier {
    gate: Arc<Gate>,
    lines: Arc<Lines>,
    buttons: Arc<Buttons>,
    presence: Arc<Presence>,
    started: Timestamp,
}

/// The announcements about one request that are on their way.
struct Story {
    /// The newest of them: what is older is not sent any more.
    newest: watch::Sender<u64>,
    /// Shared by those who ask, held alone by the one that withdraws.
    turn: Arc<RwLock<()>>,
    /// One message about a request at a time through one channel.
    channels: std::sync::Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

/// What is on its way about one request.
struct About {
    story: Arc<Story>,
    rows: usize,
}

/// Everything on its way.
struct Rounds {
    courier: Arc<Courier>,
    rows: JoinSet<row::Ended>,
    taken: HashMap<tokio::task::Id, (u64, Id)>,
    on_their_way: HashSet<u64>,
    about: HashMap<Id, About>,
    /// Behind which place the outbox is read next. A sweep begins at its beginning.
    read: u64,
}

impl Rounds {
    fn new(gate: Arc<Gate>, reach: Reach) -> Rounds {
        let started = gate.clock().now().at;
        let Reach { lines, buttons, presence } = reach;
        let courier = Arc::new(Courier { gate, lines, buttons, presence, started });
        Rounds {
            courier,
            rows: JoinSet::new(),
            taken: HashMap::new(),
            on_their_way: HashSet::new(),
            about: HashMap::new(),
            read: 0,
        }
    }

    /// Takes what is new in the outbox. Whether to look again soon.
    async fn take(&mut self) -> bool {
        let (listed, failed) = self.list().await;
        // First what is newest, so that nothing old is sent beside it.
        for outgoing in &listed {
            let about = self.about.entry(outgoing.request).or_insert_with(|| About {
                rows: 0,
                story: Arc::new(Story {
                    newest: watch::Sender::new(outgoing.seq),
                    turn: Arc::default(),
                    channels: std::sync::Mutex::default(),
                }),
            });
            about.story.newest.send_if_modified(|newest| {
                let newer = outgoing.seq > *newest;
                *newest = outgoing.seq.max(*newest);
                newer
            });
        }
        for outgoing in listed {
            let Some(about) = self.about.get_mut(&outgoing.request) else { continue };
            about.rows += 1;
            let (courier, story) = (Arc::clone(&self.courier), Arc::clone(&about.story));
            let turn = match outgoing.news {
                AnnouncementKind::Asked | AnnouncementKind::Escalated(_) => {
                    Arc::clone(&story.turn).try_read_owned().ok()
                }
                AnnouncementKind::Ended(_) => None,
            };
            let place = (outgoing.seq, outgoing.request);
            let task = self.rows.spawn(row::announce(courier, story, outgoing, turn)).id();
            self.taken.insert(task, place);
            self.on_their_way.insert(place.0);
        }
        failed
    }

    /// Reads the outbox on, a part at a time, as others want to read as well. Gives what is not on
    /// its way, and whether some could not be read.
    async fn list(&mut self) -> (Vec<OutboxEntry>, bool) {
        let mut listed = Vec::new();
        loop {
            let part = match self.courier.gate.store().outbox(self.read, AT_ONCE).await {
                Ok(part) => part,
                Err(error) => {
                    tracing::error!(%error, "announcements cannot be read; they are tried again");
                    return (listed, true);
                }
            };
            let more = part.len() >= usize::try_from(AT_ONCE).unwrap_or(usize::MAX);
            self.read = part.last().map_or(self.read, |last| last.seq);
            let new = |outgoing: &OutboxEntry| !self.on_their_way.contains(&outgoing.seq);
            listed.extend(part.into_iter().filter(new));
            if !more {
                return (listed, false);
            }
        }
    }

    /// A row came to its end here. With `again` it is read once more.
    fn over(&mut self, task: tokio::task::Id, again: bool) {
        let Some((seq, request)) = self.taken.remove(&task) else { return };
        self.on_their_way.remove(&seq);
        if again {
            self.read = self.read.min(seq.saturating_sub(1));
        }
        if let Some(about) = self.about.get_mut(&request) {
            about.rows = about.rows.saturating_sub(1);
            if about.rows == 0 {
                self.about.remove(&request);
            }
        }
    }
}
