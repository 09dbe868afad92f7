//! TEMPORARY: stand-ins for what core does not yet export. Delete on merge; see `core_api.rs`.
//!
//! The shapes are those agreed for core. The judgement here is a toy that knows six words; it
//! exists so that the command line can be built and tested before the real one arrives.

use std::borrow::Cow;

use countersign_core::call::{Annotations, Call};
use countersign_core::context::{Context, Environment, Platform};
use countersign_core::effect::{Effect, EffectClass, Effects};
use countersign_core::finding::{Doubt, Factor, Span};
use countersign_core::impact::Impact;
use countersign_core::json::Value;
use countersign_core::tier::{Points, Tier};
use countersign_core::verdict::{Policy, Verdict};
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    pub code: Cow<'static, str>,
    pub factor: Factor,
    pub weight: Points,
    pub say: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safer: Option<Cow<'static, str>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub argument: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Assessment {
    pub tool: String,
    pub tier: Tier,
    pub points: Points,
    pub risk: f64,
    pub confidence: f64,
    pub verdict: Verdict,
    pub side_effect_class: EffectClass,
    pub requires_human: bool,
    pub reversible: bool,
    pub effects: Effects,
    pub reasons: Vec<Reason>,
    pub doubts: Vec<Doubt>,
    pub impact: Impact,
}

const TOY: [(&str, Tier, &str, &str); 7] = [
    ("rm -rf /*", Tier::Critical, "toy.delete.root", "Deletes the whole file system."),
    ("rm -rf", Tier::High, "toy.delete", "Deletes a folder and everything below it."),
    ("push --force", Tier::High, "toy.force", "Overwrites the history others work on."),
    ("| bash", Tier::Medium, "toy.pipe", "Runs a script straight from the network."),
    ("DROP TABLE", Tier::Medium, "toy.drop", "Drops a table and its rows."),
    ("send", Tier::Medium, "toy.send", "Speaks to somebody in your name."),
    ("sed -i", Tier::Low, "toy.edit", "Changes a file in place."),
];

pub fn assess(call: &Call<'_>, policy: &Policy) -> Assessment {
    let command = call.arguments.get("command").and_then(Value::as_str);
    let text = command.unwrap_or(&call.tool);
    let mut reasons = Vec::new();
    for (word, tier, code, say) in TOY {
        let at = text.find(word).or_else(|| {
            (text.ends_with("rm -rf /") && code == "toy.delete.root").then(|| text.len() - 8)
        });
        if let Some(at) = at {
            reasons.push(Reason {
                code: Cow::Borrowed(code),
                factor: Factor::Pattern,
                weight: tier.points(),
                say: Cow::Borrowed(say),
                safer: Some(Cow::Borrowed("Look first: run it with --dry-run or list the files.")),
                argument: Cow::Borrowed(if command.is_some() { "/command" } else { "" }),
                span: command.map(|_| {
                    Span::new(
                        at,
                        at + text.get(at..).and_then(|t| t.find('\n')).unwrap_or(text.len() - at),
                    )
                }),
            });
        }
    }
    let tier = reasons.iter().map(|r| r.weight.tier()).max().unwrap_or(Tier::Safe);
    let tier = tier.max(call.claimed.unwrap_or(Tier::Safe));
    let mut impact = Impact::default();
    impact.programs.add(text.split(' ').next().unwrap_or_default());
    Assessment {
        tool: call.tool.to_string(),
        tier,
        points: tier.points(),
        risk: tier.points().risk(),
        confidence: 0.9,
        verdict: policy.verdict(tier, 90),
        side_effect_class: EffectClass::A,
        requires_human: tier.requires_human(),
        reversible: tier < Tier::High,
        effects: [Effect::Read].into_iter().collect(),
        reasons,
        doubts: Vec::new(),
        impact,
    }
}

pub fn digest(call: &Call<'_>, raw: &[u8]) -> (String, String) {
    let sum = |bytes: &[u8]| {
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, &b| {
            (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{hash:016x}")
    };
    (sum(format!("{} {:?}", call.tool, call.arguments).as_bytes()), sum(raw))
}

pub fn show(text: &str, limit: usize) -> String {
    let mut out = String::new();
    for c in text.chars().take(limit) {
        if c.is_control() { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

#[derive(Debug, Clone, Serialize)]
pub struct Signal {
    pub rule: &'static str,
    pub span: Span,
    pub level: u8,
}

#[derive(Debug, Clone, Serialize)]
pub struct Screening {
    pub crisis: bool,
    pub level: u8,
    pub imminent: bool,
    pub kind: Option<&'static str>,
    pub signals: Vec<Signal>,
    pub lang: &'static str,
    pub card: Option<String>,
}

pub fn screen(text: &str) -> Screening {
    let signals: Vec<Signal> = text
        .find("kill myself")
        .map(|at| Signal { rule: "en.toy", span: Span::new(at, at + 11), level: 4 })
        .into_iter()
        .collect();
    let crisis = !signals.is_empty();
    Screening {
        crisis,
        level: if crisis { 4 } else { 0 },
        imminent: false,
        kind: crisis.then_some("ideation"),
        signals,
        lang: "en",
        card: crisis.then(|| "You are not alone.\nCall or text 988 (US).".to_owned()),
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    pub parallel: bool,
    pub stages: Vec<Vec<usize>>,
}

pub fn plan(calls: &[Call<'_>]) -> Plan {
    let all_read = calls.iter().all(|c| assess(c, &Policy::default()).tier == Tier::Safe);
    if all_read && calls.len() > 1 {
        return Plan { parallel: true, stages: vec![(0..calls.len()).collect()] };
    }
    Plan { parallel: false, stages: (0..calls.len()).map(|i| vec![i]).collect() }
}

pub fn call_from_json<'a>(value: &'a Value<'_>) -> Result<Call<'a>, String> {
    let Value::Object(members) = value.clone() else {
        return Err("a call is a JSON object".to_owned());
    };
    let mut call = Call {
        tool: Cow::Borrowed(""),
        arguments: Value::Object(Vec::new()),
        agent: None,
        session: None,
        context: Context::default(),
        annotations: Annotations::default(),
        claimed: None,
    };
    for (key, value) in members {
        match (key.as_ref(), value) {
            ("tool", Value::String(name)) => call.tool = name,
            ("command", Value::String(text)) => {
                call.tool = Cow::Borrowed("shell");
                call.arguments =
                    Value::Object(vec![(Cow::Borrowed("command"), Value::String(text))]);
            }
            ("arguments", value @ Value::Object(_)) => call.arguments = value,
            ("tool" | "command", _) => return Err(format!("`{key}` must be a string")),
            ("arguments", _) => return Err("`arguments` must be an object".to_owned()),
            ("platform", Value::String(name)) => call.context.platform = Platform::parse(&name),
            ("environment", Value::String(name)) => {
                call.context.environment = Environment::parse(&name)
                    .ok_or_else(|| "`environment` is not one we know".to_owned())?;
            }
            _ => {}
        }
    }
    if call.tool.is_empty() {
        return Err("neither `command` nor `tool`".to_owned());
    }
    Ok(call)
}

pub fn parse(text: &str) -> Result<Value<'_>, String> {
    serde_json::from_str::<Owned>(text).map(|v| v.0).map_err(|e| e.to_string())
}

struct Owned(Value<'static>);

impl<'de> Deserialize<'de> for Owned {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader).map(Owned)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value<'static>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, v: bool) -> Result<Self::Value, E> {
        Ok(Value::Bool(v))
    }
    fn visit_i64<E>(self, v: i64) -> Result<Self::Value, E> {
        Ok(Value::Number(Cow::Owned(v.to_string())))
    }
    fn visit_u64<E>(self, v: u64) -> Result<Self::Value, E> {
        Ok(Value::Number(Cow::Owned(v.to_string())))
    }
    fn visit_f64<E>(self, v: f64) -> Result<Self::Value, E> {
        Ok(Value::Number(Cow::Owned(v.to_string())))
    }
    fn visit_str<E>(self, v: &str) -> Result<Self::Value, E> {
        Ok(Value::String(Cow::Owned(v.to_owned())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Owned(item)) = seq.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members: Vec<(Cow<'static, str>, Value<'static>)> = Vec::new();
        while let Some((key, Owned(value))) = map.next_entry::<String, Owned>()? {
            if members.iter().any(|(k, _)| *k == key) {
                return Err(A::Error::custom(format!("duplicate key `{key}`")));
            }
            members.push((Cow::Owned(key), value));
        }
        Ok(Value::Object(members))
    }
}
