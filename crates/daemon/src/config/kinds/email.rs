//! `kind = "email"`.

use countersign_channels::email::{LoginSecret, SmtpLogin};
use countersign_channels::{ChannelSettings, email};
use serde::Deserialize;
use toml::Table;

use super::fields::{KindResult, absolute, read, timeout};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Email {
    server: Option<String>,
    port: Option<u16>,
    tls: Option<String>,
    user: Option<String>,
    password_file: Option<String>,
    oauth2_token_file: Option<String>,
    from: Option<String>,
    to: Option<Vec<String>>,
    #[serde(default)]
    allow_private: bool,
    timeout_seconds: Option<u32>,
}

pub fn settings(table: Table) -> KindResult<ChannelSettings> {
    let section: Email = read(table)?;
    let tls = email::Tls::parse(section.tls.as_deref().unwrap_or("implicit"))
        .ok_or("tls must be implicit, starttls or none")?;
    let secret = match (section.password_file, section.oauth2_token_file) {
        (None, None) => None,
        (Some(file), None) => Some(LoginSecret::Password(absolute("password_file", &file)?)),
        (None, Some(file)) => Some(LoginSecret::OAuth2(absolute("oauth2_token_file", &file)?)),
        (Some(_), Some(_)) => {
            return Err("password_file and oauth2_token_file exclude each other".to_owned());
        }
    };
    let login = match (section.user, secret) {
        (None, None) => None,
        (Some(user), Some(secret)) => Some(SmtpLogin { user, secret }),
        _ => return Err("user and password_file (or oauth2_token_file) go together".to_owned()),
    };
    let settings = email::EmailSettings {
        server: section.server.ok_or("server is missing")?,
        port: section.port.unwrap_or(tls.port()),
        tls,
        login,
        from: section.from.ok_or("from is missing")?,
        to: section.to.ok_or("to is missing: a list such as [\"ana@example.org\"]")?,
        allow_private: section.allow_private,
        timeout: timeout(section.timeout_seconds)?,
    };
    match settings.problem() {
        Some(problem) => Err(problem),
        None => Ok(ChannelSettings::Email(settings)),
    }
}
