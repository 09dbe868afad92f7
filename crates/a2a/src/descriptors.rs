//! File descriptors: the limit is raised at the start, and connections leave some for the rest.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit that is asked for, if the machine allows it.
const WANTED: u64 = 8192;
/// What is assumed if the limit is not known.
const USUAL: u64 = 1024;
/// What the file of tasks, programs and the daemon need.
const RESERVED: u64 = 256;

/// How many connections may be open: at most `wanted`, and fewer under a low limit.
pub fn connection_limit(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(WANTED).min(WANTED);
    if limit.current.is_some_and(|current| current < most) {
        let raised = Rlimit { current: Some(most), maximum: limit.maximum };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::warn!(%error, "the limit of open files was not raised");
        }
    }
    within(getrlimit(Resource::Nofile).current.unwrap_or(USUAL), wanted)
}

fn within(limit: u64, wanted: usize) -> usize {
    let room = limit.saturating_sub(RESERVED.min(limit / 2)).max(1);
    usize::try_from(room).unwrap_or(usize::MAX).min(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_leaves_descriptors_for_programs_and_files() {
        assert_eq!(within(8192, 2048), 2048);
        assert_eq!(within(1024, 2048), 768);
        assert_eq!(within(100, 2048), 50);
        assert_eq!(within(0, 2048), 1);
    }
}
