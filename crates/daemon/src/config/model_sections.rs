//! The sections about language models, as written.

use serde::Deserialize;

/// The guard model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GuardSection {
    pub family: Option<String>,
    pub url: Option<String>,
    pub model: Option<String>,
    pub api_key_file: Option<String>,
    pub allow_private: Option<bool>,
    pub timeout_ms: Option<u32>,
    pub load_seconds: Option<u32>,
    pub concurrent: Option<u32>,
    pub replacement: Option<String>,
}

/// The model judge.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JudgeSection {
    pub mode: Option<String>,
    pub api: Option<String>,
    pub endpoint: Option<String>,
    pub model: Option<String>,
    pub key_file: Option<String>,
    pub key_env: Option<String>,
    pub policy: Option<String>,
    pub policy_file: Option<String>,
    pub deadline_seconds: Option<u32>,
    pub max_tokens: Option<u32>,
    pub json_schema: Option<bool>,
    pub allow_private: Option<bool>,
    pub concurrency: Option<u32>,
    pub requests_per_hour: Option<u32>,
    pub tokens_per_day: Option<u32>,
    pub release_after: Option<u32>,
    pub max_denied_percent: Option<f64>,
    pub sample_percent: Option<u32>,
    pub input_price: Option<f64>,
    pub output_price: Option<f64>,
}
