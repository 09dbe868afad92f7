//! The web inbox: pages made on the server, a little script that follows what happens.

mod assets;
mod attention;
mod calibrate;
mod call;
mod card;
mod channels;
mod devices;
mod earlier;
mod edited;
mod frame;
mod history;
mod ledger;
mod login;
mod plain;
mod plot;
mod practice;
mod review;
mod rules;
mod sessions;
mod settings;
mod view;
mod waiting;
mod words;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use crate::api::{Api, Problem, who};
use crate::auth::Who;

pub use edited::CHECK_EDIT;
pub use plain::DENY;

/// What browsers see.
pub fn pages() -> Router<Api> {
    Router::new()
        .route("/", get(waiting::page))
        .route("/inbox/rail", get(waiting::rail))
        .route("/inbox/ids", get(waiting::ids))
        .route("/inbox/row/{id}", get(waiting::row))
        .route("/inbox/card/{id}", get(waiting::card))
        .route(CHECK_EDIT, post(edited::check))
        .route(DENY, post(plain::deny))
        .route("/review", get(review::page))
        .route("/requests/{id}", get(history::one))
        .route("/sessions", get(sessions::page))
        .route("/settings", get(rules::page))
        .route("/attention", get(attention::page))
        .route("/calibration", get(calibrate::page))
        .route("/history", get(history::page))
        .route("/ledger", get(ledger::page))
        .route("/grants", get(settings::grants))
        .route("/agents", get(settings::agents))
        .route("/people", get(settings::people))
        .route("/devices", get(devices::page))
        .route("/channels", get(channels::page))
        .route("/crises", get(settings::crises))
        .route("/login", get(login::page))
        .merge(assets::files())
}

/// What is answered instead of the page that was wanted.
#[derive(Debug)]
struct Away(Box<Response>);

impl From<Response> for Away {
    fn from(response: Response) -> Away {
        Away(Box::new(response))
    }
}

impl From<Problem> for Away {
    fn from(problem: Problem) -> Away {
        problem.into_response().into()
    }
}

impl IntoResponse for Away {
    fn into_response(self) -> Response {
        *self.0
    }
}

/// What every page handler answers.
type Shown = Result<Response, Away>;

/// The state that page handlers take.
type House = State<Api>;

/// The person who looks, or the way to the login page.
fn visitor(api: &Api, headers: &HeaderMap, uri: &Uri) -> Result<Who, Away> {
    who::person(api, headers).map_err(|_| {
        let wanted = uri.path_and_query().map_or("/", |path| path.as_str());
        let place = format!("/login?next={}", words::encoded(wanted));
        (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response().into()
    })
}

/// The same for parts of a page: the script goes to the login page itself.
fn reader(api: &Api, headers: &HeaderMap) -> Result<Who, Away> {
    Ok(who::person(api, headers)?)
}
