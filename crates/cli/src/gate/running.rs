//! Finds the daemon of this store: the process that holds the store's lock.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

/// What to tell people if no daemon was found.
pub const NOT_FOUND: &str = if cfg!(target_os = "linux") {
    "The daemon is not running. Start it: countersign serve"
} else {
    "Restart the daemon to load the configuration: countersign serve"
};

/// The process that holds the lock of this store, if any. Linux lists locks in `/proc/locks`.
#[cfg(target_os = "linux")]
pub fn daemon(store: &Path) -> Option<Pid> {
    use std::os::unix::fs::MetadataExt as _;

    let mut lock = store.as_os_str().to_owned();
    lock.push(".lock");
    let about = std::fs::metadata(lock).ok()?;
    let (major, minor) = (rustix::fs::major(about.dev()), rustix::fs::minor(about.dev()));
    let file = format!("{major:02x}:{minor:02x}:{}", about.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| holder(line, &file))
}

/// Not supported: this system does not say which process holds a lock. The caller then asks the
/// person to restart the daemon.
#[cfg(not(target_os = "linux"))]
pub fn daemon(_store: &Path) -> Option<Pid> {
    None
}

/// A line such as `4: FLOCK ADVISORY WRITE 1234 08:01:5678 0 EOF`, if it is about this file.
#[cfg(any(target_os = "linux", test))]
fn holder(line: &str, file: &str) -> Option<Pid> {
    let mut words = line.split_whitespace().skip(1);
    if words.next()? != "FLOCK" {
        return None;
    }
    let mut words = words.skip(2);
    let process = words.next()?.parse::<i32>().ok()?;
    // Smaller numbers are process groups or special values, not processes.
    (words.next()? == file && process > 1).then(|| Pid::from_raw(process)).flatten()
}

/// Asks the daemon to reload its configuration.
pub fn reload(daemon: Pid) -> bool {
    kill_process(daemon, Signal::HUP).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_holder_of_this_lock_is_found() {
        let raw =
            |line: &str| holder(line, "08:01:5678").map(|process| process.as_raw_nonzero().get());
        assert_eq!(raw("4: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF"), Some(1234));
        assert_eq!(raw("4: POSIX  ADVISORY  WRITE 1234 08:01:5678 0 EOF"), None);
        assert_eq!(raw("4: FLOCK  ADVISORY  WRITE 1234 08:01:567 0 EOF"), None);
        assert_eq!(raw("4: FLOCK  ADVISORY  WRITE 1234 08:02:5678 0 EOF"), None);
        assert_eq!(raw("4: FLOCK  ADVISORY  WRITE 1 08:01:5678 0 EOF"), None);
        assert_eq!(raw("4: -> FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF"), None);
        assert_eq!(raw("4: FLOCK  ADVISORY  WRITE -1 08:01:5678 0 EOF"), None);
        assert_eq!(raw(""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_store_that_nobody_holds_has_no_daemon() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("countersign.db");
        assert_eq!(daemon(&store), None);
        let lock = std::fs::File::create(folder.path().join("countersign.db.lock")).unwrap();
        assert_eq!(daemon(&store), None);
        lock.try_lock().unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        assert_eq!(daemon(&store).map(|pid| pid.as_raw_nonzero().get()), Some(own));
    }
}
