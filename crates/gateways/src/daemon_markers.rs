//! Whether the daemon decides about every call, by the files that it keeps for gateways.

use std::path::Path;

use countersign_types::{FREEZE_MARKER, POLICY_MARKER, SYSTEM_RUNTIME_FOLDER};

/// Whether the daemon has to be asked about every call: everything is frozen, or policy rules may
/// deny a call that only reads. A daemon of this user keeps the files in the folder of the
/// gateways, a system service in its own folder, where agents cannot remove them.
pub fn asks_about_every_call(gateways: &Path) -> bool {
    let folders = [gateways, Path::new(SYSTEM_RUNTIME_FOLDER)];
    let exists = |folder: &&Path| {
        [FREEZE_MARKER, POLICY_MARKER].iter().any(|marker| folder.join(marker).exists())
    };
    folders.iter().any(exists)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_marker_makes_gateways_ask() {
        for marker in [FREEZE_MARKER, POLICY_MARKER] {
            let folder = tempfile::tempdir().unwrap();
            assert!(!asks_about_every_call(folder.path()));
            std::fs::write(folder.path().join(marker), "").unwrap();
            assert!(asks_about_every_call(folder.path()), "{marker}");
        }
    }
}
