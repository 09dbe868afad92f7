//! Whether everything is frozen, by the file that the daemon keeps for gateways.

use std::path::Path;

use countersign_types::{FREEZE_MARKER, SYSTEM_RUNTIME_FOLDER};

/// Whether everything is frozen. A daemon of this user keeps the file in the folder of the
/// gateways, a system service in its own folder, where agents cannot remove it.
pub fn is_frozen(gateways: &Path) -> bool {
    let folders = [gateways, Path::new(SYSTEM_RUNTIME_FOLDER)];
    folders.iter().any(|folder| folder.join(FREEZE_MARKER).exists())
}
