//! The safeguards as the ledger keeps them.

use countersign_risk::context::Environment;
use countersign_risk::verdict::Thresholds;
use countersign_types::tier::{Points, Tier};
use countersign_types::time::Millis;
use countersign_workflow::assurance::{Assurance, RequiredAssurance};
use serde_json::{Map, Value, json};

use super::model::QuorumByTier;
use super::releasing_judge::ReleasingJudge;
use super::safeguards::{AnsweringChannel, Safeguards};
use super::whitelist_keys::WhitelistKeys;

impl Safeguards {
    /// As JSON, for the ledger.
    pub fn to_json(&self) -> Value {
        let QuorumByTier { medium, high, critical, crisis, deny } = self.quorum;
        let needs = [self.needs.medium, self.needs.high, self.needs.critical];
        let Thresholds { api, telegram, discord, cli } = self.thresholds;
        let channels: Map<String, Value> = self
            .channels
            .iter()
            .map(|(name, AnsweringChannel { digest, approves })| {
                (name.clone(), json!({ "digest": digest, "approves": approves.label() }))
            })
            .collect();
        json!({
            "quorum": [medium, high, critical, crisis, deny],
            "assurance": needs.map(Assurance::label),
            "waiting_ms": self.waiting_period.0,
            "idle_ms": self.idle.0,
            "respond_without_word": self.respond_without_word,
            "environment": self.environment.label(),
            "low_confidence": self.low_confidence,
            "thresholds": [api.0, telegram.0, discord.0, cli.0],
            "judge": self.judge.as_ref().map(ReleasingJudge::to_json),
            "channels": channels,
            "whitelist": self.whitelist.to_json(),
        })
    }

    /// From the JSON of the ledger; none if it is not valid.
    pub fn from_json(value: &Value) -> Option<Safeguards> {
        let numbers = |name: &str| -> Option<Vec<u16>> {
            let list = value.get(name)?.as_array()?.iter();
            list.map(|number| u16::try_from(number.as_u64()?).ok()).collect()
        };
        let small = |number: u16| u8::try_from(number).ok();
        let [medium, high, critical, crisis, deny]: [u16; 5] =
            numbers("quorum")?.try_into().ok()?;
        let [api, telegram, discord, cli]: [u16; 4] = numbers("thresholds")?.try_into().ok()?;
        let labels = value.get("assurance")?.as_array()?.iter();
        let needs: Option<Vec<_>> = labels.map(|one| Assurance::parse(one.as_str()?)).collect();
        let [for_medium, for_high, for_critical]: [Assurance; 3] = needs?.try_into().ok()?;
        let judge = match value.get("judge")? {
            Value::Null => None,
            judge => Some(ReleasingJudge::from_json(judge)?),
        };
        let channels = value.get("channels")?.as_object()?.iter().map(|(name, channel)| {
            let digest = channel.get("digest")?.as_str()?.to_owned();
            let approves = Tier::parse(channel.get("approves")?.as_str()?)?;
            Some((name.clone(), AnsweringChannel { digest, approves }))
        });
        Some(Safeguards {
            quorum: QuorumByTier {
                medium: small(medium)?,
                high: small(high)?,
                critical: small(critical)?,
                crisis: small(crisis)?,
                deny: small(deny)?,
            },
            needs: RequiredAssurance { medium: for_medium, high: for_high, critical: for_critical },
            waiting_period: Millis(value.get("waiting_ms")?.as_u64()?),
            idle: Millis(value.get("idle_ms")?.as_u64()?),
            respond_without_word: value.get("respond_without_word")?.as_bool()?,
            environment: Environment::parse(value.get("environment")?.as_str()?)?,
            low_confidence: u8::try_from(value.get("low_confidence")?.as_u64()?).ok()?,
            thresholds: Thresholds {
                api: Points(api),
                telegram: Points(telegram),
                discord: Points(discord),
                cli: Points(cli),
            },
            judge,
            channels: channels.collect::<Option<_>>()?,
            whitelist: WhitelistKeys::from_json(value.get("whitelist")?)?,
        })
    }
}
