//! Whether the daemon decides about every call, by the files that it keeps for gateways.

use std::path::Path;

use countersign_facts::has_project_file;
use countersign_types::{FREEZE_MARKER, POLICY_MARKER, SYSTEM_RUNTIME_FOLDER};

/// Whether the daemon has to be asked about every call: everything is frozen, or policy rules may
/// deny a call that only reads. A daemon of this user keeps the files in the folder of the
/// gateways, a system service in its own folder, where agents cannot remove them. The rules of a
/// project may deny a call that only reads as well.
pub fn asks_about_every_call(gateways: &Path, cwd: Option<&str>, project: Option<&str>) -> bool {
    let folders = [gateways, Path::new(SYSTEM_RUNTIME_FOLDER)];
    let exists = |folder: &&Path| {
        [FREEZE_MARKER, POLICY_MARKER].iter().any(|marker| folder.join(marker).exists())
    };
    folders.iter().any(exists) || has_project_file(cwd.map(Path::new), project.map(Path::new))
}

#[cfg(test)]
mod tests {
    use countersign_types::PROJECT_FILE;

    use super::*;

    #[test]
    fn each_marker_makes_gateways_ask() {
        for marker in [FREEZE_MARKER, POLICY_MARKER] {
            let folder = tempfile::tempdir().unwrap();
            assert!(!asks_about_every_call(folder.path(), None, None));
            std::fs::write(folder.path().join(marker), "").unwrap();
            assert!(asks_about_every_call(folder.path(), None, None), "{marker}");
        }
    }

    #[test]
    fn the_rules_of_a_project_make_gateways_ask() {
        let (gateways, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let below = project.path().join("src");
        std::fs::create_dir(&below).unwrap();
        let asks = |cwd, project| asks_about_every_call(gateways.path(), cwd, project);
        let (below, root) = (below.to_str(), project.path().to_str());
        assert!(!asks(below, root));
        std::fs::write(project.path().join(PROJECT_FILE), "").unwrap();
        assert!(asks(below, None) && asks(None, root) && asks(Some("/"), root));
        assert!(!asks(Some("/"), None));
    }
}
