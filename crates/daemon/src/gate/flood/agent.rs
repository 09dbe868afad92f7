//! The counters and limits of one agent.

use std::collections::VecDeque;

use countersign_types::time::{Millis, Timestamp};

use super::pace::Pace;
use crate::config::FloodConfig;
use crate::gate::Rejection;

pub(super) const MINUTE: Millis = Millis::from_seconds(60);
pub(super) const HOUR: Millis = Millis::from_seconds(3600);
/// The maximum number of pending requests of one agent in a crisis.
pub(super) const MAX_OPEN_IN_CRISIS: u32 = 200;

/// The counters of one agent.
#[derive(Debug, Default)]
pub(super) struct Agent {
    pub open: u32,
    pub asked: VecDeque<Timestamp>,
    pub asked_in_hour: VecDeque<Timestamp>,
    pub denied: VecDeque<Timestamp>,
    /// The denials of all senders of delegated tasks that it asks for.
    pub senders_denied: VecDeque<Timestamp>,
    pub quarantined: Option<Timestamp>,
    pub refused: u32,
    pub why: &'static str,
    /// How fast its rejections are sent.
    pub pace: Pace,
}

impl Agent {
    pub fn reserve(
        &mut self,
        limits: &FloodConfig,
        hourly: u32,
        (crisis, full): (bool, bool),
        now: Timestamp,
    ) -> Result<(), (Rejection, &'static str)> {
        if full || crisis && self.open >= MAX_OPEN_IN_CRISIS {
            return Err((Rejection::TooManyQuestions(5), "open"));
        }
        if crisis {
            return Ok(());
        }
        if let Some(until) = self.quarantined.filter(|&until| until > now) {
            return Err((Rejection::Quarantined(until), "quarantine"));
        }
        self.quarantined = None;
        if self.open >= limits.open_per_agent {
            return Err((Rejection::TooManyQuestions(5), "open"));
        }
        room(&self.asked, limits.asks_per_minute, now, MINUTE)
            .map_err(|rejection| (rejection, "minute"))?;
        room(&self.asked_in_hour, hourly, now, HOUR).map_err(|rejection| (rejection, "hour"))
    }

    /// Whether it has no state worth keeping.
    pub fn is_idle(&mut self, limits: &FloodConfig, now: Timestamp) -> bool {
        forget(&mut self.asked, now, MINUTE);
        forget(&mut self.asked_in_hour, now, HOUR);
        forget(&mut self.denied, now, limits.within);
        forget(&mut self.senders_denied, now, limits.within);
        let free = self.quarantined.is_none_or(|until| until <= now);
        self.open == 0
            && self.refused == 0
            && free
            && self.asked.is_empty()
            && self.asked_in_hour.is_empty()
            && self.denied.is_empty()
            && self.senders_denied.is_empty()
            && self.pace.is_idle(now)
    }
}

/// Removes times older than `span`.
pub(super) fn forget(times: &mut VecDeque<Timestamp>, now: Timestamp, span: Millis) {
    while times.front().is_some_and(|&oldest| oldest.plus(span) <= now) {
        times.pop_front();
    }
}

/// Adds a time; keeps only the newest `most`.
pub(super) fn remember(times: &mut VecDeque<Timestamp>, now: Timestamp, most: u32) {
    if times.len() >= usize::try_from(most).unwrap_or(usize::MAX) {
        times.pop_front();
    }
    times.push_back(now);
}

/// Removes a time of a released reservation.
pub(super) fn take_out(times: &mut VecDeque<Timestamp>, at: Timestamp) {
    if let Some(slot) = times.iter().rposition(|&time| time == at) {
        times.remove(slot);
    }
}

/// Whether one more fits the limit, or when it will.
fn room(
    times: &VecDeque<Timestamp>,
    most: u32,
    now: Timestamp,
    span: Millis,
) -> Result<(), Rejection> {
    if times.len() < usize::try_from(most).unwrap_or(usize::MAX) {
        return Ok(());
    }
    let free = times.front().map_or(now, |&oldest| oldest.plus(span));
    let seconds = now.until(free).0.div_ceil(1000);
    Err(Rejection::TooManyQuestions(u32::try_from(seconds).unwrap_or(u32::MAX)))
}

impl FloodConfig {
    /// Without limits, for requests that were admitted before.
    pub(super) const UNLIMITED: FloodConfig = FloodConfig {
        open_per_agent: u32::MAX,
        asks_per_minute: u32::MAX,
        asks_per_hour: u32::MAX,
        disk_per_hour: u64::MAX,
        denials: u32::MAX,
        within: Millis(0),
        quarantine: Millis(0),
        digest_from: 0,
    };
}
