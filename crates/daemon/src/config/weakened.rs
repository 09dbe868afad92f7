//! Which settings protect the gate less than others did.

use super::safeguards::Safeguards;
use super::strength::{SettingStrength, assurance, caution, hundredths, less, more, points};

impl Safeguards {
    /// What protects the gate less than `before`; empty if nothing does.
    pub fn weaker_than(&self, before: &Safeguards) -> Vec<String> {
        let mut changes = Vec::new();
        for (new, old) in strengths(self).into_iter().zip(strengths(before)) {
            if new.strength < old.strength {
                changes.push(format!("{}: {} → {}", new.name, old.shown, new.shown));
            }
        }
        if let Some(judge) = &self.judge {
            judge.changes(before.judge.as_ref(), &mut changes);
        }
        for (name, channel) in &self.channels {
            let approves = channel.approves.label();
            match before.channels.get(name) {
                Some(known) if known.digest == channel.digest => {
                    if channel.approves > known.approves {
                        let old = known.approves.label();
                        changes.push(format!("[channels.{name}] approves: {old} → {approves}"));
                    }
                }
                known => {
                    let what = if known.is_some() { "is another one" } else { "is new" };
                    changes.push(format!(
                        "[channels.{name}] {what}: people approve through it up to {approves}"
                    ));
                }
            }
        }
        changes.extend(self.whitelist.more_than(&before.whitelist));
        changes
    }
}

/// All of them, always in the same order.
fn strengths(of: &Safeguards) -> Vec<SettingStrength> {
    let (quorum, needs, thresholds) = (&of.quorum, &of.needs, &of.thresholds);
    let mut all = vec![
        more("[quorum] medium", quorum.medium.into()),
        more("[quorum] high", quorum.high.into()),
        more("[quorum] critical", quorum.critical.into()),
        more("[quorum] crisis", quorum.crisis.into()),
        less("[quorum] deny", quorum.deny.into()),
        assurance("[assurance] medium", needs.medium),
        assurance("[assurance] high", needs.high),
        assurance("[assurance] critical", needs.critical),
        more("[people] waiting_seconds", of.waiting_period.0 / 1000),
        less("[people] idle_seconds", of.idle.0 / 1000),
        points("[assessment] api_threshold", thresholds.api),
        points("[assessment] telegram_threshold", thresholds.telegram),
        points("[assessment] discord_threshold", thresholds.discord),
        points("[assessment] cli_threshold", thresholds.cli),
    ];
    let word = if of.respond_without_word { "true" } else { "false" };
    all.push(SettingStrength {
        name: "[listen] respond_without_word",
        strength: u64::from(!of.respond_without_word),
        shown: word.to_owned(),
    });
    all.push(SettingStrength {
        name: "[assessment] environment",
        strength: caution(of.environment),
        shown: of.environment.label().to_owned(),
    });
    let confidence = of.low_confidence.into();
    let shown = hundredths(confidence);
    let name = "[assessment] low_confidence";
    all.push(SettingStrength { name, strength: confidence.into(), shown });
    all
}
