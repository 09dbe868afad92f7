//! A file with the definition of each tool of a server when it was first seen, to detect changes.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use countersign_json as json;
use countersign_json::Value;
use countersign_json::canonical::Digest;
use countersign_risk::tools::plain_mcp_name as plain_name;
use countersign_text::sanitize::sanitize_within;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Of a longer definition only the digest is kept.
const MAX_DEFINITION: usize = 64 << 10;
/// How long the lock of a record is waited for, and how often it is tried.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const LOCK_RETRY: Duration = Duration::from_millis(5);
/// The longest file that is read.
const MAX_FILE: u64 = 64 << 20;
/// How many changed fields are listed.
const MAX_FIELDS: usize = 8;
/// How many characters of a field are shown.
const MAX_SHOWN: usize = 240;

/// The record of one server.
#[derive(Debug, Clone)]
pub struct Pins {
    folder: PathBuf,
    name: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct PinFile {
    version: u32,
    /// For people who read the file.
    server: String,
    /// The canonical JSON of each definition, or `sha256:` and its digest.
    pinned: BTreeMap<String, String>,
}

/// A definition compared with the one that was seen first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PinResult {
    /// Unchanged, or seen for the first time.
    Same,
    /// Changed; in which fields.
    Changed(String),
}

impl Pins {
    /// The record of the server with this name and this command or URL.
    pub fn new(folder: &Path, server: &str, reached: &[String]) -> Pins {
        let whole = serde_json::json!([server, reached]).to_string();
        let digest = Digest::of(whole.as_bytes()).to_string();
        let name = format!("{}-{}", plain_name(server), digest.get(..16).unwrap_or_default());
        Pins { folder: folder.join("mcp"), name }
    }

    /// Compares definitions with the record; new ones are added.
    pub fn compare(&self, found: &BTreeMap<String, Value<'_>>) -> io::Result<Vec<PinResult>> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let _lock = self.lock()?;
        let mut kept = self.load()?;
        let mut is_new = false;
        let mut standings = Vec::with_capacity(found.len());
        for (name, definition) in found {
            let now = written(definition);
            standings.push(match kept.pinned.get(name) {
                Some(then) if *then == now => PinResult::Same,
                Some(then) => PinResult::Changed(difference(then, definition)),
                None => {
                    kept.pinned.insert(name.clone(), now);
                    is_new = true;
                    PinResult::Same
                }
            });
        }
        if is_new {
            self.save(&kept)?;
        }
        Ok(standings)
    }

    /// Forgets every server of this name: its next definitions count as first seen. Returns how
    /// many records were removed.
    pub fn forget(folder: &Path, server: &str) -> io::Result<usize> {
        let start = format!("{}-", plain_name(server));
        let mut count = 0;
        for entry in fs::read_dir(folder.join("mcp"))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let rest = name.strip_prefix(&start).and_then(|rest| rest.strip_suffix(".json"));
            let is_digest = |text: &str| text.len() == 16 && !text.contains('-');
            if rest.is_some_and(is_digest) {
                fs::remove_file(entry.path())?;
                count += 1;
            }
        }
        Ok(count)
    }

    fn path(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.name))
    }

    fn lock(&self) -> io::Result<File> {
        let file = open(OpenOptions::new().create(true).truncate(false), &self.path("lock"))?;
        let end = Instant::now() + LOCK_TIMEOUT;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                // Another proxy holds the lock for as long as it takes to write the file.
                Err(Errno::WOULDBLOCK) if Instant::now() < end => thread::sleep(LOCK_RETRY),
                Err(Errno::WOULDBLOCK) => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "another process holds it",
                    ));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn load(&self) -> io::Result<PinFile> {
        let fresh = || PinFile { version: 1, server: self.name.clone(), ..PinFile::default() };
        let file = match File::open(self.path("json")) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(fresh()),
            Err(error) => return Err(error),
        };
        let mut text = String::new();
        file.take(MAX_FILE).read_to_string(&mut text)?;
        let kept: PinFile = serde_json::from_str(&text)?;
        if kept.version == 1 { Ok(kept) } else { Err(io::Error::other("of another version")) }
    }

    /// Replaces the file whole.
    fn save(&self, kept: &PinFile) -> io::Result<()> {
        let new = self.path("new");
        let mut file = open(OpenOptions::new().create(true).truncate(true), &new)?;
        file.write_all(serde_json::to_string_pretty(kept)?.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, self.path("json"))
    }
}

fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.read(true).write(true).mode(0o600).open(path)
}

/// The digest of a definition, equal for every way to write it.
pub fn definition_digest(definition: &Value<'_>) -> Digest {
    Digest::of(written(definition).as_bytes())
}

fn written(definition: &Value<'_>) -> String {
    let text = definition.to_json();
    let canonical = countersign_json::canonical::canonical(definition);
    // What a double cannot hold is told apart by its digits.
    let text = if canonical.exact { text } else { canonical.text };
    if text.len() > MAX_DEFINITION {
        format!("sha256:{}", Digest::of(text.as_bytes()))
    } else {
        text
    }
}

/// In which fields a definition has changed, in words.
fn difference(then: &str, now: &Value<'_>) -> String {
    let Ok(then) = json::parse(then) else {
        return "its definition, which was too long to be kept".to_owned();
    };
    let (Some(before), Some(after)) = (then.as_object(), now.as_object()) else {
        return format!("{} → {}", shown(&then), shown(now));
    };
    let mut told = Vec::new();
    for (key, value) in after {
        match then.get(key) {
            Some(old) if written(old) == written(value) => {}
            Some(old) => {
                told.push(format!("{}: {} → {}", name(key), shown(old), shown(value)));
            }
            None => told.push(format!("{} is new: {}", name(key), shown(value))),
        }
    }
    for (key, old) in before.iter().filter(|(key, _)| now.get(key).is_none()) {
        told.push(format!("{} is gone: {}", name(key), shown(old)));
    }
    let more = told.len().saturating_sub(MAX_FIELDS);
    told.truncate(MAX_FIELDS);
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    told.join("; ")
}

fn name(key: &str) -> String {
    sanitize_within(key, 60).text.into_owned()
}

/// A value for display, with hidden characters made visible.
fn shown(value: &Value<'_>) -> String {
    let text = value.as_str().map_or_else(|| value.to_json(), ToOwned::to_owned);
    let seen = sanitize_within(&text, MAX_SHOWN);
    let hidden = if seen.deceptive { " (it holds hidden or deceptive characters)" } else { "" };
    format!("“{}”{hidden}", seen.text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn tools(text: &'static str) -> BTreeMap<String, Value<'static>> {
        BTreeMap::from([("send".to_owned(), json::parse(text).unwrap())])
    }

    #[test]
    fn a_change_is_detected_in_every_later_run_with_its_fields() {
        let folder = tempfile::tempdir().unwrap();
        let pins = || Pins::new(folder.path(), "mail", &["mail-server".to_owned()]);
        let first = tools(r#"{"name":"send","description":"Sends.","inputSchema":{"a":1}}"#);
        assert_eq!(pins().compare(&first).unwrap(), [PinResult::Same]);
        // Blanks, order and number forms do not count as changes.
        let same = tools(r#"{"description":"Sends.", "inputSchema":{"a":1.0},"name":"send"}"#);
        assert_eq!(pins().compare(&same).unwrap(), [PinResult::Same]);
        let other = tools(r#"{"name":"send","description":"Sends to a\u200bll.","x":2}"#);
        for _ in 0..2 {
            let found = pins().compare(&other).unwrap();
            let [PinResult::Changed(how)] = found.as_slice() else { panic!("{found:?}") };
            assert!(how.contains("description: “Sends.” → “Sends to a"), "{how}");
            assert!(how.contains("hidden"), "{how}");
            assert!(how.contains("x is new: “2”"), "{how}");
            assert!(how.contains("inputSchema is gone"), "{how}");
        }
        // Another command under the same name is another server.
        let moved = Pins::new(folder.path(), "mail", &["elsewhere".to_owned()]);
        assert_eq!(moved.compare(&other).unwrap(), [PinResult::Same]);
        assert_eq!(Pins::forget(folder.path(), "mai").unwrap(), 0);
        assert_eq!(Pins::forget(folder.path(), "mail").unwrap(), 2);
        assert_eq!(pins().compare(&other).unwrap(), [PinResult::Same]);
    }

    #[test]
    fn only_the_owner_can_read_the_record_and_a_broken_one_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let pins = Pins::new(folder.path(), "../etc/x y", &[]);
        let one = tools(r#"{"name":"send"}"#);
        pins.compare(&one).unwrap();
        let path = pins.path("json");
        assert!(path.starts_with(folder.path().join("mcp")), "{path:?}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&path, "{").unwrap();
        assert!(pins.compare(&one).is_err());
    }
}
