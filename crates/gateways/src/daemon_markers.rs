//! What the daemon tells gateways by files: whether it decides about every call, and the settings
//! of the crisis card.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use countersign_crisis::{self as crisis, Preset, ScreenOptions};
use countersign_facts::has_project_file;
use countersign_types::{CARD_SETTINGS, FREEZE_MARKER, POLICY_MARKER, SYSTEM_RUNTIME_FOLDER};
use rustix::fs::{Mode, OFlags, open};

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

/// A settings file is far shorter.
const MAX_SETTINGS: u64 = 256;

/// How the card is worded while the daemon does not answer: the country and the preset that the
/// daemon wrote into a file. An agent of the same user can change that file; it can choose another
/// country of our own list, and nothing else.
pub fn card_options(gateways: &Path) -> ScreenOptions<'static> {
    let folders = [Path::new(SYSTEM_RUNTIME_FOLDER), gateways];
    let text = folders.iter().find_map(|folder| read_settings(&folder.join(CARD_SETTINGS)));
    let text = text.unwrap_or_default();
    let mut words = text.split_ascii_whitespace();
    let country = words.next().and_then(crisis::country).map(|country| country.code);
    let preset = if words.next() == Some("soul") { Preset::Soul } else { Preset::Neutral };
    ScreenOptions { country, preset, ..ScreenOptions::default() }
}

/// The text of a regular file. A pipe in its place must not delay the card.
fn read_settings(file: &Path) -> Option<String> {
    let opened = open(file, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty());
    let opened = File::from(opened.ok()?);
    let mut text = String::new();
    let is_file = opened.metadata().is_ok_and(|found| found.is_file());
    let read = is_file.then(|| opened.take(MAX_SETTINGS).read_to_string(&mut text))?;
    read.is_ok().then_some(text)
}

#[cfg(test)]
mod tests {
    use countersign_types::PROJECT_FILE;

    use super::*;

    #[test]
    fn the_card_has_the_country_and_the_wording_that_the_daemon_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let options = |text: Option<&str>| {
            if let Some(text) = text {
                std::fs::write(folder.path().join(CARD_SETTINGS), text).unwrap();
            }
            let found = card_options(folder.path());
            (found.country, found.preset)
        };
        assert_eq!(options(None), (None, Preset::Neutral));
        assert_eq!(options(Some("DE neutral\n")), (Some("DE"), Preset::Neutral));
        assert_eq!(options(Some("- soul\n")), (None, Preset::Soul));
        assert_eq!(options(Some("XX other\n")), (None, Preset::Neutral));
        assert_eq!(options(Some(&"DE ".repeat(1000))), (Some("DE"), Preset::Neutral));
    }

    #[test]
    fn a_pipe_in_the_place_of_the_settings_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join(CARD_SETTINGS);
        let made = std::process::Command::new("mkfifo").arg(pipe).status().unwrap();
        assert!(made.success());
        assert_eq!(card_options(folder.path()).country, None);
    }

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
