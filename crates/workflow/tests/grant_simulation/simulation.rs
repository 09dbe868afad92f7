//! Random steps of people and agents, and what must hold after each.

use std::collections::{BTreeSet, HashMap};

use countersign_json::Value;
use countersign_risk::assess::Assessment;
use countersign_risk::context::Environment;
use countersign_risk::policy_ruling::{PolicyRuling, RuleDecision};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::{Millis, Moment, Timestamp};
use countersign_workflow::grant::{
    ArgumentConstraint, CommandPattern, CommandShape, Grant, GrantBudget, GrantCost, GrantDetails,
    GrantIndex, GrantQuery, GrantShape, PlainDecimal, ShownToolCall, SpendLimit, ToolCallShape,
};
use countersign_workflow::learning::{AnsweredCommand, CommandForm, FormCounts, RepeatedAnswer};

use crate::samples::{Sample, TOOLS, samples};

const AGENTS: [&str; 2] = ["claude", "codex"];
const SESSIONS: [&str; 2] = ["s1", "s2"];
const PATTERNS: [&str; 7] = [
    "frobnicate task <number>",
    "frobnicate sync <path>",
    "npm publish <path>",
    "npm install <package>",
    "gh pr merge <number>",
    "rm -rf -- <path>",
    "git push origin <word>",
];
/// Conditions on arguments; `=` twice means either value.
const CONDITIONS: [&[&str]; 8] = [
    &["amount<=9", "currency=USD", "currency=EUR"],
    &["amount<=5"],
    &["title~*"],
    &["repo=acme/shop", "title~*"],
    &["repo=acme/shop", "repo=acme/pay"],
    &["repo=acme/shop", "title?~*"],
    &["to=bo", "to=cy", "text~*"],
    &["to~*"],
];
/// How many approvals of a form make a grant.
const NEEDED: u32 = 3;

/// `SplitMix64`: small, and the same on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.roll() % end
    }

    fn one_in(&mut self, odds: u64) -> bool {
        self.below(odds) == 0
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[usize::try_from(self.below(list.len() as u64)).unwrap()]
    }
}

/// What was granted, written down independently of the grant.
enum Granted {
    Exact(usize),
    Tool(String),
    Pattern(usize),
    Learned(BTreeSet<String>),
    Answer(usize),
    Conditions(usize, &'static [&'static str]),
}

struct World<'s> {
    samples: &'s [Sample],
    dice: Dice,
    now: Timestamp,
    reliable: bool,
    crisis: bool,
    policy: Option<RuleDecision>,
    index: GrantIndex,
    granted: HashMap<Id, (Granted, Grant)>,
    counts: FormCounts,
    /// Commands that people approved since the last denial of their form.
    approved: HashMap<(String, Option<&'static str>, String), BTreeSet<String>>,
    covered: [u64; 6],
    /// What the uses of each grant with a budget took: hundredths of money, and people.
    taken: HashMap<Id, (u64, BTreeSet<String>)>,
    refused: u64,
}

/// The form of a command: numbers and paths left out.
fn form(command: &str) -> String {
    let word = |(at, word): (usize, &str)| match word {
        _ if at < 2 => word.to_owned(),
        _ if word.bytes().all(|byte| byte.is_ascii_digit()) => "#".to_owned(),
        _ if word.contains('/') && !word.contains([':', '=']) && !word.contains("..") => {
            "@".to_owned()
        }
        _ => word.to_owned(),
    };
    command.split(' ').enumerate().map(word).collect::<Vec<_>>().join(" ")
}

/// Every argument of a covered call was named by a condition that it fulfils, or is as shown.
fn assert_named(call: &Value<'_>, shown: &Value<'_>, texts: &[&str], what: &str) {
    for (name, value) in call.as_object().unwrap() {
        let rules: Vec<&str> = texts
            .iter()
            .filter_map(|text| text.strip_prefix(&**name))
            .map(|rule| rule.trim_start_matches('?'))
            .collect();
        let fits = match rules.as_slice() {
            [] => shown.get(name) == Some(value),
            ["~*"] => value.as_str().is_some(),
            [limit] if limit.starts_with("<=") => value.as_number().or(value.as_str()).is_some(),
            some => some.iter().any(|rule| rule.strip_prefix('=') == value.as_str()),
        };
        assert!(fits, "{what}: {name} was not named");
    }
}

/// The amount of a call in hundredths, read without the code under test.
fn hundredths(call: &Value<'_>) -> u64 {
    call.get("amount").map_or(0, number_in_hundredths)
}

fn number_in_hundredths(value: &Value<'_>) -> u64 {
    let text = value.as_number().or(value.as_str()).unwrap();
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    whole.parse::<u64>().unwrap() * 100 + format!("{rest:0<2}").parse::<u64>().unwrap()
}

fn codes(seen: &Assessment) -> BTreeSet<&str> {
    seen.reasons.iter().map(|reason| &*reason.code).collect()
}

impl World<'_> {
    fn any_sample(&mut self) -> usize {
        if self.dice.one_in(3) {
            // Messages and money: the last samples.
            let tools = TOOLS.len() as u64;
            return self.samples.len() - 1 - usize::try_from(self.dice.below(tools)).unwrap();
        }
        usize::try_from(self.dice.below(self.samples.len() as u64)).unwrap()
    }

    fn add(&mut self, granted: Granted, shape: GrantShape, agent: Option<&str>, by: &str) {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.dice.roll().to_be_bytes());
        bytes[8..].copy_from_slice(&self.dice.roll().to_be_bytes());
        let is_answer = shape.is_answer();
        let session = matches!(shape, GrantShape::SameQuestion { .. })
            || (agent.is_some() && !is_answer && self.dice.one_in(3));
        let session = session.then(|| (*self.dice.pick(&SESSIONS)).to_owned());
        let lasts = Millis(1 + self.dice.below(50_000));
        let uses_left =
            (!is_answer && self.dice.one_in(3)).then(|| *self.dice.pick(&[1_u32, 2, 3]));
        let budget = matches!(shape, GrantShape::ToolCall(_)).then(|| self.budget()).flatten();
        let grant = Grant {
            id: Id::from_bytes(bytes),
            shape,
            agent: agent.map(ToOwned::to_owned),
            session,
            made_by: by.to_owned(),
            made_at: self.now,
            expires: Some(self.now.plus(lasts)),
            uses_left,
            revoked: None,
            details: GrantDetails { budget, ..GrantDetails::default() },
        };
        self.index.add(grant.clone());
        self.granted.insert(grant.id, (granted, grant));
    }

    fn budget(&mut self) -> Option<GrantBudget> {
        let spend = (!self.dice.one_in(3)).then(|| SpendLimit {
            member: "amount".to_owned(),
            currency: Some("USD".to_owned()),
            limit: PlainDecimal::parse(self.dice.pick::<&str>(&["5", "8", "16.5"])).unwrap(),
        });
        let recipients = self.dice.one_in(3).then_some(1);
        (spend.is_some() || recipients.is_some()).then_some(GrantBudget { spend, recipients })
    }

    /// A person gives a grant for a call.
    fn give(&mut self) {
        let at = self.any_sample();
        let samples = self.samples;
        let sample = &samples[at];
        let agent = (!self.dice.one_in(3)).then(|| *self.dice.pick(&AGENTS));
        let tool = sample.seen.tool.clone();
        if sample.command.is_none() && !self.dice.one_in(3) {
            return self.give_conditions(at, agent);
        }
        match self.dice.below(5) {
            0 => {
                let shape = GrantShape::Exact { digest: sample.digest };
                self.add(Granted::Exact(at), shape, agent, "ana");
            }
            1 => {
                let shape = GrantShape::Action { tool: tool.clone() };
                self.add(Granted::Tool(tool), shape, agent, "ana");
            }
            2 if sample.question.is_answerable() => {
                let agent = Some(*self.dice.pick(&AGENTS));
                let shape = match &sample.question.repository {
                    Some(found) if !found.answers.is_empty() && self.dice.one_in(2) => {
                        let (repository, keys) = (found.folder.clone(), found.answers.clone());
                        GrantShape::SameProgram { repository, keys }
                    }
                    _ => GrantShape::SameQuestion { keys: sample.question.answers.clone() },
                };
                self.add(Granted::Answer(at), shape, agent, "ana");
            }
            _ => {
                let Some(shown) = &sample.command else { return };
                let repository = sample.repository.map(ToOwned::to_owned);
                let pattern = if self.dice.one_in(2) {
                    CommandPattern::exactly(&shown.command)
                } else {
                    CommandPattern::parse(self.dice.pick::<&str>(&PATTERNS)).ok()
                };
                let Some(pattern) = pattern else { return };
                let Ok(shape) = CommandShape::new(shown, pattern, repository) else { return };
                let shape = GrantShape::Command(Box::new(shape));
                self.add(Granted::Pattern(at), shape, agent, "ana");
            }
        }
    }

    /// A person gives a grant for a tool with conditions on its arguments.
    fn give_conditions(&mut self, at: usize, agent: Option<&str>) {
        let sample = &self.samples[at];
        let shown = ShownToolCall::new(&sample.arguments, &sample.seen);
        // Any of the conditions that the call fulfils.
        let shape_of = |texts: &&'static [&'static str]| {
            let conditions = ArgumentConstraint::parse_all(texts.iter().copied()).unwrap();
            Some((*texts, ToolCallShape::new(&shown, conditions).ok()?))
        };
        let fitting: Vec<_> = CONDITIONS.iter().filter_map(shape_of).collect();
        if fitting.is_empty() {
            return;
        }
        let (texts, shape) = self.dice.pick(&fitting).clone();
        let shape = GrantShape::ToolCall(Box::new(shape));
        self.add(Granted::Conditions(at, texts), shape, agent, "ana");
    }

    fn learned_key(&self, at: usize, agent: &str) -> (String, Option<&'static str>, String) {
        let sample = &self.samples[at];
        let command = sample.command.as_ref().map_or("", |shown| shown.command.as_str());
        (agent.to_owned(), sample.repository, form(command))
    }

    /// A person answers a call, and a grant may be learned or ended.
    fn answer(&mut self) {
        // Mostly the forms that can be learned.
        let at = if self.dice.one_in(3) {
            self.any_sample()
        } else {
            *self.dice.pick(&[0_usize, 1, 2, 3, 4, 5, 6])
        };
        let approves = !self.dice.one_in(12);
        let agent = *self.dice.pick(&AGENTS);
        let samples = self.samples;
        let sample = &samples[at];
        let Some(shown) = &sample.command else { return };
        let answer = if approves { RepeatedAnswer::Approved } else { RepeatedAnswer::Denied };
        let key = self.learned_key(at, agent);
        self.counts.note(&AnsweredCommand {
            agent,
            repository: sample.repository,
            call: shown,
            crisis: self.crisis,
            answer,
        });
        let found = CommandForm::new(agent, sample.repository, shown);
        let Some(found) = found else { return };
        if !approves {
            self.approved.remove(&key);
            self.index.retain(|grant| match &grant.shape {
                GrantShape::Command(shape) if grant.made_by == "learned" => {
                    CommandForm::of_shape(agent, shape).as_ref() != Some(&found)
                        || grant.agent.as_deref() != Some(agent)
                }
                _ => true,
            });
            return;
        }
        self.approved.entry(key.clone()).or_default().insert(shown.command.clone());
        let Some(form) = self.counts.get(&found).filter(|one| one.approvals >= NEEDED) else {
            return;
        };
        let shape = form.listed_shape(&found).unwrap();
        let commands = self.approved.get(&key).cloned().unwrap_or_default();
        let shape = GrantShape::Command(Box::new(shape));
        self.add(Granted::Learned(commands), shape, Some(agent), "learned");
    }

    /// An agent calls, and every grant that covers the call is checked.
    fn call(&mut self) {
        let at = self.any_sample();
        let samples = self.samples;
        let sample = &samples[at];
        let (agent, session) = (*self.dice.pick(&AGENTS), *self.dice.pick(&SESSIONS));
        let mut seen = sample.seen.clone();
        seen.policy = self.policy.map(|decision| PolicyRuling {
            decision,
            rules: vec!["rule".to_owned()],
            reason: String::new(),
            quorum: None,
            route: Vec::new(),
            assurance: None,
        });
        // Sometimes the same call is assessed as riskier than when it was granted.
        if self.dice.one_in(10) {
            seen.tier = Tier::Critical;
        }
        let asked = GrantQuery {
            agent,
            session,
            repository: sample.repository,
            cwd: sample.repository,
            environment: Environment::default(),
            own_addresses: &[],
            digest: &sample.digest,
            arguments: &sample.arguments,
            assessment: &seen,
            crisis: self.crisis,
        };
        let now = Moment { at: self.now, reliable: self.reliable };
        let covering = self.index.covering(&asked, now, |_| true);
        for id in covering.iter().flatten() {
            let what = format!("{:?} {:?}", seen.tool, sample.arguments);
            self.check(*id, at, &seen, (agent, session), &what);
        }
        if let Some(id) = covering.first().and_then(|ids| ids.first()) {
            let cost = self.granted[id].1.cost(&asked).unwrap();
            self.use_once(*id, &cost, at);
        }
    }

    fn check(&mut self, id: Id, at: usize, seen: &Assessment, by: (&str, &str), what: &str) {
        let samples = self.samples;
        let (granted, grant) = &self.granted[&id];
        assert!(!self.crisis && self.reliable, "{what}: crisis or clock");
        assert!(seen.tier < Tier::Critical, "{what}: CRITICAL");
        let forbidden = [RuleDecision::Denied, RuleDecision::Asked, RuleDecision::Failed];
        assert!(self.policy.is_none_or(|one| !forbidden.contains(&one)), "{what}: policy");
        assert!(grant.expires.unwrap() > self.now, "{what}: expired");
        assert_ne!(grant.uses_left, Some(0), "{what}: used up");
        assert!(grant.agent.as_deref().is_none_or(|agent| agent == by.0), "{what}: agent");
        assert!(grant.session.as_deref().is_none_or(|one| one == by.1), "{what}: session");
        let call = &samples[at];
        let same_work = |source: usize| {
            codes(seen) == codes(&samples[source].seen)
                && seen.effects == samples[source].seen.effects
                && seen.tier <= samples[source].seen.tier
                && call.repository == samples[source].repository
        };
        match granted {
            Granted::Exact(source) => {
                assert_eq!(call.digest, samples[*source].digest, "{what}: another call");
            }
            Granted::Tool(tool) => {
                assert!(*tool == seen.tool && tool != "bash", "{what}: tool");
                assert!(seen.tier < Tier::High, "{what}: HIGH by a tool grant");
            }
            Granted::Pattern(source) => {
                assert!(same_work(*source), "{what}: more than granted");
            }
            Granted::Learned(commands) => {
                let command = &call.command.as_ref().unwrap().command;
                assert!(commands.contains(command), "{what}: never shown");
                assert!(seen.tier <= Tier::Medium, "{what}: HIGH was learned");
            }
            Granted::Conditions(source, texts) => {
                assert!(seen.tier <= Tier::Medium, "{what}: HIGH by conditions");
                let shown = &samples[*source].seen;
                assert!(codes(seen).is_subset(&codes(shown)), "{what}: a new reason");
                assert!(seen.effects.without(shown.effects).is_empty(), "{what}: effects");
                assert!(seen.tier <= shown.tier, "{what}: riskier");
                assert_named(&call.arguments, &samples[*source].arguments, texts, what);
            }
            Granted::Answer(source) => {
                assert!(seen.tier <= samples[*source].seen.tier, "{what}: riskier");
            }
        }
        let kind = match granted {
            Granted::Exact(_) => 0,
            Granted::Tool(_) => 1,
            Granted::Pattern(_) => 2,
            Granted::Learned(_) => 3,
            Granted::Answer(_) => 4,
            Granted::Conditions(..) => 5,
        };
        self.covered[kind] += 1;
    }

    fn use_once(&mut self, id: Id, cost: &GrantCost, at: usize) {
        let (_, grant) = self.granted.get_mut(&id).unwrap();
        if let Some(budget) = &grant.details.budget {
            let Some(used) = budget.charge(&grant.details.used, cost) else {
                self.refused += 1;
                return;
            };
            let sample = &self.samples[at];
            let taken = self.taken.entry(id).or_default();
            taken.0 += hundredths(&sample.arguments);
            taken.1.extend(sample.seen.impact.recipients.listed.iter().cloned());
            if let Some(spend) = &budget.spend {
                let limit = Value::String(spend.limit.to_string().into());
                assert!(taken.0 <= number_in_hundredths(&limit), "over the money budget");
                let currency = sample.arguments.get("currency").and_then(Value::as_str);
                assert_eq!(currency, Some("USD"), "another currency");
            }
            let most = budget.recipients.map_or(usize::MAX, |most| most as usize);
            assert!(taken.1.len() <= most, "too many recipients");
            grant.details.used = used;
        }
        grant.uses_left = grant.uses_left.map(|left| left - 1);
        let grant = grant.clone();
        self.index.remove(id);
        self.index.add(grant);
    }

    fn step(&mut self) {
        match self.dice.below(20) {
            0 => self.give(),
            1..=3 => self.answer(),
            4 => self.now = self.now.plus(Millis(self.dice.below(3_000))),
            5 => self.crisis = !self.crisis && self.dice.one_in(20),
            6 => self.reliable = !self.reliable || !self.dice.one_in(20),
            7 if self.dice.one_in(10) => {
                let rulings = [
                    None,
                    None,
                    None,
                    Some(RuleDecision::Allowed),
                    Some(RuleDecision::Asked),
                    Some(RuleDecision::Denied),
                    Some(RuleDecision::Failed),
                ];
                self.policy = *self.dice.pick(&rulings);
            }
            8 => self.revoke(),
            _ => self.call(),
        }
        if self.granted.len() > 300 {
            self.forget();
        }
    }

    fn revoke(&mut self) {
        let mut ids: Vec<Id> = self.granted.keys().copied().collect();
        ids.sort_by_key(|id| *id.as_bytes());
        if let Some(id) = (!ids.is_empty()).then(|| *self.dice.pick(&ids)) {
            self.index.remove(id);
            self.granted.remove(&id);
        }
    }

    /// Grants that have expired are removed from both.
    fn forget(&mut self) {
        let now = self.now;
        self.index.retain(|grant| grant.is_active(now));
        self.granted.retain(|_, (_, grant)| grant.is_active(now));
        self.now = now.plus(Millis(5_000));
    }
}

#[test]
fn no_sequence_lets_a_forbidden_call_pass() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let steps: u64 = number("STEPS").unwrap_or(20_000);
    let seed =
        number("SEED").unwrap_or_else(|| u64::from(std::process::id()) ^ 0x5eed_0000_0000_0000);
    println!("SEED={seed} STEPS={steps}");
    let samples = samples();
    let mut world = World {
        samples: &samples,
        dice: Dice(seed),
        now: Timestamp(1_000_000),
        reliable: true,
        crisis: false,
        policy: None,
        index: GrantIndex::default(),
        granted: HashMap::new(),
        counts: FormCounts::default(),
        approved: HashMap::new(),
        covered: [0; 6],
        taken: HashMap::new(),
        refused: 0,
    };
    for _ in 0..steps {
        world.step();
    }
    println!("covered by exact, tool, pattern, learned, answer, conditions: {:?}", world.covered);
    println!("with a budget: {}, over budget: {}", world.taken.len(), world.refused);
    assert!(!world.taken.is_empty() && world.refused > 0, "no budget was used up");
    assert!(world.covered.iter().all(|count| *count > 0), "{:?}", world.covered);
}
