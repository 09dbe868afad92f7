//! The section `[judge]`: which model gives a second opinion, and what it may do.

use std::time::Duration;

use countersign_judge::{BudgetLimits, DEFAULT_POLICY, MAX_POLICY, ReleaseBar};
use countersign_judge_client::{ModelApi, ModelSettings};
use countersign_net::HttpUrl;

use super::check::{invalid, number};
use super::error::ConfigError;
use super::file::JudgeSection;
use super::judge_config::{JudgeConfig, JudgeMode, KeySource};
use super::sections::{absolute, to_hundredths};

/// The longest policy file that is read, in bytes.
const MAX_FILE: u64 = MAX_POLICY as u64;

/// Checks the section.
pub fn judge(section: &JudgeSection) -> Result<JudgeConfig, ConfigError> {
    let mode = match section.mode.as_deref() {
        None | Some("shadow") => JudgeMode::Shadow,
        Some("release") => JudgeMode::Release,
        Some(other) => {
            return Err(invalid("judge.mode", format!("`{other}` is not shadow or release")));
        }
    };
    let price = |field, value: Option<f64>| match value {
        None => Ok(0.0),
        Some(value) if (0.0..=10_000.0).contains(&value) => Ok(value),
        Some(value) => Err(invalid(field, format!("{value} is not between 0 and 10000"))),
    };
    let requests = section.requests_per_hour;
    let tokens = section.tokens_per_day;
    Ok(JudgeConfig {
        mode,
        settings: settings(section)?,
        key: key(section)?,
        policy: policy(section)?,
        budget: BudgetLimits {
            requests_per_hour: number("judge.requests_per_hour", requests, 600, 1..=100_000)?,
            tokens_per_day: number("judge.tokens_per_day", tokens, 2_000_000, 1_000..=u32::MAX)?
                .into(),
        },
        bar: bar(section)?,
        sample_percent: number("judge.sample_percent", section.sample_percent, 5, 1..=100)?,
        prices: (
            price("judge.input_price", section.input_price)?,
            price("judge.output_price", section.output_price)?,
        ),
    })
}

fn settings(section: &JudgeSection) -> Result<ModelSettings, ConfigError> {
    let api = section.api.as_deref().unwrap_or("openai");
    let api = ModelApi::parse(api)
        .ok_or_else(|| invalid("judge.api", format!("`{api}` is not openai or anthropic")))?;
    let required = |field, value: &Option<String>| {
        let text = value.as_deref().map(str::trim).filter(|text| !text.is_empty());
        text.map(str::to_owned).ok_or_else(|| invalid(field, "is required"))
    };
    let url = required("judge.endpoint", &section.endpoint)?;
    let endpoint = HttpUrl::parse(&url).map_err(|problem| invalid("judge.endpoint", problem))?;
    let allow_private = section.allow_private.unwrap_or(false);
    if !endpoint.is_https() && !allow_private {
        let problem = "the calls would be sent unencrypted: use https://, or set allow_private for \
                       a model on this machine";
        return Err(invalid("judge.endpoint", problem));
    }
    let model = required("judge.model", &section.model)?;
    if model.len() > 120 || !model.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(invalid("judge.model", "must be a name of at most 120 characters"));
    }
    let deadline = number("judge.deadline_seconds", section.deadline_seconds, 5, 1..=30)?;
    let concurrency = number("judge.concurrency", section.concurrency, 4, 1..=64)?;
    Ok(ModelSettings {
        api,
        endpoint,
        model,
        deadline: Duration::from_secs(deadline.into()),
        max_tokens: number("judge.max_tokens", section.max_tokens, 200, 100..=4_000)?,
        json_schema: section.json_schema.unwrap_or(true),
        allow_private,
        concurrency: usize::try_from(concurrency).unwrap_or(1),
    })
}

fn key(section: &JudgeSection) -> Result<KeySource, ConfigError> {
    match (&section.key_file, &section.key_env) {
        (None, None) => Ok(KeySource::None),
        (Some(file), None) => absolute("judge.key_file", file).map(KeySource::File),
        (None, Some(name)) => Ok(KeySource::Environment(name.clone())),
        (Some(_), Some(_)) => Err(invalid("judge.key_file", "set key_file or key_env, not both")),
    }
}

/// The policy text: in the section, in a file, or ours.
fn policy(section: &JudgeSection) -> Result<String, ConfigError> {
    let text = match (&section.policy, &section.policy_file) {
        (None, None) => return Ok(DEFAULT_POLICY.to_owned()),
        (Some(text), None) => text.clone(),
        (None, Some(file)) => {
            let path = absolute("judge.policy_file", file)?;
            let unreadable = |error: std::io::Error| {
                invalid("judge.policy_file", format!("could not read {file}: {error}"))
            };
            let length = std::fs::metadata(&path).map_err(unreadable)?.len();
            if length > MAX_FILE {
                return Err(invalid("judge.policy_file", format!("{file} is too long")));
            }
            std::fs::read_to_string(&path).map_err(unreadable)?
        }
        (Some(_), Some(_)) => {
            return Err(invalid("judge.policy_file", "set policy or policy_file, not both"));
        }
    };
    if text.trim().is_empty() || text.len() > MAX_POLICY {
        let problem = format!("the policy must have 1 to {MAX_POLICY} bytes");
        return Err(invalid("judge.policy", problem));
    }
    Ok(text)
}

fn bar(section: &JudgeSection) -> Result<ReleaseBar, ConfigError> {
    let percent = section.max_denied_percent.unwrap_or(5.0);
    let hundredths = to_hundredths(percent, 2_000).filter(|value| *value >= 10);
    let max_denied = hundredths.ok_or_else(|| {
        invalid("judge.max_denied_percent", format!("{percent} is not between 0.1 and 20"))
    })?;
    Ok(ReleaseBar {
        decisions: number("judge.release_after", section.release_after, 100, 20..=100_000)?,
        max_denied: max_denied / 10,
    })
}

#[cfg(test)]
mod tests {
    use crate::config::{DaemonConfig, JudgeMode, KeySource, Paths};

    const LOCAL: &str = "[judge]\nendpoint = \"http://127.0.0.1:11434/v1\"\nmodel = \"small\"\n\
                         allow_private = true\n";

    fn read(text: &str) -> Result<DaemonConfig, String> {
        let paths = Paths { config: "/c".into(), state: "/s".into(), runtime: "/r".into() };
        DaemonConfig::read(text, &paths).map_err(|error| error.to_string())
    }

    #[test]
    fn the_judge_is_off_by_default_and_starts_in_shadow_mode() {
        assert!(read("").unwrap().rules.judge.is_none());
        let config = read(LOCAL).unwrap().rules.judge.unwrap();
        assert_eq!((config.mode, config.key), (JudgeMode::Shadow, KeySource::None));
        assert_eq!((config.bar.decisions, config.bar.max_denied), (100, 50));
        assert!(config.policy.contains("second"));
    }

    #[test]
    fn unsafe_and_incomplete_settings_are_rejected() {
        for (line, field) in [
            ("mode = \"on\"", "judge.mode"),
            ("api = \"telnet\"", "judge.api"),
            ("deadline_seconds = 31", "judge.deadline_seconds"),
            ("release_after = 0", "judge.release_after"),
            ("max_denied_percent = 50", "judge.max_denied_percent"),
            ("sample_percent = 0", "judge.sample_percent"),
            ("key_file = \"key\"", "judge.key_file"),
            ("key_file = \"/k\"\nkey_env = \"K\"", "judge.key_file"),
            ("policy = \"\"", "judge.policy"),
            ("policy_file = \"/does/not/exist\"", "judge.policy_file"),
            ("key = \"sk-1\"", "unknown field"),
        ] {
            let error = read(&format!("{LOCAL}{line}\n")).unwrap_err();
            assert!(error.contains(field), "{line}: {error}");
        }
        let plain = LOCAL.replace("allow_private = true\n", "");
        assert!(read(&plain).unwrap_err().contains("unencrypted"));
        assert!(read("[judge]\nmodel = \"m\"").unwrap_err().contains("judge.endpoint"));
    }
}
