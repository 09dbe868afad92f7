//! The settings that protect the gate: how many people approve, how surely they are known, through
//! what they may answer, and what passes without them. The file can strengthen them at once; a
//! weaker one waits for a person.

use std::collections::BTreeMap;

use countersign_risk::context::Environment;
use countersign_risk::verdict::{Policy, Thresholds};
use countersign_types::tier::Tier;
use countersign_types::time::Millis;
use countersign_workflow::assurance::RequiredAssurance;

use super::judge_config::JudgeMode;
use super::model::{DaemonRules, QuorumByTier};
use super::releasing_judge::ReleasingJudge;
use super::strength::caution;
use super::whitelist_keys::WhitelistKeys;

/// The settings that protect the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Safeguards {
    pub(super) quorum: QuorumByTier,
    pub(super) needs: RequiredAssurance,
    pub(super) waiting_period: Millis,
    pub(super) idle: Millis,
    pub(super) respond_without_word: bool,
    pub(super) environment: Environment,
    pub(super) low_confidence: u8,
    pub(super) thresholds: Thresholds,
    /// The judge, if it may release calls.
    pub(super) judge: Option<ReleasingJudge>,
    /// The channels through which people may approve.
    pub(super) channels: BTreeMap<String, AnsweringChannel>,
    /// What the whitelist lets pass.
    pub(super) whitelist: WhitelistKeys,
}

/// A channel through which people may approve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AnsweringChannel {
    /// The digest of what decides who is heard through it.
    pub(super) digest: String,
    pub(super) approves: Tier,
}

/// The safeguards of a file without settings, and no judge, channel or whitelist.
impl Default for Safeguards {
    fn default() -> Safeguards {
        let Policy { thresholds, low_confidence, .. } = Policy::default();
        Safeguards {
            quorum: QuorumByTier { medium: 1, high: 1, critical: 1, crisis: 1, deny: 1 },
            needs: RequiredAssurance::default(),
            waiting_period: Millis::from_seconds(3_600),
            idle: Millis::from_seconds(2 * 3_600),
            respond_without_word: false,
            environment: Environment::default(),
            low_confidence,
            thresholds,
            judge: None,
            channels: BTreeMap::new(),
            whitelist: WhitelistKeys::default(),
        }
    }
}

impl Safeguards {
    /// Those of these rules.
    pub fn of(rules: &DaemonRules) -> Safeguards {
        let channels = rules.channels.iter().filter_map(|(name, config)| {
            let approves = config.limits.approves;
            let answers = config.limits.details && approves > Tier::Safe;
            let digest = config.fingerprint.to_string();
            answers.then(|| (name.clone(), AnsweringChannel { digest, approves }))
        });
        Safeguards {
            quorum: rules.quorum,
            needs: rules.needs,
            waiting_period: rules.waiting_period,
            idle: rules.idle,
            respond_without_word: rules.respond_without_word,
            environment: rules.environment,
            low_confidence: rules.assessment.low_confidence,
            thresholds: rules.assessment.thresholds,
            judge: rules.judge.as_ref().and_then(ReleasingJudge::of),
            channels: channels.collect(),
            whitelist: rules.whitelist.keys(),
        }
    }

    /// Sets them.
    pub fn apply_to(&self, rules: &mut DaemonRules) {
        rules.quorum = self.quorum;
        rules.needs = self.needs;
        rules.waiting_period = self.waiting_period;
        rules.idle = self.idle;
        rules.respond_without_word = self.respond_without_word;
        rules.environment = self.environment;
        rules.assessment.low_confidence = self.low_confidence;
        rules.assessment.thresholds = self.thresholds;
        if let Some(judge) = &mut rules.judge {
            judge.mode = JudgeMode::Shadow;
            if let Some(releasing) = &self.judge {
                judge.mode = JudgeMode::Release;
                judge.bar.decisions = releasing.decisions;
                judge.bar.max_denied = releasing.max_denied;
                judge.sample_percent = releasing.sample_percent;
            }
        }
        for (name, config) in &mut rules.channels {
            let known = self.channels.get(name);
            config.limits.approves = known.map_or(Tier::Safe, |known| known.approves);
        }
        rules.whitelist.allow_only(&self.whitelist);
    }

    /// The stricter of both, setting by setting.
    #[must_use]
    pub fn narrowed_to(&self, before: &Safeguards) -> Safeguards {
        let (new, old) = (self, before);
        let channels = new.channels.iter().filter_map(|(name, channel)| {
            let known = old.channels.get(name).filter(|known| known.digest == channel.digest)?;
            let approves = channel.approves.min(known.approves);
            Some((name.clone(), AnsweringChannel { digest: channel.digest.clone(), approves }))
        });
        let judge = new.judge.as_ref().zip(old.judge.as_ref());
        Safeguards {
            quorum: QuorumByTier {
                medium: new.quorum.medium.max(old.quorum.medium),
                high: new.quorum.high.max(old.quorum.high),
                critical: new.quorum.critical.max(old.quorum.critical),
                crisis: new.quorum.crisis.max(old.quorum.crisis),
                deny: new.quorum.deny.min(old.quorum.deny),
            },
            needs: RequiredAssurance {
                medium: new.needs.medium.max(old.needs.medium),
                high: new.needs.high.max(old.needs.high),
                critical: new.needs.critical.max(old.needs.critical),
            },
            waiting_period: Millis(new.waiting_period.0.max(old.waiting_period.0)),
            idle: Millis(new.idle.0.min(old.idle.0)),
            respond_without_word: new.respond_without_word && old.respond_without_word,
            environment: if caution(old.environment) > caution(new.environment) {
                old.environment
            } else {
                new.environment
            },
            low_confidence: new.low_confidence.max(old.low_confidence),
            thresholds: Thresholds {
                api: new.thresholds.api.min(old.thresholds.api),
                telegram: new.thresholds.telegram.min(old.thresholds.telegram),
                discord: new.thresholds.discord.min(old.thresholds.discord),
                cli: new.thresholds.cli.min(old.thresholds.cli),
            },
            judge: judge.and_then(|(new, old)| new.narrowed_to(old)),
            channels: channels.collect(),
            whitelist: new.whitelist.both(&old.whitelist),
        }
    }
}
