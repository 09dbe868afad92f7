//! Settings of the file by which more calls would run without a person, or which would protect the
//! gate less. They wait for a person.

use std::sync::RwLock;

use countersign_json::canonical::Digest;

use crate::config::UnattendedSettings;

/// Settings that wait for a person.
#[derive(Debug, Clone)]
pub struct RequestedSettings {
    /// The settings of the file.
    pub settings: UnattendedSettings,
    /// What lets more calls run without a person or protects the gate less.
    pub changes: Vec<String>,
}

impl RequestedSettings {
    /// The hash by which a person names them.
    pub fn hash(&self) -> String {
        Digest::of(self.settings.to_json().as_bytes()).to_string()
    }
}

/// The settings that wait, once the gate knows which were confirmed.
pub(super) type WaitingSettings = RwLock<Option<Box<RequestedSettings>>>;
