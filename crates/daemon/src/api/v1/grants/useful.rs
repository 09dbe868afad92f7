//! Grants that could never cover a call are rejected.

use std::borrow::Cow;

use countersign_json::Value;
use countersign_risk::assess::{Assessment, assess};
use countersign_risk::call::{Annotations, Call};
use countersign_risk::context::Context;
use countersign_risk::effect::Effect;
use countersign_risk::tools;
use countersign_types::tier::Tier;
use countersign_workflow::grant::{GrantShape, is_command_shape};

use crate::api::{Api, ApiProblem};

/// Rejects a grant that could never cover a call, because it would only look like a permission.
/// Every call is checked against the grant again.
pub fn check_useful(api: &Api, shape: &GrantShape) -> Result<(), ApiProblem> {
    let (tool, by_name) = match shape {
        GrantShape::Exact { .. }
        | GrantShape::Command(_)
        | GrantShape::ToolCall(_)
        | GrantShape::Part(_)
        | GrantShape::SameQuestion { .. }
        | GrantShape::SameProgram { .. } => return Ok(()),
        GrantShape::Action { tool } => (tool, true),
        GrantShape::Targets { tool, .. } | GrantShape::ToSelf { tool } => (tool, false),
    };
    let runs = tools::runs_programs(tool, &Value::Object(Vec::new()));
    match shape {
        GrantShape::Action { .. } if runs => {
            return Err(ApiProblem::conflict(
                "this tool runs commands, so a grant for all calls would cover every command; \
                 list the commands, such as `git push origin`, in `targets`",
            ));
        }
        GrantShape::Targets { targets, .. } if runs => {
            if let Some(wide) = targets.iter().find(|text| !is_command_shape(text)) {
                let wide = countersign_text::sanitize::sanitize_within(wide, 60);
                return Err(ApiProblem::conflict(format!(
                    "`{}` is not a command shape; use a program and at least one further word, \
                     without quotes, variables or other shell syntax, and do not end with an \
                     option",
                    wide.text
                )));
            }
        }
        _ => {}
    }
    let assessment = assess_example(api, tool, Value::Object(Vec::new()), Annotations::default());
    if assessment.tier == Tier::Critical
        || assessment.crisis_sensitive
        || assessment.effects.has(Effect::Crisis)
    {
        return Err(ApiProblem::conflict("no grant covers CRITICAL calls or calls in a crisis"));
    }
    if assessment.effects.has(Effect::Money) {
        return Err(ApiProblem::conflict(
            "the tool moves money: give a grant for exactly one call, or one with conditions and a \
             budget (`where` and `spend`)",
        ));
    }
    if by_name && assessment.tier >= Tier::High {
        return Err(ApiProblem::conflict("a grant for a tool covers no call from HIGH up"));
    }
    Ok(())
}

/// The assessment of a call of a tool, without more than its name and arguments.
pub(super) fn assess_example(
    api: &Api,
    tool: &str,
    arguments: Value<'_>,
    annotations: Annotations,
) -> Assessment {
    let rules = api.gate.rules();
    let context = Context { environment: rules.environment, ..Context::default() };
    let call = Call {
        tool: Cow::Borrowed(tool),
        arguments,
        agent: None,
        session: None,
        context,
        annotations,
        claimed: None,
        facts: None,
    };
    assess(&call, &rules.assessment)
}
