//! Findings and context to points, tier, confidence and class: plain arithmetic.

mod weigh;

use std::borrow::Cow;

use crate::assessment::{Assessment, Pattern, Reason};
use crate::call::Call;
use crate::context::Environment;
use crate::effect::{Effect, EffectClass, Effects};
use crate::finding::{Doubt, Factor, Finding, Findings};
use crate::impact::HumanImpact;
use crate::verdict::{Policy, Verdict};
use countersign_types::tier::{Points, Tier};
use weigh::{heaviest, weigh};

/// Being live adds this to any change, and lifts it to MEDIUM at least.
const PRODUCTION: u16 = 50;
/// Asking for secrets adds this.
const CREDENTIALS: u16 = 40;
/// Changing an agent or its tools adds this.
const OWN_SETTINGS: u16 = 50;
/// Confidence of an assessment without doubts, in hundredths.
const SURE: u8 = 98;

/// What each doubt costs, in hundredths.
const DOUBTS: [(Doubt, u8); 7] = [
    (Doubt::UnknownProgram, 15),
    (Doubt::DynamicProgram, 40),
    (Doubt::DynamicArguments, 10),
    (Doubt::Unreadable, 60),
    (Doubt::GuessedTool, 15),
    (Doubt::VagueArguments, 10),
    (Doubt::CrisisSigns, 30),
];

/// Effects that change something, somewhere.
const CHANGES: Effects = Effects::of(&[
    Effect::Write,
    Effect::Delete,
    Effect::NetOut,
    Effect::Privilege,
    Effect::Persist,
    Effect::Publish,
    Effect::Service,
    Effect::Send,
    Effect::Money,
    Effect::SelfChange,
    Effect::Delegate,
    Effect::Remote,
    Effect::Crisis,
]);

/// Effects that leave this machine or outlive the call.
const OUTWARD: Effects = Effects::of(&[
    Effect::NetOut,
    Effect::Publish,
    Effect::Send,
    Effect::Money,
    Effect::Delegate,
    Effect::Remote,
    Effect::Service,
    Effect::Persist,
]);

/// Whether these effects change anything.
pub fn changes(effects: Effects) -> bool {
    effects.meets(CHANGES)
}

/// Whether these effects leave this machine or outlive the call.
pub fn goes_out(effects: Effects) -> bool {
    effects.meets(OUTWARD)
}

/// The whole record from what was seen.
pub fn conclude(call: &Call<'_>, policy: &Policy, mut findings: Findings) -> Assessment {
    behaviours(&mut findings);
    let (mut reasons, mut points) = weigh(heaviest(&findings));
    for (lift, code, message) in lifts(call, &findings, points) {
        points = points.saturating_add(lift);
        reasons.push(context(code, lift, message));
    }
    if let Some(claimed) = call.claimed
        && claimed.points().0 > points
    {
        let lift = claimed.points().0 - points;
        points = claimed.points().0;
        reasons.push(context("context.claimed", lift, "The caller itself rates this higher."));
    }
    if !reasons.is_sorted_by_key(|r| std::cmp::Reverse(r.weight)) {
        reasons.sort_by_key(|r| std::cmp::Reverse(r.weight));
    }
    let points = Points(points.min(Points::MAX.0));
    let tier = points.tier();
    let (doubts, confidence) = confidence(&findings);
    finish(call, policy, findings, Sum { reasons, points, tier, doubts, confidence })
}

struct Sum {
    reasons: Vec<Reason>,
    points: Points,
    tier: Tier,
    doubts: Vec<Doubt>,
    confidence: u8,
}

fn finish(call: &Call<'_>, policy: &Policy, mut findings: Findings, sum: Sum) -> Assessment {
    let effects = findings.effects;
    let crisis = effects.has(Effect::Crisis);
    let signs = findings.has_doubt(Doubt::CrisisSigns);
    let outward = goes_out(effects);
    let reversible = !findings.is_irreversible();
    let in_crisis = signs && (outward || !reversible);
    let unsure = sum.tier == Tier::Low && sum.confidence < policy.low_confidence;
    let requires_human = sum.tier.requires_human() || unsure || crisis || in_crisis;
    // No mode lets these pass: the crisis rules hold even where nothing else does.
    let verdict = if in_crisis {
        Verdict::Crisis
    } else if crisis {
        Verdict::Ask
    } else {
        match policy.verdict(sum.tier, sum.confidence) {
            Verdict::Ask if is_proof(&sum.reasons) => Verdict::Deny,
            other => other,
        }
    };
    let pattern = if requires_human {
        Pattern::PreExecutionGate
    } else if sum.tier == Tier::Low && reversible && changes(effects) && !outward {
        Pattern::PostExecutionReview
    } else {
        Pattern::ConfidenceThreshold
    };
    Assessment {
        tool: call.tool.clone().into_owned(),
        tier: sum.tier,
        points: sum.points,
        risk: sum.points.risk(),
        confidence: f64::from(sum.confidence) / 100.0,
        verdict,
        side_effect_class: class(effects, sum.tier),
        pattern,
        requires_human,
        reversible,
        human_impact: human(&findings),
        crisis_sensitive: crisis || signs,
        effects,
        reasons: sum.reasons,
        doubts: sum.doubts,
        headlines: findings.take_headlines(),
        trace: std::mem::take(&mut findings.trace),
        queries: findings.take_queries(),
        commands: std::mem::take(&mut findings.commands),
        policy: None,
        impact: findings.impact,
    }
}

/// Whether it is the call that tests a gate: it is refused without asking a person.
fn is_proof(reasons: &[Reason]) -> bool {
    const PROOFS: [&str; 2] = ["agents.countersign.proof", "tool.agent.proof_of_gate"];
    reasons.iter().any(|reason| PROOFS.contains(&reason.code.as_ref()))
}

/// Behaviour that shows in the effects themselves.
fn behaviours(findings: &mut Findings) {
    const SHOWN: [(Effect, &str, u16, &str); 2] = [
        (
            Effect::Secret,
            "behaviour.credentials",
            CREDENTIALS,
            "The agent asks for passwords, keys or tokens.",
        ),
        (
            Effect::SelfChange,
            "behaviour.own_settings",
            OWN_SETTINGS,
            "The agent changes its own settings or tools.",
        ),
    ];
    for (effect, code, weight, message) in SHOWN {
        if findings.effects.has(effect) {
            let bare = Finding::pattern(code, Tier::Safe, message);
            findings.add(Finding { factor: Factor::Behaviour, weight: Points(weight), ..bare });
        }
    }
}

type Lift = (u16, &'static str, &'static str);

/// What lifts a call whatever its patterns: a live system, money, text nobody could read.
fn lifts(call: &Call<'_>, findings: &Findings, points: u16) -> Vec<Lift> {
    let effects = findings.effects;
    let least = Tier::Medium.points().0;
    let mut lifts = Vec::new();
    let mut so_far = points;
    if call.context.environment == Environment::Production && changes(effects) {
        let lift = PRODUCTION.max(least.saturating_sub(so_far));
        so_far = so_far.saturating_add(lift);
        lifts.push((lift, "context.production", "This changes a live system."));
    }
    if effects.has(Effect::Money) && so_far < least {
        lifts.push((least - so_far, "context.money", "Money would move."));
        so_far = least;
    }
    // Text that could not be read to its end may hold anything: a person is asked.
    if findings.has_doubt(Doubt::Unreadable) && so_far < least {
        lifts.push((least - so_far, "context.unreadable", "Part of this could not be read."));
    }
    lifts
}

fn context(code: &'static str, weight: u16, message: &'static str) -> Reason {
    Reason {
        code: Cow::Borrowed(code),
        factor: Factor::Context,
        weight: Points(weight),
        message: Cow::Borrowed(message),
        suggestion: None,
        argument: Cow::Borrowed(""),
        span: None,
    }
}

fn confidence(findings: &Findings) -> (Vec<Doubt>, u8) {
    let mut doubts = Vec::new();
    let mut confidence = SURE;
    for (doubt, cost) in DOUBTS {
        if findings.has_doubt(doubt) {
            doubts.push(doubt);
            confidence = confidence.saturating_sub(cost);
        }
    }
    (doubts, confidence)
}

/// The side-effect class, A to D.
fn class(effects: Effects, tier: Tier) -> EffectClass {
    let grave = effects.has_any(&[Effect::Crisis, Effect::Money]);
    if grave || tier == Tier::Critical || tier >= Tier::High && !effects.only_reads() {
        EffectClass::D
    } else if goes_out(effects) || effects.has(Effect::Privilege) {
        EffectClass::C
    } else if effects.only_reads() {
        EffectClass::A
    } else {
        EffectClass::B
    }
}

fn human(findings: &Findings) -> HumanImpact {
    let effects = findings.effects;
    let shown = if effects.has(Effect::Crisis) {
        HumanImpact::Safety
    } else if effects.has(Effect::Send) {
        HumanImpact::Personal
    } else if goes_out(effects) || effects.has(Effect::Privilege) {
        HumanImpact::Administrative
    } else {
        HumanImpact::None
    };
    findings.nearest_human().map_or(shown, |near| near.max(shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(code: &'static str, weight: u16) -> Finding {
        Finding { weight: Points(weight), ..Finding::pattern(code, Tier::Safe, "") }
    }

    fn found(list: Vec<Finding>) -> Findings {
        let mut findings = Findings::default();
        for finding in list {
            findings.add(finding);
        }
        findings
    }

    fn concluded(list: Vec<Finding>) -> Assessment {
        conclude(&Call::shell(""), &Policy::default(), found(list))
    }

    #[test]
    fn the_call_that_tries_a_gate_is_refused_and_nobody_is_asked() {
        let assessed = |text: &str| {
            let value = countersign_json::parse(text).unwrap();
            let call = Call::from_json(&value).unwrap();
            crate::assess::assess(&call, &Policy::default())
        };
        for call in [
            r#"{"tool":"countersign_proof_of_gate","arguments":{}}"#,
            r#"{"tool":"mcp__files__countersign_proof_of_gate","arguments":{"path":"x"}}"#,
            r#"{"command":"countersign-proof-of-gate"}"#,
            r#"{"tool":"Bash","arguments":{"command":"cd x && ./countersign-proof-of-gate y"}}"#,
        ] {
            let seen = assessed(call);
            assert_eq!((seen.tier, seen.verdict), (Tier::Critical, Verdict::Deny), "{call}");
        }
        // Only the very call: what merely names it is assessed for itself.
        assert_eq!(assessed(r#"{"command":"echo countersign-proof-of-gate"}"#).tier, Tier::Safe);
        assert_eq!(assessed(r#"{"command":"rm -rf /"}"#).verdict, Verdict::Ask);
    }

    #[test]
    fn patterns_combine_by_max_and_surcharges_never_cross_a_tier() {
        let list = vec![pattern("a", 200), pattern("b", 295), pattern("c", 200), pattern("d", 100)];
        let seen = concluded(list);
        assert_eq!((seen.points, seen.tier), (Points(299), Tier::Medium));
        assert_eq!(seen.reasons.first().map(|r| r.weight), Some(Points(295)));
        let many = ["a", "b", "c", "d", "e", "f", "g"].map(|c| pattern(c, 200)).to_vec();
        assert_eq!(concluded(many).points, Points(220));
    }

    #[test]
    fn behaviour_and_context_add_and_shares_sum_to_the_points() {
        let mut list = vec![pattern("a", 200), pattern("b", 100)];
        list.push(Finding { factor: Factor::Behaviour, ..pattern("c", 50) });
        list.push(Finding { factor: Factor::Context, ..pattern("d", 60) });
        let seen = concluded(list);
        assert_eq!(seen.points, Points(315));
        assert_eq!(seen.reasons.iter().map(|r| r.weight.0).sum::<u16>(), 315);
    }

    #[test]
    fn production_makes_any_change_ask() {
        let mut call = Call::shell("");
        call.context.environment = Environment::Production;
        let mut findings = Findings::default();
        let quiet = conclude(&call, &Policy::default(), findings.clone());
        assert_eq!(quiet.verdict, Verdict::Allow);
        findings.effect(Effect::Write);
        let seen = conclude(&call, &Policy::default(), findings);
        assert_eq!((seen.tier, seen.verdict), (Tier::Medium, Verdict::Ask));
    }

    #[test]
    fn money_asks_and_crisis_actions_ask_in_every_mode() {
        let policy = Policy { mode: crate::verdict::Mode::Observe, ..Policy::default() };
        let mut findings = Findings::default();
        findings.effect(Effect::Money);
        assert_eq!(conclude(&Call::shell(""), &policy, findings.clone()).tier, Tier::Medium);
        findings.effect(Effect::Crisis);
        let seen = conclude(&Call::shell(""), &policy, findings.clone());
        assert_eq!((seen.verdict, seen.crisis_sensitive), (Verdict::Ask, true));
        findings.doubt(Doubt::CrisisSigns);
        assert_eq!(conclude(&Call::shell(""), &policy, findings).verdict, Verdict::Crisis);
    }

    #[test]
    fn a_claim_raises_and_never_lowers() {
        let mut call = Call::shell("");
        for tier in Tier::ALL {
            call.claimed = Some(tier);
            let findings = found(vec![pattern("a", 200)]);
            let seen = conclude(&call, &Policy::default(), findings);
            assert_eq!(seen.tier, tier.max(Tier::Medium));
        }
    }

    #[test]
    fn what_could_not_be_read_is_never_waved_through() {
        let mut findings = Findings::default();
        findings.doubt(Doubt::Unreadable);
        let seen = conclude(&Call::shell(""), &Policy::default(), findings);
        assert_eq!((seen.tier, seen.verdict), (Tier::Medium, Verdict::Ask));
    }

    #[test]
    fn an_unknown_program_alone_stays_sure_enough() {
        let mut findings = found(vec![pattern("a", 100)]);
        findings.doubt(Doubt::UnknownProgram);
        let seen = conclude(&Call::shell(""), &Policy::default(), findings.clone());
        assert!(seen.confidence >= 0.80 && seen.verdict == Verdict::Allow);
        findings.doubt(Doubt::DynamicArguments);
        let seen = conclude(&Call::shell(""), &Policy::default(), findings);
        assert_eq!((seen.verdict, seen.requires_human), (Verdict::Ask, true));
    }
}
