//! A text to screen, as the caller sent it, and the document that answers it.

use countersign_crisis as crisis;
use countersign_crisis::{ScreenOptions, Screening};
use countersign_guard::GuardRole;
use serde_json::{Map, Value};

use crate::api::ApiProblem;
use crate::api::fields::Fields;
use crate::api::v1::requests;
use crate::config::DaemonRules;

/// The longest text in bytes.
const MAX_TEXT: usize = 64 << 10;

/// A text to screen.
pub struct ScreenedText<'v> {
    /// The text.
    pub text: &'v str,
    /// Its session; empty for none.
    pub session: &'v str,
    /// Who wrote it.
    pub role: GuardRole,
    country: Option<String>,
    lang: Option<&'v str>,
    /// Whether a person is asked about an agent's text that must not go out by itself.
    pub ask: bool,
}

impl<'v> ScreenedText<'v> {
    /// Reads the members of a request.
    pub fn read(fields: &Fields<'v, '_>) -> Result<ScreenedText<'v>, ApiProblem> {
        let text = fields.text("text")?;
        let text = text.ok_or_else(|| ApiProblem::bad_request("`text` is required"))?;
        let session = fields.text("session")?.unwrap_or_default();
        let role = match fields.text("role")? {
            None | Some("user") => GuardRole::User,
            Some("agent") => GuardRole::Agent,
            Some(_) => return Err(ApiProblem::bad_request("`role` must be user or agent")),
        };
        let (country, lang) = (fields.text("country")?, fields.text("lang")?);
        let ask = fields.boolean("ask")?.unwrap_or(false);
        fields.finish()?;
        requests::check_length("session", session)?;
        if text.len() > MAX_TEXT {
            let detail = format!("`text` may have at most {MAX_TEXT} bytes");
            return Err(ApiProblem::bad_request(detail));
        }
        if ask && role == GuardRole::User {
            return Err(ApiProblem::bad_request("`ask` is for texts of an agent"));
        }
        // An unknown country must not hide the helplines: the configured country is used instead.
        let country = country.map(str::to_ascii_uppercase);
        let country = country.filter(|code| crisis::country(code).is_some());
        Ok(ScreenedText { text, session, role, country, lang, ask })
    }

    /// How to screen it and how to word the card.
    pub fn options<'o>(&'o self, rules: &'o DaemonRules) -> ScreenOptions<'o> {
        ScreenOptions {
            country: self.country.as_deref().or(rules.country.as_deref()),
            preset: rules.preset,
            lang: self.lang,
            unverified: false,
            minor: false,
        }
    }
}

/// The screening as an object, with the context of the session.
pub fn document(
    screening: &Screening,
    in_crisis: bool,
    rest: Value,
) -> Result<Map<String, Value>, ApiProblem> {
    let Ok(Value::Object(mut members)) = serde_json::to_value(screening) else {
        return Err(crate::gate::Rejection::Unwritable.into());
    };
    let context = if in_crisis { "crisis" } else { "none" };
    members.insert("context".to_owned(), Value::String(context.to_owned()));
    if let Value::Object(rest) = rest {
        members.extend(rest);
    }
    Ok(members)
}
