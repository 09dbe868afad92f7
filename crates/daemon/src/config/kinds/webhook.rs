//! `kind = "webhook"`.

use countersign_channels::{Settings, webhook};
use serde::Deserialize;
use toml::Table;

use super::{Meant, absolute, read, timeout};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Webhook {
    url: Option<String>,
    secret_file: Option<String>,
    #[serde(default)]
    allow_private: bool,
    timeout_seconds: Option<u32>,
}

pub fn settings(table: Table) -> Meant<Settings> {
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
