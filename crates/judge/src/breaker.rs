//! The circuit breaker: after failures the model is left alone for a while, then tried once.

use std::collections::VecDeque;

use countersign_types::time::{Millis, Timestamp};

/// Failures in a row that open the breaker.
const IN_A_ROW: u32 = 3;
/// Failures among the last requests that open it.
const AMONG_LAST: usize = 10;
/// How many of the last requests are remembered.
const LAST: usize = 50;
/// The first and the longest pause.
const FIRST_PAUSE: Millis = Millis(30_000);
const MAX_PAUSE: Millis = Millis(600_000);
/// A trial that has not ended by then was lost.
const TRIAL_LASTS: Millis = Millis(120_000);

/// Whether requests are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// Requests are sent.
    Closed,
    /// None is sent until this time.
    Open {
        /// When one is tried again.
        until: Timestamp,
    },
    /// One request is on its way to see whether the model answers again.
    HalfOpen {
        /// When it was sent.
        since: Timestamp,
    },
}

impl BreakerState {
    /// The word in records.
    pub const fn label(self) -> &'static str {
        match self {
            BreakerState::Closed => "closed",
            BreakerState::Open { .. } => "open",
            BreakerState::HalfOpen { .. } => "half_open",
        }
    }
}

/// A circuit breaker. The caller asks before each request and reports how it ended.
#[derive(Debug, Clone)]
pub struct Breaker {
    state: BreakerState,
    recent: VecDeque<bool>,
    in_a_row: u32,
    pause: Millis,
}

impl Default for Breaker {
    fn default() -> Breaker {
        Breaker {
            state: BreakerState::Closed,
            recent: VecDeque::new(),
            in_a_row: 0,
            pause: FIRST_PAUSE,
        }
    }
}

impl Breaker {
    /// Its state.
    pub const fn state(&self) -> BreakerState {
        self.state
    }

    /// Whether a request may be sent now.
    pub fn try_send(&mut self, now: Timestamp) -> bool {
        match self.state {
            BreakerState::Closed => true,
            BreakerState::Open { until } if now < until => false,
            BreakerState::HalfOpen { since } if now < since.plus(TRIAL_LASTS) => false,
            BreakerState::Open { .. } | BreakerState::HalfOpen { .. } => {
                self.state = BreakerState::HalfOpen { since: now };
                true
            }
        }
    }

    /// A request was answered, with any verdict.
    pub fn answered(&mut self) {
        match self.state {
            BreakerState::Closed => {
                self.in_a_row = 0;
                self.remember(false);
            }
            BreakerState::HalfOpen { .. } => *self = Breaker::default(),
            // A request from before it opened says nothing about now.
            BreakerState::Open { .. } => {}
        }
    }

    /// A request failed: an error, a time-out, or an answer of another form.
    pub fn failed(&mut self, now: Timestamp) {
        match self.state {
            BreakerState::Closed => {
                self.in_a_row += 1;
                self.remember(true);
                let among_last = self.recent.iter().filter(|failed| **failed).count();
                if self.in_a_row >= IN_A_ROW || among_last >= AMONG_LAST {
                    self.open(now);
                }
            }
            BreakerState::HalfOpen { .. } => {
                self.pause = Millis(self.pause.0.saturating_mul(2)).min(MAX_PAUSE);
                self.open(now);
            }
            BreakerState::Open { .. } => {}
        }
    }

    fn open(&mut self, now: Timestamp) {
        self.state = BreakerState::Open { until: now.plus(self.pause) };
        self.recent.clear();
        self.in_a_row = 0;
    }

    fn remember(&mut self, failed: bool) {
        if self.recent.len() >= LAST {
            self.recent.pop_front();
        }
        self.recent.push_back(failed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: i64) -> Timestamp {
        Timestamp(seconds * 1000)
    }

    #[test]
    fn three_failures_in_a_row_open_it_and_one_success_closes_it() {
        let mut breaker = Breaker::default();
        for _ in 0..2 {
            assert!(breaker.try_send(at(0)));
            breaker.failed(at(0));
        }
        breaker.answered();
        for _ in 0..3 {
            assert!(breaker.try_send(at(1)));
            breaker.failed(at(1));
        }
        assert!(!breaker.try_send(at(1)) && !breaker.try_send(at(30)));
        assert!(breaker.try_send(at(31)), "one trial");
        assert!(!breaker.try_send(at(31)), "only one");
        breaker.failed(at(32));
        assert!(!breaker.try_send(at(91)), "the pause has doubled");
        assert!(breaker.try_send(at(92)));
        breaker.answered();
        assert_eq!(breaker.state(), BreakerState::Closed);
        breaker.failed(at(93));
        assert!(breaker.try_send(at(93)), "the count started again");
    }

    #[test]
    fn ten_failures_among_fifty_open_it() {
        let mut breaker = Breaker::default();
        for number in 0..9 {
            breaker.failed(at(number));
            breaker.answered();
        }
        assert!(breaker.try_send(at(10)));
        breaker.failed(at(10));
        assert!(!breaker.try_send(at(10)));
    }

    #[test]
    fn a_lost_trial_does_not_close_the_judge_for_ever_and_the_pause_is_bounded() {
        let mut breaker = Breaker::default();
        let mut now = 0;
        for _ in 0..3 {
            breaker.failed(at(now));
        }
        assert!(breaker.try_send(at(30)));
        assert!(!breaker.try_send(at(149)));
        assert!(breaker.try_send(at(150)), "the trial was lost");
        now = 150;
        for _ in 0..20 {
            breaker.failed(at(now));
            now += 600;
            assert!(breaker.try_send(at(now)));
        }
    }

    #[test]
    fn failures_of_requests_from_before_do_not_prolong_the_pause() {
        let mut breaker = Breaker::default();
        for _ in 0..3 {
            breaker.failed(at(0));
        }
        breaker.failed(at(29));
        breaker.answered();
        assert!(!breaker.try_send(at(29)) && breaker.try_send(at(30)));
    }
}
