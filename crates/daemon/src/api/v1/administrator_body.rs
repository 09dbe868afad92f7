//! Requests of administrators whose body consists of texts.

use axum::extract::Request;

use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, authenticate};
use crate::auth::PersonIdentity;

/// The administrator who sent a request, and the texts of its body under these names. Each of them
/// is required, and there is no other member.
pub async fn administrator_texts<const N: usize>(
    api: &Api,
    request: Request,
    names: [&'static str; N],
) -> Result<(PersonIdentity, [String; N]), ApiProblem> {
    let identity = authenticate::administrator(api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let mut texts = [const { String::new() }; N];
    for (text, name) in texts.iter_mut().zip(names) {
        fields.required_text(name)?.clone_into(text);
    }
    fields.finish()?;
    Ok((identity, texts))
}
