//! Reads an evaluation from JSON: subject, action, resource and context become a call.

use std::borrow::Cow;

use countersign_json::Value;
use countersign_risk::call::{Annotations, Call};
use countersign_risk::context::{Context, Environment, Platform};
use countersign_types::id::Id;
use countersign_types::tier::Tier;

use crate::api::ApiProblem;
use crate::api::fields::{self, Fields};
use crate::api::v1::requests;

/// Action names that mean a tool call.
const ACTIONS: [&str; 2] = ["tools/call", "execute"];

/// A JSON object and its text.
#[derive(Clone, Copy)]
pub struct JsonSource<'v, 'a> {
    /// The object.
    pub value: &'v Value<'a>,
    /// Its text, exactly as received.
    pub text: &'v str,
}

impl<'v, 'a> JsonSource<'v, 'a> {
    /// A member that is present and not null.
    pub fn member(self, name: &str) -> Option<JsonSource<'v, 'a>> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        Some(JsonSource { value, text: fields::member_text(self.text, name)? })
    }
}

/// An evaluation that was read.
pub struct Evaluation<'v> {
    /// The subject that the caller names.
    pub subject: &'v str,
    /// Why this is not a tool call, if it is not.
    pub foreign: Option<&'static str>,
    /// The call.
    pub call: Call<'v>,
    /// Its arguments as received.
    pub raw: &'v str,
    /// The approval presented with it.
    pub approval: Presented,
}

/// An approval that an enforcement point presents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presented {
    /// None.
    Nothing,
    /// An id that is not an id of ours.
    Unknown,
    /// The approval of this request.
    Approval(Id),
}

/// Reads an evaluation: each part from `source`, or from the defaults if it is missing.
pub fn evaluation<'v>(
    source: JsonSource<'v, '_>,
    defaults: Option<JsonSource<'v, '_>>,
) -> Result<Evaluation<'v>, ApiProblem> {
    // One type for both, so that parts may come from either.
    let part = |name: &'static str| -> Option<(&'v Value<'v>, &'v str)> {
        let own = source.member(name).map(|part| (widen(part.value), part.text));
        own.or_else(|| defaults?.member(name).map(|part| (widen(part.value), part.text)))
    };
    let needed = |name: &'static str| {
        part(name).ok_or_else(|| ApiProblem::bad_request(format!("`{name}` is required")))
    };
    let (subject, _) = needed("subject")?;
    let (action, action_text) = needed("action")?;
    let (resource, resource_text) = needed("resource")?;
    let empty = ("{}", None);
    let (context_text, context) =
        part("context").map_or(empty, |(value, text)| (text, Some(value)));

    let fields = Fields::new(subject)?;
    fields.required_text("type")?;
    let subject = fields.required_text("id")?;
    properties(&fields)?;
    fields.finish()?;

    let fields = Fields::new(action)?;
    let name = fields.required_text("name")?;
    let action_properties = properties(&fields)?;
    fields.finish()?;

    let fields = Fields::new(resource)?;
    let (kind, tool) = (fields.required_text("type")?, fields.required_text("id")?);
    let resource_properties = properties(&fields)?;
    fields.finish()?;
    requests::check_length("resource.id", tool)?;

    let foreign = match (ACTIONS.contains(&name), kind) {
        (true, "tool") => None,
        (true, _) => Some("unsupported_resource"),
        (false, _) => Some("unsupported_action"),
    };
    let inside = |text: &'v str| fields::member_text(text, "properties").unwrap_or("{}");
    let (arguments, raw) = arguments(&[
        (resource_properties, inside(resource_text)),
        (context, context_text),
        (action_properties, inside(action_text)),
    ])?;
    let (call, approval) = in_context(context, tool, arguments)?;
    Ok(Evaluation { subject, foreign, call, raw, approval })
}

/// The same value with a shorter lifetime.
fn widen<'v>(value: &'v Value<'_>) -> &'v Value<'v> {
    value
}

fn properties<'v, 'a>(fields: &Fields<'v, 'a>) -> Result<Option<&'v Value<'a>>, ApiProblem> {
    let found = fields.get("properties");
    match found {
        Some(value) if value.as_object().is_none() => {
            Err(ApiProblem::bad_request("`properties` must be an object"))
        }
        _ => Ok(found),
    }
}

/// The arguments, wherever a profile puts them. Two different ones are rejected, and properties
/// without `arguments` are the arguments, because a call must never be assessed without them.
fn arguments<'v>(
    places: &[(Option<&'v Value<'v>>, &'v str)],
) -> Result<(Value<'v>, &'v str), ApiProblem> {
    let mut found: Option<(&'v Value<'v>, &'v str)> = None;
    for &(place, text) in places {
        let Some(value) = place.and_then(|place| place.get("arguments")) else { continue };
        if value.as_object().is_none() {
            return Err(ApiProblem::bad_request("`arguments` must be an object"));
        }
        match found {
            Some((earlier, _)) if earlier != value => {
                return Err(ApiProblem::bad_request(
                    "`arguments` are present twice with different values",
                ));
            }
            Some(_) => {}
            None => found = Some((value, fields::member_text(text, "arguments").unwrap_or("{}"))),
        }
    }
    let whole = places.first().and_then(|&(place, text)| Some((place?, text)));
    Ok(match found.or(whole) {
        Some((value, text)) => (value.reborrow(), text),
        None => (Value::Object(Vec::new()), "{}"),
    })
}

/// The context of the call. Unknown members are ignored.
fn in_context<'v>(
    context: Option<&'v Value<'v>>,
    tool: &'v str,
    arguments: Value<'v>,
) -> Result<(Call<'v>, Presented), ApiProblem> {
    let mut call = Call {
        tool: Cow::Borrowed(tool),
        arguments,
        agent: None,
        session: None,
        context: Context { platform: Platform::Api, ..Context::default() },
        annotations: Annotations::default(),
        claimed: None,
        facts: None,
    };
    let Some(context) = context else { return Ok((call, Presented::Nothing)) };
    let fields = Fields::new(context)?;
    call.session = fields.text("session")?.map(Cow::Borrowed);
    requests::check_length("session", call.session.as_deref().unwrap_or_default())?;
    call.context.cwd = fields.text("cwd")?;
    call.context.project = fields.text("project")?;
    if let Some(word) = fields.text("environment")? {
        call.context.environment = Environment::parse(word).ok_or_else(|| {
            ApiProblem::bad_request(
                "`environment` must be workstation, production, ci or container",
            )
        })?;
    }
    if let Some(word) = fields.text("risk_level")? {
        let tier = Tier::parse(word).ok_or_else(|| {
            ApiProblem::bad_request("`risk_level` must be safe, low, medium, high or critical")
        })?;
        call.claimed = Some(tier);
    }
    let approval = match fields.get("approval") {
        None => Presented::Nothing,
        Some(value) => Id::parse(Fields::new(value)?.required_text("id")?)
            .map_or(Presented::Unknown, Presented::Approval),
    };
    Ok((call, approval))
}
