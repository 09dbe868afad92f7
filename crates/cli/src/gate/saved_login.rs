//! The token of `countersign login`, in a private file. It is used only in a terminal: programs
//! without one, such as most shells of agents, must name a token themselves.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use countersign_client::{Endpoint, LoginToken, PeopleClient};
use countersign_daemon::config::Paths;
use serde::{Deserialize, Serialize};

use super::reach::ProcessEnvironment;
use crate::failure::Failure;

/// The file in the state folder.
const FILE: &str = "login.token";

/// A login that was saved.
#[derive(Serialize, Deserialize)]
pub struct SavedLogin {
    /// The people API that the token is for.
    pub people: String,
    /// The person.
    pub person: String,
    /// When the token expires at the latest.
    pub expires: String,
    token: String,
}

/// Where the login is saved.
pub fn file() -> PathBuf {
    Paths::from_environment(&ProcessEnvironment).state.join(FILE)
}

/// Saves a login for the later commands of this person.
pub fn save(endpoint: &Endpoint, login: &LoginToken) -> Result<PathBuf, Failure> {
    let file = file();
    let saved = SavedLogin {
        people: endpoint.to_string(),
        person: login.person.clone(),
        expires: login.expires.to_string(),
        token: login.token.clone(),
    };
    let written =
        serde_json::to_vec(&saved).map_err(Into::into).and_then(|text| write_private(&file, &text));
    written.map_err(|error: std::io::Error| Failure::at(&file.display().to_string(), error))?;
    Ok(file)
}

/// The saved login for this address and person, if there is one and this is a terminal.
pub fn client(endpoint: &Endpoint, person: Option<&str>) -> Option<PeopleClient> {
    let saved = read(&file())?;
    let fits =
        saved.people == endpoint.to_string() && person.is_none_or(|person| person == saved.person);
    if !fits || !has_terminal() {
        return None;
    }
    let client = PeopleClient::new(endpoint.clone(), saved.token);
    // A session ends when it is idle, so a saved token is asked for first.
    client.me().is_ok().then_some(client)
}

/// The saved login, whoever it is for.
pub fn saved() -> Option<SavedLogin> {
    read(&file())
}

/// Ends the saved login and removes its file. Returns the person.
pub fn end(endpoint: &Endpoint) -> Result<Option<String>, Failure> {
    let file = file();
    let Some(saved) = read(&file) else { return Ok(None) };
    if saved.people == endpoint.to_string() {
        // It expires by itself if the daemon is not reached.
        let _ = PeopleClient::new(endpoint.clone(), saved.token).logout();
    }
    fs::remove_file(&file).map_err(|error| Failure::at(&file.display().to_string(), error))?;
    Ok(Some(saved.person))
}

/// Whether the process has a terminal of its own, whatever its standard input is.
fn has_terminal() -> bool {
    OpenOptions::new().read(true).write(true).open("/dev/tty").is_ok()
}

/// A file that other users can read or change says nothing.
fn read(file: &Path) -> Option<SavedLogin> {
    let about = fs::symlink_metadata(file).ok()?;
    let is_private = about.is_file() && about.mode().trailing_zeros() >= 6;
    let text = fs::read_to_string(file).ok().filter(|_| is_private)?;
    serde_json::from_str(&text).ok()
}

fn write_private(file: &Path, text: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let draft = file.with_extension("draft");
    // A draft of a command that was interrupted may be left; a link there is not followed.
    let _ = fs::remove_file(&draft);
    let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    out.write_all(text)?;
    fs::rename(&draft, file)
}
