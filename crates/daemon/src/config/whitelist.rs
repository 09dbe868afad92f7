//! The whitelist file of the predecessor format. Any error rejects the whole file.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use countersign_json as json;
use countersign_json::Value;
use countersign_json::canonical::Digest;
use countersign_types::id::Id;
use countersign_types::time::Timestamp;
use countersign_workflow::grant::GrantShape;

/// The maximum size of the file, and of its content.
const MAX_FILE_BYTES: u64 = 1 << 20;
const ENTRIES: usize = 1_000;
const TARGETS: usize = 1_000;
const LONGEST_NAME: usize = 200;
const LONGEST_TARGET: usize = 320;

/// The whitelist: what its file lists, and what of it waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whitelist {
    /// The file.
    pub file: Option<PathBuf>,
    /// What it lists, or the default without a file.
    pub listed: Vec<WhitelistEntry>,
    /// Whether the file was rejected, so that it lists nothing.
    pub is_refused: bool,
    /// The keys of what waits for a person.
    pub held: BTreeSet<String>,
}

impl Whitelist {
    /// Reads the file. A file that is not private or not valid permits nothing, and the log says
    /// why.
    pub fn load(file: Option<PathBuf>) -> Whitelist {
        let (listed, is_refused) = match file.as_deref().map(read) {
            None => (defaults(), false),
            Some(Ok(listed)) => (listed, false),
            Some(Err(error)) => {
                let file = file.as_ref().map(|file| file.display().to_string());
                tracing::error!(
                    file,
                    %error,
                    "the whitelist file was rejected: none of its grants is active"
                );
                (Vec::new(), true)
            }
        };
        Whitelist { file, listed, is_refused, held: BTreeSet::new() }
    }
}

/// Why the file was rejected.
#[derive(Debug, thiserror::Error)]
pub enum WhitelistError {
    /// The file does not exist or cannot be read.
    #[error("could not read the file: {0}")]
    Unreadable(#[from] io::Error),
    /// The path is not a regular file.
    #[error("the path is not a regular file")]
    NoFile,
    /// Another user can change the file.
    #[error("other users can change the file: run `chmod go-w` and `chown` on it")]
    Exposed,
    /// The file is too large.
    #[error("the file is larger than {MAX_FILE_BYTES} bytes")]
    TooLong,
    /// The content is not a valid whitelist.
    #[error("{0}")]
    Shape(String),
}

/// One grant of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhitelistEntry {
    /// The action, which is the tool's name.
    pub action: String,
    /// The calls that it covers.
    pub shape: GrantShape,
}

impl WhitelistEntry {
    /// The same content always gives the same id, so that a revoked grant does not become active
    /// again at the next start.
    pub fn id(&self) -> Id {
        let digest = Digest::of(format!("whitelist\n{:?}", self.shape).as_bytes());
        let mut bytes = [0; 10];
        for (place, byte) in bytes.iter_mut().zip(digest.as_bytes()) {
            *place = *byte;
        }
        Id::new(Timestamp(0), bytes)
    }
}

/// The default without a file: e-mail to oneself, by confirmed addresses.
fn defaults() -> Vec<WhitelistEntry> {
    let action = "send_email".to_owned();
    vec![WhitelistEntry { shape: GrantShape::ToSelf { tool: action.clone() }, action }]
}

/// Reads the file.
fn read(path: &Path) -> Result<Vec<WhitelistEntry>, WhitelistError> {
    // Opening a named pipe must not block.
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    check_owner(&file)?;
    let mut text = String::new();
    let read = file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    if u64::try_from(read).is_ok_and(|read| read > MAX_FILE_BYTES) {
        return Err(WhitelistError::TooLong);
    }
    parse(&text).map_err(WhitelistError::Shape)
}

/// Checks the open file, because the path may refer to another file by now.
fn check_owner(file: &File) -> Result<(), WhitelistError> {
    let facts = file.metadata()?;
    if !facts.is_file() {
        return Err(WhitelistError::NoFile);
    }
    let ours = [0, rustix::process::geteuid().as_raw()].contains(&facts.uid());
    if !ours || facts.mode() & 0o022 != 0 {
        return Err(WhitelistError::Exposed);
    }
    Ok(())
}

fn parse(text: &str) -> Result<Vec<WhitelistEntry>, String> {
    let value = json::parse(text).map_err(|error| error.to_string())?;
    let actions = value.as_object().ok_or("it must be an object")?;
    if actions.len() > ENTRIES {
        return Err(format!("it names more than {ENTRIES} actions"));
    }
    let mut listed = Vec::new();
    for (action, says) in actions {
        let wrong = |what: &str| format!("`{}`: {what}", shown(action));
        if action.is_empty() || action.len() > LONGEST_NAME {
            return Err(wrong("an action has 1 to 200 bytes"));
        }
        let members = says.as_object().ok_or_else(|| wrong("it must be an object"))?;
        for (member, value) in members {
            let tool = action.to_string();
            let shape = match &**member {
                "targets" => {
                    let listed = targets(value);
                    let targets = listed.ok_or_else(|| wrong("`targets` is no list of texts"))?;
                    (!targets.is_empty()).then_some(GrantShape::Targets { tool, targets })
                }
                "self_only" => value
                    .as_bool()
                    .ok_or_else(|| wrong("`self_only` must be true or false"))?
                    .then_some(GrantShape::ToSelf { tool }),
                other => return Err(wrong(&format!("there is no `{}`", shown(other)))),
            };
            listed.extend(shape.map(|shape| WhitelistEntry { action: action.to_string(), shape }));
        }
    }
    Ok(listed)
}

fn targets(value: &Value<'_>) -> Option<Vec<String>> {
    let list = value.as_array().filter(|list| list.len() <= TARGETS)?;
    let fits = |text: &&str| (1..=LONGEST_TARGET).contains(&text.len());
    list.iter().map(|text| text.as_str().filter(fits).map(ToOwned::to_owned)).collect()
}

fn shown(text: &str) -> String {
    countersign_text::sanitize::sanitize_within(text, 60).text.into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_whitelist_format_is_read() {
        let text = r#"{"send_email":{"targets":["a@x.org"],"self_only":true},
                       "send_message":{"targets":[]},"post":{"self_only":false}}"#;
        let listed = parse(text).unwrap();
        let tool = "send_email".to_owned();
        let targets = vec!["a@x.org".to_owned()];
        assert_eq!(listed[0].shape, GrantShape::Targets { tool: tool.clone(), targets });
        assert_eq!(listed[1].shape, GrantShape::ToSelf { tool });
        assert_eq!(listed.len(), 2);
        assert_ne!(listed[0].id(), listed[1].id());
        assert_eq!(listed[0].id(), parse(text).unwrap()[0].id());
    }

    #[test]
    fn an_invalid_whitelist_is_rejected_whole() {
        for text in [
            "",
            "[]",
            "null",
            r#"{"a":[]}"#,
            r#"{"a":{"target":["x"]}}"#,
            r#"{"a":{"targets":"x"}}"#,
            r#"{"a":{"targets":[1]}}"#,
            r#"{"a":{"targets":[""]}}"#,
            r#"{"a":{"targets":null}}"#,
            r#"{"a":{"self_only":"true"}}"#,
            r#"{"a":{"self_only":1}}"#,
            r#"{"a":{},"a":{"self_only":true}}"#,
            r#"{"":{"self_only":true}}"#,
            r#"{"a":{"self_only":true}} x"#,
            r#"{"good":{"self_only":true},"bad":{"always":true}}"#,
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_file_that_others_can_change_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.json");
        assert!(matches!(read(&path), Err(WhitelistError::Unreadable(_))));
        fs::write(&path, r#"{"a":{"self_only":true}}"#).unwrap();
        for (mode, good) in [(0o600, true), (0o644, true), (0o664, false), (0o602, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(read(&path).is_ok(), good, "{mode:o}");
        }
        assert!(matches!(read(folder.path()), Err(WhitelistError::NoFile)));
    }
}
