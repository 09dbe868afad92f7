//! The web inbox: server-rendered pages, and scripts that follow events.

mod agents;
mod answer_form;
mod answer_times;
mod assessment;
mod assets;
mod attention;
mod calibration;
mod call;
mod card;
mod channels;
mod controls;
mod crises;
mod crisis_context;
mod delegated_tasks;
mod devices;
mod digests;
mod drills;
mod edited;
mod feedback;
mod fleet;
mod freeze;
mod grant_forms;
mod grants;
mod history;
mod labels;
mod layout;
mod ledger;
mod login;
mod lost_projects;
mod no_script;
mod page;
mod peer_report;
mod pending;
mod people;
mod plot;
mod review;
mod reviews;
mod segments;
mod servers;
mod sessions;
mod settings;
mod similar;
mod view;

use axum::Router;
use axum::routing::{get, post};

use crate::api::Api;

pub use edited::CHECK_EDIT;
pub use no_script::DENY;

/// The routes of the pages.
pub fn pages() -> Router<Api> {
    Router::new()
        .route("/", get(pending::page))
        .route("/inbox/rail", get(pending::rail))
        .route("/inbox/ids", get(pending::ids))
        .route("/inbox/digests", get(pending::digest_cards))
        .route("/inbox/row/{id}", get(pending::row))
        .route("/inbox/card/{id}", get(pending::card))
        .route(CHECK_EDIT, post(edited::check))
        .route(DENY, post(no_script::deny))
        .route("/review", get(review::page))
        .route("/reviews", get(reviews::page))
        .route("/requests/{id}", get(history::one))
        .route("/sessions", get(sessions::page))
        .route("/settings", get(settings::page))
        .route("/attention", get(attention::page))
        .route("/calibration", get(calibration::page))
        .route("/history", get(history::page))
        .route("/ledger", get(ledger::page))
        .route("/grants", get(grants::page))
        .route("/servers", get(servers::page))
        .route("/agents", get(agents::page))
        .route("/fleet", get(fleet::page))
        .route("/people", get(people::page))
        .route("/devices", get(devices::page))
        .route("/channels", get(channels::page))
        .route("/crises", get(crises::page))
        .route("/login", get(login::page))
        .merge(assets::files())
}
