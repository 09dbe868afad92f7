//! The longest deadlines of requests, by tier and by agent.

use std::collections::BTreeMap;

use countersign_types::tier::Tier;
use countersign_types::time::Millis;

use super::check::{invalid, number};
use super::error::ConfigError;
use super::file;

/// The longest deadline that an operator can set, in seconds: seven days.
pub const MAX_SECONDS: u32 = 7 * 86_400;

/// The longest deadlines where `times.longest_seconds` does not apply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeadlineLimits {
    medium: Option<Millis>,
    high: Option<Millis>,
    critical: Option<Millis>,
    agents: BTreeMap<String, Millis>,
}

impl DeadlineLimits {
    /// The longest deadline of a call: the shorter of those of its tier and of its agent, by the
    /// agent's name or the agent program that its hook names.
    pub fn limit(&self, tier: Tier, agent: &str, label: Option<&str>) -> Option<Millis> {
        let by_tier = match tier {
            Tier::Safe | Tier::Low | Tier::Medium => self.medium,
            Tier::High => self.high,
            Tier::Critical => self.critical,
        };
        let named = |name: &str| self.agents.get(name).copied();
        let by_agent = label.and_then(named).or_else(|| named(agent));
        match (by_tier, by_agent) {
            (Some(tier), Some(agent)) => Some(tier.min(agent)),
            (one, other) => one.or(other),
        }
    }
}

pub fn deadlines(section: &file::DeadlinesSection) -> Result<DeadlineLimits, ConfigError> {
    let limit = |field, value: Option<u32>| {
        let checked = value.map(|value| number(field, Some(value), 1, 1..=MAX_SECONDS));
        checked.transpose().map(|seconds| seconds.map(Millis::from_seconds))
    };
    let mut agents = BTreeMap::new();
    for (name, seconds) in &section.agents {
        if !(1..=MAX_SECONDS).contains(seconds) {
            let problem = format!("{name}: {seconds} is not between 1 and {MAX_SECONDS}");
            return Err(invalid("times.deadlines.agents", problem));
        }
        agents.insert(name.clone(), Millis::from_seconds(*seconds));
    }
    Ok(DeadlineLimits {
        medium: limit("times.deadlines.medium_seconds", section.medium_seconds)?,
        high: limit("times.deadlines.high_seconds", section.high_seconds)?,
        critical: limit("times.deadlines.critical_seconds", section.critical_seconds)?,
        agents,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shorter_limit_of_tier_and_agent_holds() {
        let text = "high_seconds = 3600\nagents = { claude = 604800, cron = 60 }";
        let limits = deadlines(&toml::from_str(text).unwrap()).unwrap();
        let hour = Some(Millis::from_seconds(3_600));
        let week = Some(Millis::from_seconds(604_800));
        assert_eq!(limits.limit(Tier::High, "coder", None), hour);
        assert_eq!(limits.limit(Tier::High, "uid:0", Some("claude")), hour);
        assert_eq!(limits.limit(Tier::Medium, "uid:0", Some("claude")), week);
        let minute = Some(Millis::from_seconds(60));
        assert_eq!(limits.limit(Tier::High, "cron", None), minute);
        assert_eq!(limits.limit(Tier::Medium, "coder", None), None);
        for bad in ["high_seconds = 0", "high_seconds = 604801", "agents = { a = 0 }"] {
            assert!(deadlines(&toml::from_str(bad).unwrap()).is_err(), "{bad}");
        }
    }
}
