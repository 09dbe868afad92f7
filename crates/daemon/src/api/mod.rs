//! The HTTP API: state, authentication and the handlers. `routes` connects them to paths.

mod access_offer;
pub(crate) mod authenticate;
pub(crate) mod confirm;
mod credentials;
pub(crate) mod fields;
pub(crate) mod health;
mod passkey_signature;
mod problem;
pub(crate) mod respond;
pub(crate) mod session_key;
mod state;
pub(crate) mod step_up;
mod tokenless_waits;
pub(crate) mod v1;
pub(crate) mod webhooks;

#[cfg(test)]
mod tests;

pub(crate) use credentials::proven;
pub use problem::{ApiProblem, ApiResult};
pub use state::{Api, ApiParts};
#[cfg(test)]
pub use step_up::HEADER as STEP_UP;
pub use step_up::StepUpProof;
#[cfg(test)]
pub use v1::DOCUMENT;
pub use v1::push;
pub(crate) use v1::{CalibrationData, CheckedEdit, calibration_data, check_edit, deny};
