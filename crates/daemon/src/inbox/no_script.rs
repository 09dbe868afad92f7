//! Without JavaScript: a denial with name and passphrase. An approval needs a proof that only our
//! script keeps.

use axum::body::to_bytes;
use axum::extract::{Query, Request, State};
use axum::http::{Uri, header};
use countersign_text::sanitize::show_within;
use countersign_types::id::Id;
use maud::{Markup, html};
use serde::Deserialize;
use zeroize::Zeroizing;

use super::layout;
use super::page::{ApiState, PageResult};
use crate::api::{Api, ApiProblem, deny as deny_it, proven};

/// The route of the form.
pub const DENY: &str = "/plain/deny";
/// The longest form that is read.
const LONGEST: usize = 8 * 1024;
const FORM: &str = "application/x-www-form-urlencoded";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    request: String,
    name: String,
    passphrase: String,
}

/// The form that denies one request.
pub fn form(id: Id) -> Markup {
    html! {
        form.plain method="post" action=(DENY) {
            h2 { "Deny without JavaScript" }
            input type="hidden" name="request" value=(id);
            label { "Name" input name="name" autocomplete="username" required; }
            label {
                "Passphrase"
                input name="passphrase" type="password" autocomplete="current-password" required;
            }
            button.deny type="submit" { "Deny" }
            p.hint { "Approving needs JavaScript or the terminal." }
        }
    }
}

/// The request that a path of ours is about.
pub fn named(next: &str) -> Option<Id> {
    let id = next.strip_prefix("/requests/").or_else(|| next.strip_prefix("/?r="))?;
    Id::parse(id)
}

/// Handles the form.
pub async fn deny(State(api): ApiState, request: Request) -> PageResult {
    match denied(&api, request).await {
        Ok(brief) => {
            let body = html! {
                section.narrow {
                    h1 { "Denied" }
                    p { (show_within(&brief, 400).text) }
                    p { "The agent is told." }
                    p { a href="/" { "Back to the inbox" } }
                }
            };
            Ok(layout::page("Denied", layout::MenuItem::Elsewhere, None, &body))
        }
        Err(problem) => Err(layout::error_page(&problem, None)),
    }
}

async fn denied(api: &Api, request: Request) -> Result<String, ApiProblem> {
    let (parts, body) = request.into_parts();
    let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if kind.is_none_or(|kind| kind.split(';').next() != Some(FORM)) {
        return Err(ApiProblem::bad_request(
            "the content type must be \
                                            application/x-www-form-urlencoded",
        ));
    }
    let unreadable = || ApiProblem::bad_request("the form cannot be read");
    let bytes = to_bytes(body, LONGEST).await.map_err(|_| unreadable())?;
    let text = Zeroizing::new(String::from_utf8(bytes.to_vec()).map_err(|_| unreadable())?);
    // A form body has the syntax of a query string.
    let query: Uri = format!("/?{}", *text).parse().map_err(|_| unreadable())?;
    let Query(said) = Query::<Said>::try_from_uri(&query).map_err(|_| unreadable())?;
    let id = Id::parse(&said.request).ok_or_else(unreadable)?;
    let person = proven(api, said.name, Zeroizing::new(said.passphrase)).await?;
    Ok(deny_it(api, person, id).await?.brief)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_request_paths_name_a_request() {
        let id = Id::from_bytes([7; 16]);
        assert_eq!(named(&format!("/requests/{id}")), Some(id));
        assert_eq!(named(&format!("/?r={id}")), Some(id));
        for next in ["/", "/history", "/requests/", "/requests/x", &format!("/requests/{id}/x")] {
            assert_eq!(named(next), None, "{next}");
        }
    }
}
