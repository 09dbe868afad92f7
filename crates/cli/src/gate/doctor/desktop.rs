//! Whether this user has a desktop session, in which an agent could answer for a person.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::check::Check;

/// The reason, if this user has a desktop session.
pub fn desktop_reason(me: u32) -> Option<Check> {
    let runtime = format!("/run/user/{me}");
    let is_shared = has_wayland(Path::new(&runtime)) || has_x11(Path::new("/tmp/.X11-unix"), me);
    is_shared.then(|| {
        Check::bad(
            "This user has a desktop session: its agents can read the screen and press keys in \
             the browser in which a person approves.",
            "run agents as a user without a desktop, or approve on another device only",
        )
    })
}

/// Whether a folder has the socket of a Wayland compositor.
fn has_wayland(folder: &Path) -> bool {
    names(folder).any(|name| name.starts_with("wayland-"))
}

/// Whether a display of X11 belongs to this user.
fn has_x11(folder: &Path, me: u32) -> bool {
    names(folder).any(|name| {
        let owner = fs::metadata(folder.join(&name)).map(|found| found.uid());
        name.starts_with('X') && owner.is_ok_and(|owner| owner == me)
    })
}

fn names(folder: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_of_this_user_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let me = rustix::process::getuid().as_raw();
        assert!(!has_wayland(folder.path()) && !has_x11(folder.path(), me));
        fs::write(folder.path().join("X0"), "").unwrap();
        assert!(has_x11(folder.path(), me) && !has_x11(folder.path(), me + 1));
        fs::write(folder.path().join("wayland-0"), "").unwrap();
        assert!(has_wayland(folder.path()));
        assert!(!has_wayland(Path::new("/nonexistent")));
    }
}
