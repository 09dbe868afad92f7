//! The guard model, from the section `[guard]`. It is off unless a family is named.

use std::time::Duration;

use countersign_channels::secret::Token;
use countersign_guard::{GuardFamily, GuardSettings};
use countersign_net::HttpUrl;

use super::check::{invalid, number};
use super::error::ConfigError;
use super::file::GuardSection;
use super::sections::absolute;

/// The longest replacement in bytes.
const MAX_REPLACEMENT: usize = 4_000;

pub fn guard(section: &GuardSection) -> Result<Option<GuardSettings>, ConfigError> {
    let Some(name) = section.family.as_deref() else {
        let is_set = section.url.is_some() || section.model.is_some();
        if is_set || section.api_key_file.is_some() {
            return Err(invalid("guard.family", "it is missing: name the family of the model"));
        }
        return Ok(None);
    };
    let Some(family) = GuardFamily::from_name(name) else {
        let names = "llama_guard, qwen3_guard or openai_moderation";
        return Err(invalid("guard.family", format!("`{name}` is not {names}")));
    };
    let (url, model) = defaults(family);
    let url = section.url.as_deref().or(url);
    let url = url.ok_or_else(|| invalid("guard.url", "it is missing for this family"))?;
    let url = HttpUrl::parse(url).map_err(|problem| invalid("guard.url", problem))?;
    let allow_private = section.allow_private.unwrap_or(true);
    if !url.is_https() && !allow_private {
        return Err(invalid("guard.url", "texts go to other machines only over https"));
    }
    let model = section.model.as_deref().or(model).filter(|model| !model.trim().is_empty());
    let model = model.ok_or_else(|| invalid("guard.model", "it is missing for this family"))?;
    let replacement = section.replacement.as_deref().unwrap_or(GuardSettings::REPLACEMENT);
    if replacement.trim().is_empty() || replacement.len() > MAX_REPLACEMENT {
        let problem = format!("it must have 1 to {MAX_REPLACEMENT} bytes");
        return Err(invalid("guard.replacement", problem));
    }
    let timeout = number("guard.timeout_ms", section.timeout_ms, 2_000, 50..=60_000)?;
    let load = number("guard.load_seconds", section.load_seconds, 120, 1..=3_600)?;
    let concurrent = number("guard.concurrent", section.concurrent, 2, 1..=64)?;
    Ok(Some(GuardSettings {
        family,
        url,
        model: model.to_owned(),
        api_key: section.api_key_file.as_deref().map(api_key).transpose()?,
        allow_private,
        timeout: Duration::from_millis(timeout.into()),
        load_timeout: Duration::from_secs(load.into()),
        concurrent: concurrent as usize,
        replacement: replacement.to_owned(),
    }))
}

/// The usual address and model of a family.
const fn defaults(family: GuardFamily) -> (Option<&'static str>, Option<&'static str>) {
    const OLLAMA: &str = "http://127.0.0.1:11434";
    match family {
        GuardFamily::LlamaGuard => (Some(OLLAMA), Some("llama-guard3:8b")),
        GuardFamily::Qwen3Guard => (Some(OLLAMA), None),
        GuardFamily::OpenaiModeration => (None, Some("omni-moderation-latest")),
    }
}

fn api_key(file: &str) -> Result<String, ConfigError> {
    let path = absolute("guard.api_key_file", file)?;
    let key = Token::read(&path);
    let key = key.map_err(|error| invalid("guard.api_key_file", error.to_string()))?;
    Ok(key.expose().to_owned())
}
