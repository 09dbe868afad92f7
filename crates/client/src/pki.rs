//! The certificates of the agents' fleet, for people.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::people::PeopleClient;

/// A certificate that was issued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertificateRecord {
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
    /// When it was revoked.
    pub revoked: Option<i64>,
    /// The serial number of the certificate that it replaced.
    pub renews: Option<String>,
}

/// A new certificate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct IssuedRecord {
    /// The certificate, in PEM.
    pub certificate: String,
    /// The authority's certificate, in PEM.
    pub authority: String,
    /// Its record.
    pub record: CertificateRecord,
}

/// The authority and every certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetRecord {
    /// The authority, if there is one.
    pub authority: Option<serde_json::Value>,
    /// The certificates, oldest first.
    pub certificates: Vec<CertificateRecord>,
}

impl PeopleClient {
    /// The authority and every certificate.
    pub fn fleet(&self) -> Result<FleetRecord, Error> {
        self.read("/v1/pki")
    }

    /// Sets the authority up; returns its certificate and pin.
    pub fn set_up_fleet(&self, body: &serde_json::Value) -> Result<serde_json::Value, Error> {
        #[derive(Deserialize)]
        struct SetUp {
            authority: serde_json::Value,
        }
        self.change::<SetUp>("/v1/pki", body).map(|made| made.authority)
    }

    /// Issues a certificate.
    pub fn issue_certificate(&self, body: &serde_json::Value) -> Result<IssuedRecord, Error> {
        self.change("/v1/pki/certificates", body)
    }

    /// Revokes the certificates of an agent, or one by its serial number; returns their numbers.
    pub fn revoke_certificates(&self, which: &str) -> Result<Vec<String>, Error> {
        #[derive(Deserialize)]
        struct Revoked {
            revoked: Vec<String>,
        }
        let body = serde_json::json!({ "certificate": which });
        self.change::<Revoked>("/v1/pki/revocations", &body).map(|done| done.revoked)
    }
}
