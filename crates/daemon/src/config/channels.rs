//! `[channels.NAME]`: each kind with its own fields, refused with what is wrong.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_channels::{Limits, Settings, command, desktop, webhook};
use countersign_core::tier::Tier;
use serde::Deserialize;
use toml::{Table, Value};

use super::{ConfigError, SetUp};

/// The channels that need no setting up.
const BUILT_IN: [(&str, &str); 2] = [("terminal", "terminal"), ("desktop", "desktop")];
const KINDS: &str = "webhook, desktop, terminal or command";
const LONGEST_NAME: usize = 40;
const MOST_PER_MINUTE: u32 = 6_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Webhook {
    url: Option<String>,
    secret_file: Option<String>,
    #[serde(default)]
    allow_private: bool,
    timeout_seconds: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    program: Option<Vec<String>>,
    timeout_seconds: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Desktop {
    program: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Terminal {}

/// What is wrong with a channel.
type Meant<T> = Result<T, String>;

/// All channels: those that were written, and those that need no setting up.
pub fn channels(written: &BTreeMap<String, Table>) -> Result<BTreeMap<String, SetUp>, ConfigError> {
    let mut channels = BTreeMap::new();
    for (name, kind) in BUILT_IN {
        let mut table = Table::new();
        table.insert("kind".to_owned(), Value::String(kind.to_owned()));
        channels
            .insert(name.to_owned(), channel(name, table).map_err(|problem| wrong(name, problem))?);
    }
    for (name, table) in written {
        let set_up = channel(name, table.clone()).map_err(|problem| wrong(name, problem))?;
        channels.insert(name.clone(), set_up);
    }
    Ok(channels)
}

fn wrong(name: &str, problem: String) -> ConfigError {
    ConfigError::Channel { name: name.to_owned(), problem }
}

fn channel(name: &str, mut table: Table) -> Meant<SetUp> {
    let plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(plain) {
        return Err(format!("a name has at most {LONGEST_NAME} of a-z, 0-9, - and _"));
    }
    let Some(Value::String(kind)) = table.remove("kind") else {
        return Err(format!("kind must be {KINDS}"));
    };
    if BUILT_IN.iter().any(|(known, own)| *known == name && *own != kind) {
        return Err(format!("this name is kept for the kind {name}; take another one"));
    }
    let limits = limits(&kind, &mut table)?;
    let settings = settings(&kind, table)?;
    // What cannot be opened now would ask nobody later.
    settings.open(name, limits).map_err(|error| error.problem)?;
    Ok(SetUp { settings, limits })
}

fn limits(kind: &str, table: &mut Table) -> Meant<Limits> {
    let mut limits = Settings::usual(kind);
    if let Some(value) = table.remove("most") {
        let tier = value.as_str().and_then(Tier::parse);
        limits.most = tier.ok_or("most must be a tier such as HIGH")?;
    }
    if let Some(value) = table.remove("approves") {
        let tier = value.as_str().and_then(Tier::parse).filter(|tier| *tier < Tier::Critical);
        limits.approves = tier.ok_or("approves must be SAFE, LOW, MEDIUM or HIGH")?;
    }
    if let Some(value) = table.remove("details") {
        limits.details = value.as_bool().ok_or("details must be true or false")?;
    }
    if let Some(value) = table.remove("per_minute") {
        let number = value.as_integer().and_then(|number| u32::try_from(number).ok());
        limits.per_minute = number
            .filter(|number| (1..=MOST_PER_MINUTE).contains(number))
            .ok_or_else(|| format!("per_minute must be between 1 and {MOST_PER_MINUTE}"))?;
    }
    Ok(limits)
}

fn settings(kind: &str, table: Table) -> Meant<Settings> {
    match kind {
        "webhook" => {
            let written: Webhook = read(table)?;
            let url = written.url.ok_or("url is missing")?;
            let file = written.secret_file.ok_or("secret_file is missing")?;
            let settings = webhook::Settings {
                url,
                secret_file: absolute("secret_file", &file)?,
                allow_private: written.allow_private,
                timeout: timeout(written.timeout_seconds)?,
            };
            match settings.url_problem() {
                Some(problem) => Err(format!("url: {problem}")),
                None => Ok(Settings::Webhook(settings)),
            }
        }
        "command" => {
            let written: Command = read(table)?;
            let mut words = written.program.unwrap_or_default().into_iter();
            let program =
                words.next().ok_or("program is missing: a list such as [\"/bin/page\"]")?;
            absolute("program", &program)?;
            let timeout = timeout(written.timeout_seconds)?;
            Ok(Settings::Command(command::Settings {
                program,
                arguments: words.collect(),
                timeout,
            }))
        }
        "desktop" => {
            let written: Desktop = read(table)?;
            let usual = desktop::Settings::default();
            if let Some(program) = &written.program {
                absolute("program", program)?;
            }
            let program = written.program.unwrap_or(usual.program);
            Ok(Settings::Desktop(desktop::Settings { program }))
        }
        "terminal" => read::<Terminal>(table).map(|Terminal {}| Settings::Terminal),
        other => Err(format!("there is no kind `{other}`: it must be {KINDS}")),
    }
}

fn read<T: serde::de::DeserializeOwned>(table: Table) -> Meant<T> {
    table.try_into().map_err(|error: toml::de::Error| error.message().to_owned())
}

fn absolute(field: &str, path: &str) -> Meant<PathBuf> {
    let place = Path::new(path);
    if place.is_absolute() {
        Ok(place.to_owned())
    } else {
        Err(format!("{field}: `{path}` is no absolute path"))
    }
}

fn timeout(written: Option<u32>) -> Meant<Duration> {
    let seconds = written.unwrap_or(10);
    if (1..=60).contains(&seconds) {
        Ok(Duration::from_secs(seconds.into()))
    } else {
        Err(format!("timeout_seconds: {seconds} is not between 1 and 60"))
    }
}
