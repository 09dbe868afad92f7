//! Plain data types that every crate shares: tiers, ids, points in time, spans of text.

pub mod id;
pub mod span;
pub mod tier;
pub mod time;

/// The file in the folder of the gateways that exists while everything is frozen: a gateway that
/// sees it decides nothing by itself and asks the daemon about every call.
pub const FREEZE_MARKER: &str = "frozen";

/// The file in the same folder that exists while policy rules deny calls or ask about them: a call
/// that only reads may be one of them, so that gateways ask the daemon about every call.
pub const POLICY_MARKER: &str = "policy";

/// The file in the same folder with the configured country and wording of the crisis card, so that
/// a gateway whose daemon does not answer shows the helplines of the right country.
pub const CARD_SETTINGS: &str = "card";

/// The file with the policy rules of a project, in its root folder.
pub const PROJECT_FILE: &str = ".countersign.toml";

/// The runtime folder of a daemon that is a system service, with the agents' socket in it. Only
/// root can create it.
#[cfg(not(target_os = "macos"))]
pub const SYSTEM_RUNTIME_FOLDER: &str = "/run/countersign";
/// The runtime folder of a daemon that is a system service, with the agents' socket in it. Only
/// root can create it.
#[cfg(target_os = "macos")]
pub const SYSTEM_RUNTIME_FOLDER: &str = "/var/db/countersign-run";
