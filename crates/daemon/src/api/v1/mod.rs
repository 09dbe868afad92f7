//! The v1 API: one file for each resource.

use axum::Router;

use super::Api;

mod administrator_body;
mod agents;
mod assess;
mod authzen;
mod batches;
mod calibration;
mod channels;
mod clock;
mod config;
mod crises;
mod decisions;
mod document;
mod drills;
mod events;
mod feedback;
mod freeze;
mod grant_shapes;
mod grant_suggestions;
mod grants;
mod installation;
mod judge;
mod ledger;
mod login;
mod metrics;
mod mode;
mod openapi;
mod passkeys;
mod people;
mod permits;
mod pki;
mod pki_nodes;
mod policy;
mod policy_projects;
mod policy_rules;
mod proposed_edit;
pub mod push;
mod quarantines;
mod recover;
mod reports;
mod requests;
mod reviews;
mod screen;
mod send_recovery;
mod servers;
mod sessions;
mod stats;

pub use calibration::{CalibrationData, calibration_data};
pub use decisions::{CheckedEdit, check_edit, deny};
pub use login::LOGIN;
#[cfg(test)]
pub use openapi::DOCUMENT;
pub use recover::RECOVER;
pub use requests::create_request;

/// The routes of the agent API.
pub fn agents() -> Router<Api> {
    Router::new()
        .merge(assess::agents())
        .merge(authzen::agents())
        .merge(batches::agents())
        .merge(events::agents())
        .merge(installation::agents())
        .merge(openapi::agents())
        .merge(permits::agents())
        .merge(pki::agents())
        .merge(pki_nodes::agents())
        .merge(reports::agents())
        .merge(requests::agents())
        .merge(screen::agents())
        .merge(servers::agents())
}

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new()
        .merge(agents::people())
        .merge(calibration::people())
        .merge(channels::people())
        .merge(config::people())
        .merge(crises::people())
        .merge(decisions::people())
        .merge(drills::people())
        .merge(events::people())
        .merge(feedback::people())
        .merge(freeze::people())
        .merge(grant_shapes::people())
        .merge(grant_suggestions::people())
        .merge(grants::people())
        .merge(judge::people())
        .merge(ledger::people())
        .merge(login::people())
        .merge(metrics::people())
        .merge(mode::people())
        .merge(policy::people())
        .merge(policy_projects::people())
        .merge(policy_rules::people())
        .merge(openapi::people())
        .merge(passkeys::people())
        .merge(people::people())
        .merge(pki::people())
        .merge(push::people())
        .merge(quarantines::people())
        .merge(recover::people())
        .merge(send_recovery::people())
        .merge(requests::people())
        .merge(reviews::people())
        .merge(servers::people())
        .merge(sessions::people())
        .merge(stats::people())
}
