//! Codex's trust in our hooks: Codex itself reports it, and its configuration stores it.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toml_edit::{DocumentMut, Item, Table, TableLike, value};

use crate::install::hooks::HookLists;
use crate::install::{HookCommand, Patch, PatchError};

/// How long Codex may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// How long it may take to exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// A hook as Codex lists it.
#[derive(Debug)]
pub struct ListedHook {
    /// Its key in Codex's configuration.
    pub key: String,
    /// The hash that would have to be trusted.
    pub hash: String,
    /// Whether Codex trusts it.
    pub trusted: bool,
    /// Whether it is enabled.
    pub enabled: bool,
    command: String,
    source: PathBuf,
}

impl ListedHook {
    fn read(from: &Value) -> Option<ListedHook> {
        let text = |name: &str| from.get(name)?.as_str().map(str::to_owned);
        Some(ListedHook {
            key: text("key")?,
            hash: text("currentHash")?,
            trusted: matches!(text("trustStatus")?.as_str(), "trusted" | "managed"),
            enabled: from.get("enabled")?.as_bool()?,
            command: text("command")?,
            source: PathBuf::from(text("sourcePath")?),
        })
    }

    /// Whether it is exactly a hook that we wrote into this file.
    pub fn is_ours(&self, file: &Path, command: &HookCommand) -> bool {
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let written = [command.gate("codex"), command.notify("codex")];
        real(&self.source) == real(file) && written.contains(&self.command)
    }
}

/// Asks Codex which hooks it loads in a folder.
pub fn list_hooks(program: &Path, home: &Path, folder: &Path) -> Result<Vec<ListedHook>, String> {
    let failed = |why: &str| format!("Codex could not list its hooks: {why}.");
    let mut child = Command::new(program)
        .arg("app-server")
        .env("CODEX_HOME", home)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(&error.to_string()))?;
    let answer = converse(&mut child, folder);
    // It exits when its input is closed.
    drop(child.stdin.take());
    let end = Instant::now() + EXIT_TIMEOUT;
    while matches!(child.try_wait(), Ok(None)) && Instant::now() < end {
        thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let _ = child.wait();
    let answer = answer.map_err(failed)?;
    let data = answer.pointer("/result/data").and_then(Value::as_array);
    let data = data.ok_or_else(|| failed("this version does not support `hooks/list`"))?;
    let hooks = data.iter().filter_map(|one| one.get("hooks")?.as_array()).flatten();
    Ok(hooks.filter_map(ListedHook::read).collect())
}

fn converse(child: &mut Child, folder: &Path) -> Result<Value, &'static str> {
    let output = child.stdout.take().ok_or("it has no output")?;
    let (sender, answers) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    let end = Instant::now() + ANSWER_TIMEOUT;
    let name = json!({ "name": "countersign", "version": env!("CARGO_PKG_VERSION") });
    send(child, &json!({ "id": 1, "method": "initialize", "params": { "clientInfo": name } }))?;
    answer_to(1, &answers, end)?;
    send(child, &json!({ "method": "initialized" }))?;
    let params = json!({ "cwds": [folder] });
    send(child, &json!({ "id": 2, "method": "hooks/list", "params": params }))?;
    answer_to(2, &answers, end)
}

fn send(child: &mut Child, message: &Value) -> Result<(), &'static str> {
    let input = child.stdin.as_mut().ok_or("it has no input")?;
    let line = format!("{message}\n");
    input.write_all(line.as_bytes()).and_then(|()| input.flush()).map_err(|_| "it ended")
}

fn answer_to(id: u64, answers: &Receiver<Value>, end: Instant) -> Result<Value, &'static str> {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        match answers.recv_timeout(left) {
            Ok(answer) if answer.get("id").and_then(Value::as_u64) == Some(id) => {
                return Ok(answer);
            }
            Ok(_) => {}
            Err(mpsc::RecvTimeoutError::Timeout) => return Err("it did not answer in time"),
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err("it ended"),
        }
    }
}

/// The trusted hooks in Codex's configuration.
pub struct HookTrust {
    grant: Vec<(String, String)>,
    revoke: Vec<String>,
}

impl HookTrust {
    /// Adds trust in these hooks.
    pub fn to_grant(hooks: Vec<(String, String)>) -> HookTrust {
        let revoke = hooks.iter().map(|(key, _)| key.clone()).collect();
        HookTrust { grant: hooks, revoke }
    }

    /// Removes the trust in the hooks at these positions of a file.
    pub fn to_revoke(file: &Path, positions: &[(String, usize, usize)]) -> HookTrust {
        HookTrust { grant: Vec::new(), revoke: keys(file, positions) }
    }
}

/// Codex's keys of the hooks at these positions of a file.
fn keys(file: &Path, positions: &[(String, usize, usize)]) -> Vec<String> {
    let real = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let names = |(event, entry, hook): &(String, usize, usize)| {
        let event = snake(event);
        [file, &real].map(|path| format!("{}:{event}:{entry}:{hook}", path.display()))
    };
    let mut keys: Vec<String> = positions.iter().flat_map(names).collect();
    keys.dedup();
    keys
}

fn snake(event: &str) -> String {
    let mut word = String::new();
    for letter in event.chars() {
        if letter.is_ascii_uppercase() && !word.is_empty() {
            word.push('_');
        }
        word.push(letter.to_ascii_lowercase());
    }
    word
}

fn open_toml(text: &str) -> Result<DocumentMut, PatchError> {
    text.parse().map_err(|error: toml_edit::TomlError| PatchError(error.message().to_owned()))
}

fn table_in<'a>(
    table: &'a mut dyn TableLike,
    name: &str,
) -> Result<&'a mut dyn TableLike, PatchError> {
    if !table.contains_key(name) {
        let mut fresh = Table::new();
        // An implicit table gets no header line of its own.
        fresh.set_implicit(true);
        table.insert(name, Item::Table(fresh));
    }
    let item = table.get_mut(name).and_then(Item::as_table_like_mut);
    item.ok_or_else(|| PatchError(format!("`{name}` is not a table")))
}

impl Patch for HookTrust {
    fn apply(&self, text: &str) -> Result<String, PatchError> {
        let mut document = open_toml(text)?;
        let mut changed = false;
        for (key, hash) in &self.grant {
            let hooks = table_in(document.as_table_mut(), "hooks")?;
            let state = table_in(hooks, "state")?;
            let entry = table_in(state, key)?;
            if entry.get("trusted_hash").and_then(Item::as_str) != Some(hash) {
                entry.insert("trusted_hash", value(hash.as_str()));
                changed = true;
            }
            let off = entry.get("enabled").and_then(Item::as_bool) == Some(false);
            if off {
                entry.remove("enabled");
                changed = true;
            }
        }
        Ok(if changed { document.to_string() } else { text.to_owned() })
    }

    fn remove(&self, text: &str) -> Result<String, PatchError> {
        let mut document = open_toml(text)?;
        let mut changed = false;
        let top = document.as_table_mut();
        if let Some(hooks) = top.get_mut("hooks").and_then(Item::as_table_like_mut) {
            if let Some(state) = hooks.get_mut("state").and_then(Item::as_table_like_mut) {
                for key in &self.revoke {
                    changed |= state.remove(key).is_some();
                }
                if changed && state.is_empty() {
                    hooks.remove("state");
                }
            }
            if changed && hooks.is_empty() {
                top.remove("hooks");
            }
        }
        Ok(if changed { document.to_string() } else { text.to_owned() })
    }

    fn is_blank(&self, text: &str) -> bool {
        text.trim().is_empty()
    }
}

/// If Codex is not installed: whether its configuration trusts a hook at our positions.
pub fn faults_in_config(config: &Path, file: &Path, lists: &HookLists) -> Vec<String> {
    let text = fs::read_to_string(config).unwrap_or_default();
    let positions = fs::read_to_string(file).ok().and_then(|text| lists.positions(&text).ok());
    let trusted = open_toml(&text).is_ok_and(|document| {
        let state = document.get("hooks").and_then(|hooks| hooks.get("state"));
        let known = |key: &String| {
            state.and_then(|state| state.get(key)?.get("trusted_hash")?.as_str()).is_some()
        };
        let positions = positions.unwrap_or_default();
        let before = positions.iter().filter(|(event, ..)| event == "PreToolUse");
        let mut keys = before.flat_map(|place| keys(file, std::slice::from_ref(place)));
        keys.any(|key| known(&key))
    });
    if trusted { Vec::new() } else { vec!["Codex does not trust the hook".to_owned()] }
}
