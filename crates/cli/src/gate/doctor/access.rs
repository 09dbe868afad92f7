//! What this user can read or change of a daemon that runs as another user.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use countersign_client::{DaemonInstallation, SYSTEM_SERVICE_FILE};
use rustix::fs::{Access, access};

use super::check::Check;

/// One reason for each part that this user can read or change.
pub fn access_reasons(daemon: &DaemonInstallation, me: u32) -> Vec<Check> {
    let DaemonInstallation { program, config, state, store, socket, .. } = daemon;
    let service = Path::new(SYSTEM_SERVICE_FILE);
    let folder = socket.as_deref().and_then(Path::parent);
    let changes = [
        ("program", program.as_deref()),
        ("configuration", Some(config.as_path())),
        ("state folder", Some(state.as_path())),
        ("store", Some(store.as_path())),
        // The members of a group may write to the socket itself: that is how they ask.
        ("folder of the socket", folder),
        ("service file", Some(service).filter(|file| file.exists())),
    ];
    let mut reasons = Vec::new();
    for (name, path) in changes {
        if let Some(place) = path.and_then(|path| writable_part(path, me)) {
            let place = place.display();
            let say = format!("This user can change the {name}, because it can write {place}.");
            reasons.push(Check::bad(say, &format!("chown root {place}; chmod go-w {place}")));
        }
    }
    let key = |name: &str| state.join(name);
    for (name, path) in [
        ("state folder", state.clone()),
        ("signing key", key("signing.key")),
        ("key for facts", key("facts.key")),
        ("key that signs responses", key("response.key")),
        ("TLS key", key("tls.key")),
        ("store", store.clone()),
        ("configuration, which may hold tokens", config.clone()),
    ] {
        if can_read(&path) {
            let place = path.display();
            let say = format!("This user can read the {name} ({place}).");
            reasons.push(Check::bad(say, &format!("chmod o= {place}; look at its group and ACLs")));
        }
    }
    reasons
}

/// Whether this user can open it.
pub fn can_read(path: &Path) -> bool {
    if path.is_dir() { fs::read_dir(path).is_ok() } else { File::open(path).is_ok() }
}

/// The file or the folder on the way to it that this user can write, and so replace what is below.
fn writable_part(path: &Path, me: u32) -> Option<PathBuf> {
    let mut below: Option<u32> = None;
    for part in path.ancestors() {
        let Ok(found) = fs::metadata(part) else { continue };
        // In a folder such as /tmp, only the owner of a file can rename or delete it.
        let is_sticky = found.is_dir() && found.mode() & 0o1000 != 0 && found.uid() != me;
        let is_safe = is_sticky && below.is_some_and(|owner| owner != me);
        if !is_safe && access(part, Access::WRITE_OK).is_ok() {
            return Some(part.to_owned());
        }
        below = Some(found.uid());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writable_folder_on_the_way_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (bin, program) = (folder.path().join("bin"), folder.path().join("bin/countersign"));
        fs::create_dir(&bin).unwrap();
        fs::write(&program, "").unwrap();
        let me = rustix::process::getuid().as_raw();
        assert_eq!(writable_part(&program, me), Some(program.clone()));
        // A file that does not exist could be created.
        assert_eq!(writable_part(&bin.join("missing"), me), Some(bin));
        if me != 0 {
            assert_eq!(writable_part(Path::new("/bin/sh"), me), None);
        }
    }
}
