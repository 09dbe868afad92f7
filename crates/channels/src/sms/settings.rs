//! The settings of an SMS channel.

use std::path::PathBuf;
use std::time::Duration;

use countersign_net::HttpUrl;

/// What an operator configures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmsSettings {
    /// The account's id (`AC…`).
    pub account: String,
    /// The file of its token, which also signs what Twilio sends us.
    pub token_file: PathBuf,
    /// Our number, or a messaging service (`MG…`).
    pub from: String,
    /// The number that gets the messages.
    pub to: String,
    /// The base URL of the API.
    pub base_url: String,
    /// Our hook, exactly as configured at Twilio; without it people cannot answer.
    pub hook_url: Option<String>,
    /// Whether this machine and private networks may be reached.
    pub allow_private: bool,
    /// How long one attempt may take.
    pub timeout: Duration,
}

impl SmsSettings {
    /// What is wrong with the settings, if anything.
    pub fn problem(&self) -> Option<String> {
        let name = |text: &str, begin: &str| {
            let rest = text.strip_prefix(begin);
            rest.is_some_and(|rest| {
                rest.len() == 32 && rest.bytes().all(|byte| byte.is_ascii_hexdigit())
            })
        };
        if !name(&self.account, "AC") {
            return Some("account: must be AC followed by 32 hexadecimal digits".to_owned());
        }
        if !is_number(&self.from) && !name(&self.from, "MG") {
            return Some(
                "from: must be a number such as +15551234567, or a service MG…".to_owned(),
            );
        }
        if !is_number(&self.to) {
            return Some("to: must be a number such as +15551234567".to_owned());
        }
        let urls = [("base_url", Some(&self.base_url)), ("hook_url", self.hook_url.as_ref())];
        urls.into_iter().find_map(|(field, url)| {
            HttpUrl::parse(url?).err().map(|problem| format!("{field}: {problem}"))
        })
    }
}

/// Whether this is a phone number in E.164 format.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or_default();
    (7..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}
