//! The file that tells gateways the country and the wording of the crisis card.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use countersign_crisis::Preset;
use countersign_types::CARD_SETTINGS;

use crate::config::DaemonRules;

/// The file. A gateway whose daemon does not answer words its card by it.
#[derive(Debug, Default)]
pub struct PublishedCardSettings {
    file: OnceLock<PathBuf>,
}

impl PublishedCardSettings {
    /// Uses the file in this folder from now on.
    pub(super) fn set_folder(&self, folder: &Path) {
        // The daemon sets it once, at its start.
        let _ = self.file.set(folder.join(CARD_SETTINGS));
    }

    /// Writes the settings, if the file has other ones or was deleted.
    pub(super) fn update(&self, rules: &DaemonRules) {
        let Some(file) = self.file.get() else { return };
        let country = rules.country.as_deref().unwrap_or("-");
        let preset = match rules.preset {
            Preset::Neutral => "neutral",
            Preset::Soul => "soul",
        };
        let text = format!("{country} {preset}\n");
        if fs::symlink_metadata(file).is_ok_and(|found| found.is_file())
            && fs::read_to_string(file).is_ok_and(|found| found == text)
        {
            return;
        }
        if let Err(error) = replace(file, &text) {
            let file = file.display();
            tracing::error!(%file, %error, "the file with the settings of the card is wrong");
        }
    }
}

/// Replaces whatever is at the path: an agent could have put a link or a pipe there.
fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let new = file.with_extension("new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = fs::OpenOptions::new();
    let mut opened = options.write(true).create_new(true).open(&new)?;
    opened.set_permissions(fs::Permissions::from_mode(0o644))?;
    opened.write_all(text.as_bytes())?;
    fs::rename(&new, file)
}
