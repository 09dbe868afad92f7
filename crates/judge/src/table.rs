//! What a verdict may change: the table from tier and verdict to action.

use serde::Serialize;

use countersign_risk::verdict::Thresholds;
use countersign_types::tier::Tier;

use crate::reply::ModelVerdict;
use crate::subject::JudgeSubject;

/// What the gate does with a call after the judge's verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgeAction {
    /// It runs.
    Allow,
    /// It does not run.
    Deny,
    /// A person is asked.
    Ask {
        /// Whether the person is told that the judge is against it.
        flagged: bool,
    },
}

/// What a verdict on a call could do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpinionUse {
    /// The model is not asked.
    NotAsked,
    /// The opinion is shown and recorded; a person decides.
    Shown,
    /// It may end the question.
    Decides,
}

/// What a verdict on this call could do.
pub fn use_of(subject: &JudgeSubject, thresholds: &Thresholds) -> OpinionUse {
    if subject.tier == Tier::Safe || subject.limit.is_some_and(super::NeverReleased::is_withheld) {
        return OpinionUse::NotAsked;
    }
    let ends = [ModelVerdict::Allow, ModelVerdict::Deny]
        .map(|verdict| act(subject, Some(verdict), thresholds))
        .iter()
        .any(|action| !matches!(action, JudgeAction::Ask { .. }));
    if ends { OpinionUse::Decides } else { OpinionUse::Shown }
}

/// What the gate does with a call that a person would be asked about. `None` stands for a judge
/// that failed, timed out or answered in another form.
pub fn act(
    subject: &JudgeSubject,
    verdict: Option<ModelVerdict>,
    thresholds: &Thresholds,
) -> JudgeAction {
    let ask = JudgeAction::Ask { flagged: verdict == Some(ModelVerdict::Deny) };
    if subject.limit.is_some() {
        return ask;
    }
    match (subject.tier, verdict) {
        (Tier::Low, Some(ModelVerdict::Allow)) => JudgeAction::Allow,
        (Tier::Low, Some(ModelVerdict::Deny)) => JudgeAction::Deny,
        (Tier::Medium, Some(ModelVerdict::Allow))
            if subject.points < thresholds.of(subject.platform) =>
        {
            JudgeAction::Allow
        }
        // SAFE calls are never asked about; one that gets here is not what it seems.
        (Tier::Safe | Tier::Low | Tier::Medium | Tier::High | Tier::Critical, _) => ask,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::NeverReleased;
    use countersign_json::canonical::Digest;
    use countersign_risk::context::{Environment, Platform};
    use countersign_types::tier::Points;

    const VERDICTS: [Option<ModelVerdict>; 4] =
        [None, Some(ModelVerdict::Allow), Some(ModelVerdict::Deny), Some(ModelVerdict::Escalate)];
    const PLATFORMS: [(Platform, u16); 5] = [
        (Platform::Cli, 300),
        (Platform::Api, 150),
        (Platform::Telegram, 200),
        (Platform::Discord, 250),
        (Platform::Other, 150),
    ];

    fn subject(points: u16, platform: Platform, limit: Option<NeverReleased>) -> JudgeSubject {
        JudgeSubject {
            digest: Digest::of(b"call"),
            raw_digest: Digest::of(b"raw"),
            tool: "shell".to_owned(),
            arguments: "{}".to_owned(),
            cwd: None,
            environment: Environment::Workstation,
            platform,
            tier: Points(points).tier(),
            points: Points(points),
            effects: Vec::new(),
            reversible: true,
            reasons: Vec::new(),
            doubts: Vec::new(),
            facts: Vec::new(),
            limit,
        }
    }

    /// Every number of points, platform and verdict, with and without each limit.
    #[test]
    fn the_table_holds_for_every_call() {
        let (thresholds, ask) = (Thresholds::default(), JudgeAction::Ask { flagged: false });
        let flagged = JudgeAction::Ask { flagged: true };
        for points in 0..=400 {
            for (platform, threshold) in PLATFORMS {
                let call = subject(points, platform, None);
                let [failed, allow, deny, escalate] =
                    VERDICTS.map(|verdict| act(&call, verdict, &thresholds));
                assert_eq!((failed, escalate), (ask, ask), "{points}");
                let (wanted_allow, wanted_deny) = match points {
                    100..200 => (JudgeAction::Allow, JudgeAction::Deny),
                    200..300 if points < threshold => (JudgeAction::Allow, flagged),
                    _ => (ask, flagged),
                };
                assert_eq!((allow, deny), (wanted_allow, wanted_deny), "{points} {platform:?}");
            }
        }
    }

    #[test]
    fn no_verdict_ends_the_question_of_a_limited_call() {
        use NeverReleased as N;
        let limits = [
            N::Crisis,
            N::Money,
            N::Credentials,
            N::PolicyChange,
            N::Production,
            N::Incomplete,
            N::High,
            N::Critical,
            N::Quorum,
            N::DeniedBefore,
            N::PersonRequired,
        ];
        for limit in limits {
            for points in (0..=400).step_by(5) {
                for (platform, _) in PLATFORMS {
                    let call = subject(points, platform, Some(limit));
                    for verdict in VERDICTS {
                        let action = act(&call, verdict, &Thresholds::default());
                        assert!(matches!(action, JudgeAction::Ask { .. }), "{limit:?} {points}");
                    }
                    let used = use_of(&call, &Thresholds::default());
                    assert_ne!(used, OpinionUse::Decides, "{limit:?} {points}");
                }
            }
        }
    }

    #[test]
    fn the_model_decides_where_the_table_lets_it() {
        let used =
            |points, platform| use_of(&subject(points, platform, None), &Thresholds::default());
        assert_eq!(used(0, Platform::Cli), OpinionUse::NotAsked);
        assert_eq!(used(150, Platform::Api), OpinionUse::Decides);
        assert_eq!(used(250, Platform::Cli), OpinionUse::Decides);
        assert_eq!(used(250, Platform::Discord), OpinionUse::Shown);
        assert_eq!(used(350, Platform::Cli), OpinionUse::Shown);
        assert_eq!(used(400, Platform::Cli), OpinionUse::Shown);
    }
}
