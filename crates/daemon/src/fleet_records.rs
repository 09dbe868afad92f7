//! The record of every certificate that the fleet's authority issued.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::keys::{self, KeyError};

const RECORDS: &str = "certificates.json";

/// Why the records cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    /// The file has another content.
    #[error("{0}: {1}")]
    Unreadable(PathBuf, String),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] KeyError),
}

/// A certificate that was issued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssuedCertificate {
    /// The serial number, in hexadecimal.
    pub serial: String,
    /// The agent.
    pub agent: String,
    /// The host names and addresses at which it serves.
    pub hosts: Vec<String>,
    /// When it was issued, in milliseconds since 1970.
    pub issued: i64,
    /// When it expires.
    pub expires: i64,
    /// Until when its holder may renew it.
    pub renewable: i64,
    /// How long it and its successors are valid, in milliseconds.
    pub life: u64,
    /// When it was revoked.
    pub revoked: Option<i64>,
    /// The serial number of the certificate that it replaced.
    pub renews: Option<String>,
}

/// What the file of records holds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct CertificateRecords {
    /// The certificates, oldest first.
    pub certificates: Vec<IssuedCertificate>,
}

impl CertificateRecords {
    /// The records in this folder; empty without a file.
    pub fn read(folder: &Path) -> Result<CertificateRecords, RecordsError> {
        let file = folder.join(RECORDS);
        let bad = |why: String| RecordsError::Unreadable(file.clone(), why);
        match fs::read_to_string(&file) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| bad(error.to_string())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(CertificateRecords::default()),
            Err(error) => Err(bad(error.to_string())),
        }
    }

    /// Replaces the file in one step.
    pub fn write(&self, folder: &Path) -> Result<(), RecordsError> {
        let file = folder.join(RECORDS);
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| RecordsError::Unreadable(file.clone(), error.to_string()))?;
        Ok(keys::replace(&file, &text, 0o600)?)
    }
}

/// The bytes of a serial number.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok()).collect()
}
