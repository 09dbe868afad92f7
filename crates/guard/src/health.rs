//! Whether the model may be asked: the self-test, and the circuit breaker that heals by it.

use std::time::Duration;

use crate::verdict::GuardFailure;

/// This many failures in a row open the circuit.
const MAX_FAILURES: u32 = 3;
/// The first and the longest pause before the model is tested again.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const MAX_PAUSE: Duration = Duration::from_mins(1);

/// The health of a model.
#[derive(Debug)]
pub struct Health {
    state: HealthState,
    pause: Duration,
}

#[derive(Debug, Clone, Copy)]
enum HealthState {
    /// It passed its self-test; so many failures in a row since.
    Ready(u32),
    /// It may not be asked, for this reason.
    Closed(GuardFailure),
}

impl Default for Health {
    fn default() -> Self {
        Health { state: HealthState::Closed(GuardFailure::NotTested), pause: FIRST_PAUSE }
    }
}

impl Health {
    /// Whether the model may be asked.
    pub fn check(&self) -> Result<(), GuardFailure> {
        match self.state {
            HealthState::Ready(_) => Ok(()),
            HealthState::Closed(why) => Err(why),
        }
    }

    /// Notes the result of a question. Returns whether the circuit opened now.
    pub fn note(&mut self, failure: Option<GuardFailure>) -> bool {
        let HealthState::Ready(failures) = self.state else { return false };
        let failures = match failure {
            None => 0,
            Some(why) if why.counts() => failures.saturating_add(1),
            Some(_) => failures,
        };
        let opens = failures >= MAX_FAILURES;
        self.state = if opens {
            HealthState::Closed(GuardFailure::CircuitOpen)
        } else {
            HealthState::Ready(failures)
        };
        opens
    }

    /// Notes the result of a self-test. If it failed, the next one comes after the returned pause.
    pub fn tested(&mut self, result: Result<(), GuardFailure>) -> Option<Duration> {
        match result {
            Ok(()) => {
                *self = Health { state: HealthState::Ready(0), pause: FIRST_PAUSE };
                None
            }
            Err(why) => {
                let pause = self.pause;
                let longer = pause.saturating_mul(2).min(MAX_PAUSE);
                *self = Health { state: HealthState::Closed(why), pause: longer };
                Some(pause)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_circuit_opens_after_failures_in_a_row_and_heals_by_a_test() {
        let mut health = Health::default();
        assert_eq!(health.check(), Err(GuardFailure::NotTested));
        assert!(!health.note(Some(GuardFailure::TimedOut)), "nothing was asked yet");
        assert_eq!(health.tested(Err(GuardFailure::SelfTest)), Some(FIRST_PAUSE));
        assert_eq!(health.tested(Err(GuardFailure::SelfTest)), Some(FIRST_PAUSE * 2));
        assert_eq!(health.check(), Err(GuardFailure::SelfTest));
        assert_eq!(health.tested(Ok(())), None);
        for _ in 0..10 {
            assert!(!health.note(Some(GuardFailure::TimedOut)));
            assert!(!health.note(Some(GuardFailure::TimedOut)));
            assert!(!health.note(None), "a success starts again");
        }
        for _ in 0..10 {
            assert!(!health.note(Some(GuardFailure::Busy)), "our own limit is no fault of it");
        }
        assert!(!health.note(Some(GuardFailure::ServerError)));
        assert!(!health.note(Some(GuardFailure::Unparseable)));
        assert!(health.note(Some(GuardFailure::Unreachable)));
        assert_eq!(health.check(), Err(GuardFailure::CircuitOpen));
        assert_eq!(health.tested(Ok(())), None);
        assert_eq!(health.check(), Ok(()));
    }

    #[test]
    fn the_pause_is_bounded() {
        let mut health = Health::default();
        let longest = (0..20).filter_map(|_| health.tested(Err(GuardFailure::Unreachable))).max();
        assert_eq!(longest, Some(MAX_PAUSE));
    }
}
