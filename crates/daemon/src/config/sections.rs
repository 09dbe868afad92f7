//! Each section of the configuration, checked by itself; every number has its bounds.

use std::path::{Path, PathBuf};

use countersign_crisis as crisis;
use countersign_crisis::Preset;
use countersign_risk::context::Environment;
use countersign_risk::verdict::{Mode, Policy, Thresholds};
use countersign_types::tier::Points;
use countersign_types::time::Millis;
use countersign_workflow::assurance::{Assurance, RequiredAssurance};
use countersign_workflow::request::{EscalationTimes, Profile};

use super::check::{invalid, number, seconds};
use super::deadlines::MAX_SECONDS;
use super::error::ConfigError;
use super::model::{DrillsConfig, LedgerConfig, LogConfig, QuorumByTier};
use super::{file, oncall};
use crate::modes::mode_from_name;

const DAY: u32 = 86_400;
/// The maximum number of drills per week: more would be a burden.
const MAX_DRILLS: u32 = 20;
/// The longest interval between tests of the gates: a week.
const MAX_HOURS: u32 = 7 * 24;

pub fn absolute(field: &'static str, path: &str) -> Result<PathBuf, ConfigError> {
    let path = Path::new(path);
    if path.is_absolute() {
        Ok(path.to_owned())
    } else {
        Err(invalid(field, format!("`{}` is not an absolute path", path.display())))
    }
}

pub fn mode(section: Option<&str>) -> Result<Mode, ConfigError> {
    let Some(name) = section else { return Ok(Mode::Enforce) };
    mode_from_name(name)
        .ok_or_else(|| invalid("mode", format!("`{name}` is not observe, crisis_only or enforce")))
}

pub fn environment(section: Option<&str>) -> Result<Environment, ConfigError> {
    let text = section.unwrap_or("workstation");
    Environment::parse(text).ok_or_else(|| {
        invalid(
            "assessment.environment",
            format!("`{text}` is not workstation, production, ci or container"),
        )
    })
}

pub fn assessment(section: &file::AssessmentSection) -> Result<Policy, ConfigError> {
    let default = Thresholds::default();
    let points = |field, value: Option<f64>, default: Points| match value {
        None => Ok(default),
        Some(value) => to_hundredths(value, 400)
            .map(Points)
            .ok_or_else(|| invalid(field, format!("{value} is not between 0 and 4"))),
    };
    let confidence = match section.low_confidence {
        None => Policy::default().low_confidence,
        Some(value) => {
            to_hundredths(value, 100).and_then(|value| u8::try_from(value).ok()).ok_or_else(
                || invalid("assessment.low_confidence", format!("{value} is not between 0 and 1")),
            )?
        }
    };
    Ok(Policy {
        // The route decides after the assessment what a mode lets pass.
        mode: Mode::Enforce,
        thresholds: Thresholds {
            api: points("assessment.api_threshold", section.api_threshold, default.api)?,
            telegram: points(
                "assessment.telegram_threshold",
                section.telegram_threshold,
                default.telegram,
            )?,
            discord: points(
                "assessment.discord_threshold",
                section.discord_threshold,
                default.discord,
            )?,
            cli: points("assessment.cli_threshold", section.cli_threshold, default.cli)?,
        },
        low_confidence: confidence,
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bounded by the check before it"
)]
pub fn to_hundredths(value: f64, most: u16) -> Option<u16> {
    let scaled = (value * 100.0).round();
    (scaled >= 0.0 && scaled <= f64::from(most)).then_some(scaled as u16)
}

pub fn times(section: &file::TimesSection) -> Result<EscalationTimes, ConfigError> {
    let profile = match section.profile.as_deref() {
        None | Some("standard") => Profile::Standard,
        Some("strict") => Profile::Strict,
        Some(other) => {
            return Err(invalid("times.profile", format!("`{other}` is not standard or strict")));
        }
    };
    let longest = number("times.longest_seconds", section.longest_seconds, DAY, 1..=MAX_SECONDS)?;
    let level = |field, value, default| seconds(field, value, default, 1..=DAY);
    Ok(EscalationTimes {
        profile,
        default_timeout: seconds(
            "times.usual_seconds",
            section.usual_seconds,
            300.min(longest),
            1..=longest,
        )?,
        max_timeout: Millis::from_seconds(longest),
        medium: level("times.medium_escalation_seconds", section.medium_escalation_seconds, 60)?,
        high: level("times.high_escalation_seconds", section.high_escalation_seconds, 30)?,
        critical: level(
            "times.critical_escalation_seconds",
            section.critical_escalation_seconds,
            10,
        )?,
        crisis: level("times.crisis_escalation_seconds", section.crisis_escalation_seconds, 60)?,
    })
}

pub fn quorum(section: &file::QuorumSection) -> Result<QuorumByTier, ConfigError> {
    let people = |field, value: Option<u8>| {
        number(field, value.map(u32::from), 1, 1..=100)
            .map(|value| u8::try_from(value).unwrap_or(u8::MAX))
    };
    Ok(QuorumByTier {
        medium: people("quorum.medium", section.medium)?,
        high: people("quorum.high", section.high)?,
        critical: people("quorum.critical", section.critical)?,
        crisis: people("quorum.crisis", section.crisis)?,
        deny: people("quorum.deny", section.deny)?,
    })
}

pub fn needs(section: &file::AssuranceSection) -> Result<RequiredAssurance, ConfigError> {
    let default = RequiredAssurance::default();
    let word = |field, value: &Option<String>, default| match value.as_deref() {
        None => Ok(default),
        Some(text) => Assurance::parse(text).ok_or_else(|| {
            invalid(field, format!("`{text}` is not reached, linked, login or passkey"))
        }),
    };
    let needs = RequiredAssurance {
        medium: word("assurance.medium", &section.medium, default.medium)?,
        high: word("assurance.high", &section.high, default.high)?,
        critical: word("assurance.critical", &section.critical, default.critical)?,
    };
    if needs.high < Assurance::Linked {
        return Err(invalid("assurance.high", "HIGH needs at least `linked`"));
    }
    if needs.critical < Assurance::Login {
        return Err(invalid("assurance.critical", "CRITICAL needs at least `login`"));
    }
    Ok(needs)
}

pub fn drills(section: &file::DrillsSection) -> Result<DrillsConfig, ConfigError> {
    let default = ["mon-fri".to_owned()];
    let days = section.days.as_deref().unwrap_or(&default);
    let (from, to) = (section.from.as_deref(), section.to.as_deref());
    let hours = oncall::hours(days, from.or(Some("09:00")), to.or(Some("17:00")));
    Ok(DrillsConfig {
        per_week: number("drills.per_week", section.per_week, 0, 0..=MAX_DRILLS)?,
        hours: hours.map_err(|problem| invalid("drills", problem))?,
    })
}

pub fn test_gates_every(section: &file::DoctorSection) -> Result<Option<Millis>, ConfigError> {
    let hours = number("doctor.every_hours", section.every_hours, 6, 0..=MAX_HOURS)?;
    Ok((hours > 0).then(|| Millis::from_seconds(hours * 3600)))
}

pub fn ledger(section: &file::LedgerSection) -> Result<LedgerConfig, ConfigError> {
    let path = |field, path: &Option<String>| {
        path.as_deref().map(|path| absolute(field, path)).transpose()
    };
    Ok(LedgerConfig {
        every: seconds("ledger.checkpoint_seconds", section.checkpoint_seconds, 10, 1..=DAY)?,
        file: path("ledger.witness_file", &section.witness_file)?,
        webhook: section.witness_webhook.clone(),
        git: path("ledger.witness_git", &section.witness_git)?,
    })
}

pub fn crisis(section: &file::CrisisSection) -> Result<(Option<String>, Preset), ConfigError> {
    if let Some(code) = &section.country
        && crisis::country(code).is_none()
    {
        return Err(invalid(
            "crisis.country",
            format!("`{code}` is not a country code such as US or DE"),
        ));
    }
    let preset = match section.preset.as_deref() {
        None | Some("neutral") => Preset::Neutral,
        Some("soul") => Preset::Soul,
        Some(other) => {
            return Err(invalid("crisis.preset", format!("`{other}` is not neutral or soul")));
        }
    };
    Ok((section.country.clone(), preset))
}

pub fn log(section: &file::LogSection) -> Result<LogConfig, ConfigError> {
    let json = match section.format.as_deref() {
        None | Some("text") => false,
        Some("json") => true,
        Some(other) => return Err(invalid("log.format", format!("`{other}` is not text or json"))),
    };
    let default = LogConfig { level: "info".to_owned(), json, otlp: section.otlp.clone() };
    let level = section.level.as_deref().unwrap_or(&default.level);
    default.at(level).map_err(|problem| invalid("log.level", problem))
}
