//! The routes of the agent API and of the people API, and the checks before each handler.

mod agent_api;
mod people_api;
mod responses;
mod signed_response;
mod step_up;

pub use agent_api::AgentApi;
#[cfg(test)]
pub use agent_api::agents;
pub use people_api::people;
#[cfg(test)]
pub use step_up::{EXEMPT, NEEDED};
