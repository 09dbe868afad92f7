//! What every page handler has in common: its state, its result, and the person who is signed in.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

use super::labels::percent_encode;
use crate::api::{Api, ApiProblem, authenticate};
use crate::auth::PersonIdentity;
use crate::freeze::Freeze;

/// The response instead of the requested page: a redirect or an error.
#[derive(Debug)]
pub struct PageError(Box<Response>);

impl From<Response> for PageError {
    fn from(response: Response) -> PageError {
        PageError(Box::new(response))
    }
}

impl From<ApiProblem> for PageError {
    fn from(problem: ApiProblem) -> PageError {
        problem.into_response().into()
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        *self.0
    }
}

/// The result of a page handler.
pub type PageResult = Result<Response, PageError>;

/// The state of a page handler.
pub type ApiState = State<Api>;

/// The person that a page is for, and the freeze that its header shows.
pub struct SignedIn {
    identity: PersonIdentity,
    /// The freeze in force.
    pub freeze: Option<Freeze>,
}

impl std::ops::Deref for SignedIn {
    type Target = PersonIdentity;

    fn deref(&self) -> &PersonIdentity {
        &self.identity
    }
}

/// The signed-in person, or a redirect to the sign-in page.
pub fn signed_in_page(api: &Api, headers: &HeaderMap, uri: &Uri) -> Result<SignedIn, PageError> {
    let identity = authenticate::person(api, headers).map_err(|_| {
        let wanted = uri.path_and_query().map_or("/", |path| path.as_str());
        let place = format!("/login?next={}", percent_encode(wanted));
        PageError::from((StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response())
    })?;
    Ok(SignedIn { identity, freeze: api.gate.freeze_state().current() })
}

/// The signed-in person for fragments: the script redirects by itself.
pub fn signed_in(api: &Api, headers: &HeaderMap) -> Result<PersonIdentity, PageError> {
    Ok(authenticate::person(api, headers)?)
}
