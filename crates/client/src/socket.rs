//! Finds the daemon's socket. MCP clients strip variables such as `XDG_RUNTIME_DIR` from the
//! environment of the programs they start, so this must work without them.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::process::getuid;

/// The socket's name in its folder.
pub const SOCKET_NAME: &str = "agents.sock";

/// The socket of a daemon that was started without a configured socket. `expected` is the path
/// that the environment of this process implies, `state` the daemon's state folder. The daemon's
/// own environment may imply another path: its socket is in the user's runtime folder if it had
/// one, and in the state folder otherwise.
pub fn find_socket(expected: PathBuf, state: &Path) -> PathBuf {
    let runtime = PathBuf::from(format!("/run/user/{}/countersign", getuid().as_raw()));
    find_among(expected, [runtime.join(SOCKET_NAME), state.join(SOCKET_NAME)])
}

/// The first socket that accepts connections; the expected one if none does. The alternatives
/// must belong to this user.
fn find_among(expected: PathBuf, alternatives: [PathBuf; 2]) -> PathBuf {
    let accepts = |path: &Path| is_socket(path) && UnixStream::connect(path).is_ok();
    if accepts(&expected) {
        return expected;
    }
    let found = alternatives.into_iter().find(|path| is_own(path) && accepts(path));
    found.unwrap_or(expected)
}

fn is_socket(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

fn is_own(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.uid() == getuid().as_raw())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn the_first_socket_that_accepts_connections_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let find = || find_among(path("expected"), [path("runtime"), path("state")]);
        assert_eq!(find(), path("expected"));
        fs::write(path("runtime"), "not a socket").unwrap();
        let state = UnixListener::bind(path("state")).unwrap();
        assert_eq!(find(), path("state"));
        fs::remove_file(path("runtime")).unwrap();
        let runtime = UnixListener::bind(path("runtime")).unwrap();
        assert_eq!(find(), path("runtime"));
        let expected = UnixListener::bind(path("expected")).unwrap();
        assert_eq!(find(), path("expected"));
        // A crash leaves the file behind.
        drop((expected, runtime));
        assert_eq!(find(), path("state"));
        drop(state);
        assert_eq!(find(), path("expected"));
    }
}
