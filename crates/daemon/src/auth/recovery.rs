//! Recovery codes: how a person who lost their passphrase or passkey gets a new passphrase.
//!
//! A code is issued on the daemon's machine by a user who can write its state folder, or by an
//! administrator with a fresh proof, who does not see it: it is sent to a linked account of the
//! person. It is stored as a digest. A stolen session never gets a passphrase.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown,
};
use std::path::{Path, PathBuf};

use countersign_json::canonical::Digest;
use countersign_types::time::{Millis, Timestamp};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use super::{generate_passphrase, person_name};

/// How long a code is valid.
const LIFETIME: Millis = Millis::from_seconds(900);
/// The longest file that is read.
const MAX_FILE_BYTES: u64 = 4096;
const FOLDER: &str = "recovery";

/// A stored code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredCode {
    /// SHA-256 of the code, in hex.
    code: String,
    /// When it expires, in milliseconds since 1970.
    expires: i64,
    /// Whether the person's passkeys are removed with it.
    remove_passkeys: bool,
}

/// A code that was redeemed and removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovered {
    /// Whether the person's passkeys are removed with it.
    pub remove_passkeys: bool,
}

/// The folder of the codes below a state folder.
pub fn folder(state: &Path) -> PathBuf {
    state.join(FOLDER)
}

fn file(folder: &Path, name: &str) -> io::Result<PathBuf> {
    person_name(name).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    Ok(folder.join(format!("{name}.json")))
}

/// Removes the code of a person, which did not reach them.
pub fn remove(folder: &Path, name: &str) {
    if let Ok(path) = file(folder, name) {
        // A code that stays is known to no one.
        let _ = fs::remove_file(path);
    }
}

/// Removes every code: their ends are times of a clock that was wrong.
pub fn remove_all(folder: &Path) {
    for found in fs::read_dir(folder).into_iter().flatten().flatten() {
        // A code that stays is still bound to its person, and expires by the other clock.
        let _ = fs::remove_file(found.path());
    }
}

/// Issues a code for a person, at this time in milliseconds since 1970; an older code becomes
/// invalid. The code is returned once and not stored.
pub fn issue(
    state: &Path,
    name: &str,
    remove_passkeys: bool,
    now: i64,
) -> io::Result<(Zeroizing<String>, Timestamp)> {
    let owner = fs::symlink_metadata(state)?;
    let folder = folder(state);
    let path = file(&folder, name)?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::NOFOLLOW;
    // Opened once and then used by handle, so that a symlink in its place is not followed.
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).map_err(io::Error::other)?)
        .open(&folder)?;
    let code = generate_passphrase().map_err(|error| io::Error::other(error.to_string()))?;
    let expires = Timestamp(now).plus(LIFETIME);
    let stored = StoredCode {
        code: Digest::of(code.as_bytes()).to_string(),
        expires: expires.0,
        remove_passkeys,
    };
    let text = serde_json::to_string(&stored).map_err(io::Error::other)?;
    let fresh = path.with_extension("new");
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    out.write_all(text.as_bytes())?;
    // An administrator of the machine may issue codes; the daemon reads only its own files.
    if out.metadata()?.uid() != owner.uid() {
        fchown(&opened, Some(owner.uid()), Some(owner.gid()))?;
        fchown(&out, Some(owner.uid()), Some(owner.gid()))?;
    }
    fs::rename(&fresh, &path)?;
    Ok((code, expires))
}

/// Redeems a code: a right one is removed before it counts.
pub fn redeem(folder: &Path, name: &str, code: &str, now: Timestamp) -> Option<Recovered> {
    let path = file(folder, name).ok()?;
    let stored = read(folder, &path)?;
    if now.0 >= stored.expires {
        // An expired code never counts, whether or not it could be removed.
        let _ = fs::remove_file(&path);
        return None;
    }
    let given = Digest::of(code.as_bytes()).to_string();
    let right = bool::from(given.as_bytes().ct_eq(stored.code.as_bytes()));
    // A code that cannot be removed could be used twice.
    (right && fs::remove_file(&path).is_ok())
        .then_some(Recovered { remove_passkeys: stored.remove_passkeys })
}

/// Reads a file that only the owner of the folder could have written.
fn read(folder: &Path, path: &Path) -> Option<StoredCode> {
    let owner = fs::symlink_metadata(folder).ok().filter(fs::Metadata::is_dir)?;
    let flags = rustix::fs::OFlags::NOFOLLOW.bits() | rustix::fs::OFlags::NONBLOCK.bits();
    let flags = i32::try_from(flags).ok()?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let about = file.metadata().ok()?;
    let exposed = |about: &fs::Metadata| about.permissions().mode() & 0o077 != 0;
    let ours = about.is_file() && about.uid() == owner.uid() && about.len() <= MAX_FILE_BYTES;
    if !ours || exposed(&about) || exposed(&owner) {
        return None;
    }
    let mut text = String::new();
    file.take(MAX_FILE_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    #[test]
    fn a_recovery_code_is_used_once_by_its_person_in_time() {
        let state = tempfile::tempdir().unwrap();
        let folder = folder(state.path());
        let (code, expires) = issue(state.path(), "ana", true, NOW.0).unwrap();
        let on_disk = fs::read_to_string(folder.join("ana.json")).unwrap();
        assert!(!on_disk.contains(&*code));
        assert_eq!(redeem(&folder, "bo", &code, NOW), None);
        assert_eq!(redeem(&folder, "ana", "wrong", NOW), None);
        assert_eq!(redeem(&folder, "ana", &code, NOW), Some(Recovered { remove_passkeys: true }));
        assert_eq!(redeem(&folder, "ana", &code, NOW), None, "twice");
        let (old, _) = issue(state.path(), "ana", false, NOW.0).unwrap();
        let (new, _) = issue(state.path(), "ana", false, NOW.0).unwrap();
        assert_eq!(redeem(&folder, "ana", &old, NOW), None, "an older one");
        assert_eq!(redeem(&folder, "ana", &new, expires), None, "too late");
        assert_eq!(redeem(&folder, "ana", &new, NOW), None, "it is gone");
        assert!(issue(state.path(), "../ana", false, NOW.0).is_err());
        assert_eq!(redeem(&folder, "../ana", &new, NOW), None);
    }

    #[test]
    fn a_symlink_instead_of_the_folder_is_not_followed() {
        let (state, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(other.path(), folder(state.path())).unwrap();
        assert!(issue(state.path(), "ana", false, NOW.0).is_err());
        assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_others_could_have_written_is_ignored() {
        let state = tempfile::tempdir().unwrap();
        let folder = folder(state.path());
        let (code, _) = issue(state.path(), "ana", false, NOW.0).unwrap();
        let path = folder.join("ana.json");
        for mode in [0o644, 0o620, 0o602] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(redeem(&folder, "ana", &code, NOW), None, "{mode:o}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::rename(&path, state.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(state.path().join("elsewhere"), &path).unwrap();
        assert_eq!(redeem(&folder, "ana", &code, NOW), None, "a link");
    }
}
