//! `kind = "ntfy"`.

use countersign_channels::{ChannelSettings, ntfy};
use serde::Deserialize;
use toml::Table;

use super::fields::{KindResult, absolute, read, timeout};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ntfy {
    url: Option<String>,
    topic: Option<String>,
    token_file: Option<String>,
    hook_url: Option<String>,
    secret_file: Option<String>,
    person: Option<String>,
    #[serde(default)]
    allow_private: bool,
    timeout_seconds: Option<u32>,
}

pub fn settings(table: Table) -> KindResult<ChannelSettings> {
    let section: Ntfy = read(table)?;
    let token_file = section.token_file.map(|file| absolute("token_file", &file)).transpose()?;
    let hook = match (section.hook_url, section.secret_file, section.person) {
        (None, None, None) => None,
        (Some(url), Some(file), Some(person)) => {
            let secret_file = absolute("secret_file", &file)?;
            Some(ntfy::NtfyHook { url, secret_file, person })
        }
        _ => return Err("hook_url, secret_file and person go together".to_owned()),
    };
    let settings = ntfy::NtfySettings {
        url: section.url.unwrap_or_else(|| "https://ntfy.sh".to_owned()),
        topic: section.topic.ok_or("topic is missing")?,
        token_file,
        hook,
        allow_private: section.allow_private,
        timeout: timeout(section.timeout_seconds)?,
    };
    match settings.problem() {
        Some(problem) => Err(problem),
        None => Ok(ChannelSettings::Ntfy(settings)),
    }
}
