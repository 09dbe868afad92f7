//! File descriptors: the limit is raised at the start and divided, so that a flood of connections
//! of one kind leaves room for people, for alerts and for the store.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit that is asked for, if the machine allows it.
const WANTED: u64 = 1 << 20;
/// What is assumed if the limit is not known.
const USUAL: u64 = 1024;
/// The most connections of one listener.
const MAX_CONNECTIONS: u64 = 50_000;

/// How many connections each listener accepts at once; further ones wait in the kernel's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// The agent API over TCP.
    pub agents: usize,
    /// The agent API over the Unix socket.
    pub socket: usize,
    /// The people API.
    pub people: usize,
}

impl ConnectionLimits {
    /// Raises the limit of this process as far as it goes, and divides it.
    pub fn raised() -> ConnectionLimits {
        let limit = getrlimit(Resource::Nofile);
        let most = limit.maximum.unwrap_or(WANTED).min(WANTED);
        if limit.current.is_some_and(|current| current < most) {
            let raised = Rlimit { current: Some(most), maximum: limit.maximum };
            if let Err(error) = setrlimit(Resource::Nofile, raised) {
                tracing::warn!(%error, "the limit of open files was not raised");
            }
        }
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(USUAL);
        let limits = ConnectionLimits::of(limit);
        tracing::debug!(limit, ?limits, "open files");
        limits
    }

    /// Divides so many descriptors. An eighth is for the store, logs and outbound alerts; of the
    /// rest, a quarter is for people.
    fn of(limit: u64) -> ConnectionLimits {
        let rest = limit.saturating_sub((limit / 8).clamp(64, 4096));
        let part = |eighths: u64| {
            let share = (rest / 8).saturating_mul(eighths).clamp(1, MAX_CONNECTIONS);
            usize::try_from(share).unwrap_or(usize::MAX)
        };
        ConnectionLimits { agents: part(3), socket: part(3), people: part(2) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_and_outbound_alerts_have_descriptors_of_their_own() {
        for limit in [256, 1024, 4096, 1 << 20] {
            let limits = ConnectionLimits::of(limit);
            let sum = u64::try_from(limits.agents + limits.socket + limits.people).unwrap();
            assert!(sum + 64 <= limit, "{limit}: {limits:?}");
        }
        let limits = ConnectionLimits::of(1024);
        assert_eq!(limits, ConnectionLimits { agents: 336, socket: 336, people: 224 });
        assert_eq!(ConnectionLimits::of(0), ConnectionLimits { agents: 1, socket: 1, people: 1 });
    }
}
