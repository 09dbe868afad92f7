//! A model judge that may release calls: what a person has to confirm about it.

use countersign_json::canonical::Digest;
use countersign_judge::DEFAULT_POLICY;
use serde_json::{Value, json};

use super::judge_config::{JudgeConfig, JudgeMode};

/// A judge that may release calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleasingJudge {
    /// The digest of the model, its server and its policy text.
    digest: String,
    /// Decisions of people before it releases anything.
    pub decisions: u32,
    /// The share of denied ones, in thousandths.
    pub max_denied: u16,
    /// The share of released calls that people are asked about instead, in percent.
    pub sample_percent: u32,
}

impl ReleasingJudge {
    /// The judge of a configuration, if it may release calls.
    pub fn of(config: &JudgeConfig) -> Option<ReleasingJudge> {
        if config.mode != JudgeMode::Release {
            return None;
        }
        let settings = &config.settings;
        // A new version may have another text of its own.
        let policy = if config.policy == DEFAULT_POLICY { "" } else { &config.policy };
        let endpoint = settings.endpoint.clone().into_uri().to_string();
        let server = (settings.api, endpoint, settings.allow_private);
        let text = format!("{server:?}\n{}\n{policy}", settings.model);
        Some(ReleasingJudge {
            digest: Digest::of(text.as_bytes()).to_string(),
            decisions: config.bar.decisions,
            max_denied: config.bar.max_denied,
            sample_percent: config.sample_percent,
        })
    }

    /// What lets it release more than `before`.
    pub fn changes(&self, before: Option<&ReleasingJudge>, changes: &mut Vec<String>) {
        let Some(old) = before else {
            changes.push("[judge] mode: it may release calls".to_owned());
            return;
        };
        if self.digest != old.digest {
            let what = "[judge] another model, server or policy text may release calls";
            changes.push(what.to_owned());
        }
        let mut add = |is_weaker: bool, name: &str, old: u32, new: u32| {
            if is_weaker {
                changes.push(format!("[judge] {name}: {old} → {new}"));
            }
        };
        let (few, many) = (self.decisions, old.decisions);
        add(few < many, "release_after", many, few);
        let (wide, narrow) = (self.max_denied, old.max_denied);
        add(wide > narrow, "max_denied_percent in tenths", narrow.into(), wide.into());
        let (rare, often) = (self.sample_percent, old.sample_percent);
        add(rare < often, "sample_percent", often, rare);
    }

    /// The stricter of both; none if they are not the same judge.
    pub fn narrowed_to(&self, old: &ReleasingJudge) -> Option<ReleasingJudge> {
        (self.digest == old.digest).then(|| ReleasingJudge {
            digest: self.digest.clone(),
            decisions: self.decisions.max(old.decisions),
            max_denied: self.max_denied.min(old.max_denied),
            sample_percent: self.sample_percent.max(old.sample_percent),
        })
    }

    /// As JSON, for the ledger.
    pub fn to_json(&self) -> Value {
        json!({
            "digest": self.digest, "decisions": self.decisions, "max_denied": self.max_denied,
            "sample_percent": self.sample_percent,
        })
    }

    /// From the JSON of the ledger.
    pub fn from_json(value: &Value) -> Option<ReleasingJudge> {
        let number = |name: &str| value.get(name)?.as_u64();
        Some(ReleasingJudge {
            digest: value.get("digest")?.as_str()?.to_owned(),
            decisions: u32::try_from(number("decisions")?).ok()?,
            max_denied: u16::try_from(number("max_denied")?).ok()?,
            sample_percent: u32::try_from(number("sample_percent")?).ok()?,
        })
    }
}
