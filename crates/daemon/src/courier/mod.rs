//! The courier: takes announcements from the outbox to the channels, at least once each.
//!
//! What is to be told is durable before the courier hears of it; it is struck off only together
//! with the record of its last attempt. After a crash the outbox is simply read again.

mod deliver;
mod lines;
mod plan;
mod row;

#[cfg(test)]
pub mod rig;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use countersign_core::id::Id;
use countersign_core::time::{Clock as _, Timestamp};
use countersign_store::{Happening, News, Store as _};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{RwLock, watch};
use tokio::task::JoinSet;

use crate::doors::{self, Stop};
use crate::gate::Gate;
use lines::Lines;

/// The outbox is read this often, whatever was heard.
const SWEEP: Duration = Duration::from_secs(5);
/// So many new announcements are taken at once.
const AT_ONCE: usize = 256;

/// Carries announcements until the daemon stops.
pub async fn run(gate: Arc<Gate>, mut stop: Stop) {
    let mut happenings = gate.store().watch();
    let mut rounds = Rounds::new(gate);
    let mut look = true;
    loop {
        if look {
            look = rounds.take().await;
        }
        let pause = if look { Duration::from_millis(250) } else { SWEEP };
        tokio::select! {
            heard = happenings.recv() => match heard {
                Ok(Happening::Voted(_) | Happening::Settings) => {}
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
                rounds.over(task);
                look |= again;
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

/// What every delivery needs.
struct Courier {
    gate: Arc<Gate>,
    lines: Lines,
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

/// Everything on its way.
struct Rounds {
    courier: Arc<Courier>,
    rows: JoinSet<row::Ended>,
    taken: HashMap<tokio::task::Id, (u64, Id)>,
    stories: HashMap<Id, Arc<Story>>,
}

impl Rounds {
    fn new(gate: Arc<Gate>) -> Rounds {
        let started = gate.clock().now().at;
        let courier = Arc::new(Courier { gate, lines: Lines::default(), started });
        Rounds { courier, rows: JoinSet::new(), taken: HashMap::new(), stories: HashMap::new() }
    }

    /// Takes what is new in the outbox. Whether to look again soon.
    async fn take(&mut self) -> bool {
        let limit = u32::try_from(self.taken.len() + AT_ONCE).unwrap_or(u32::MAX);
        let listed = match self.courier.gate.store().outbox(limit).await {
            Ok(listed) => listed,
            Err(error) => {
                tracing::error!(%error, "announcements cannot be read; they are tried again");
                return true;
            }
        };
        let more = listed.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
        let known: HashSet<u64> = self.taken.values().map(|(seq, _)| *seq).collect();
        // First what is newest, so that nothing old is sent beside it.
        for outgoing in &listed {
            let story = self.stories.entry(outgoing.request).or_insert_with(|| {
                Arc::new(Story {
                    newest: watch::Sender::new(outgoing.seq),
                    turn: Arc::default(),
                    channels: std::sync::Mutex::default(),
                })
            });
            story.newest.send_if_modified(|newest| {
                let newer = outgoing.seq > *newest;
                *newest = outgoing.seq.max(*newest);
                newer
            });
        }
        for outgoing in listed {
            let Some(story) = self.stories.get(&outgoing.request) else { continue };
            if known.contains(&outgoing.seq) {
                continue;
            }
            let (courier, story) = (Arc::clone(&self.courier), Arc::clone(story));
            let turn = match outgoing.news {
                News::Asked | News::Climbed(_) => Arc::clone(&story.turn).try_read_owned().ok(),
                News::Ended(_) => None,
            };
            let about = (outgoing.seq, outgoing.request);
            let task = self.rows.spawn(row::announce(courier, story, outgoing, turn)).id();
            self.taken.insert(task, about);
        }
        more
    }

    fn over(&mut self, task: tokio::task::Id) {
        let Some((_, request)) = self.taken.remove(&task) else { return };
        if !self.taken.values().any(|(_, other)| *other == request) {
            self.stories.remove(&request);
        }
    }
}
