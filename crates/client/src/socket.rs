//! Finds the daemon's socket. MCP clients strip variables such as `XDG_RUNTIME_DIR` from the
//! environment of the programs they start, so this must work without them.
//!
//! The socket of a system service comes first, and if such a service is installed there is no other
//! one: an agent could serve a socket of its own wherever its user may write.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use countersign_types::SYSTEM_RUNTIME_FOLDER;
use rustix::process::getuid;

/// The socket's name in its folder.
pub const SOCKET_NAME: &str = "agents.sock";

/// The file that starts the daemon as a system service. Only root can create it.
#[cfg(not(target_os = "macos"))]
pub const SYSTEM_SERVICE_FILE: &str = "/etc/systemd/system/countersign.service";
/// The file that starts the daemon as a system service. Only root can create it.
#[cfg(target_os = "macos")]
pub const SYSTEM_SERVICE_FILE: &str = "/Library/LaunchDaemons/countersign.daemon.plist";

/// The socket of the system service, if one is installed, whether it runs or not.
pub fn system_socket() -> Option<PathBuf> {
    system_socket_in(Path::new(SYSTEM_RUNTIME_FOLDER), Path::new(SYSTEM_SERVICE_FILE))
}

fn system_socket_in(folder: &Path, service: &Path) -> Option<PathBuf> {
    let is_installed = [folder, service].iter().any(|path| path.exists() && only_root_adds(path));
    is_installed.then(|| folder.join(SOCKET_NAME))
}

/// Whether only root can have put something at this path: nobody else can write the folder above.
fn only_root_adds(path: &Path) -> bool {
    let parent = path.parent().and_then(|parent| fs::metadata(parent).ok());
    parent.is_some_and(|parent| parent.uid() == 0 && parent.mode() & 0o022 == 0)
}

/// The socket of a daemon of this user that was started without a configured socket. `expected` is
/// the path that the environment of this process implies, `state` the daemon's state folder. The
/// daemon's own environment may imply another path: its socket is in the user's runtime folder if
/// it had one, and in the state folder otherwise.
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
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_system_service_hides_every_other_socket() {
        let folder = tempfile::tempdir().unwrap();
        let system = folder.path().join("run/countersign");
        let service = folder.path().join("etc/countersign.service");
        let find = || system_socket_in(&system, &service);
        for parent in ["run", "etc"] {
            fs::create_dir(folder.path().join(parent)).unwrap();
        }
        assert_eq!(find(), None);
        fs::write(&service, "").unwrap();
        let is_root = getuid().is_root();
        // The service is installed but does not run: no other socket takes its place.
        assert_eq!(find().is_some(), is_root);
        fs::remove_file(&service).unwrap();
        fs::create_dir(&system).unwrap();
        assert_eq!(find(), is_root.then(|| system.join(SOCKET_NAME)));
        // A folder in which an agent could have created it proves nothing.
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(folder.path().join("run"), open).unwrap();
        assert_eq!(find(), None);
    }

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
