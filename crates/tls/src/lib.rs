//! TLS between clients and the daemon, and mutual TLS between agents of a fleet: pinned keys,
//! certificates, the fleet's authority, and the configuration of both ends. Only TLS 1.3, without
//! resumption; no setting accepts a certificate unchecked.

mod authority;
mod certificate;
mod client;
mod error;
mod es256;
mod fleet_authority;
mod fleet_name;
mod fleet_request;
#[cfg(test)]
mod fleet_tests;
mod fleet_tls;
mod fleet_trust;
mod generate;
mod pin;
mod revocation_list;
mod server;
mod trust;

pub use authority::split_authority;
pub use certificate::CertificateFacts;
pub use client::{ClientTls, refusal};
pub use error::TlsError;
pub use es256::{sign_es256, verify_es256};
pub use fleet_authority::{
    FleetAuthority, NewFleetCertificate, REVOCATION_LIST_LIFE, RevokedSerial, generate_authority,
};
pub use fleet_name::{AGENT_URI, FleetCertificate, is_agent_name};
pub use fleet_request::{
    AgentPublicKey, hex, issue_text, node_report_text, renewal_text, sign_with_key,
};
pub use fleet_tls::{fleet_client_config, fleet_server_config};
pub use fleet_trust::FleetTrust;
pub use generate::{CERTIFICATE_LIFE, RENEW_BEFORE, generate_key, issue_certificate, key_pem, pem};
pub use pin::KeyPin;
pub use rustls;
pub use server::{ServerIdentity, certificate_file, private_key_file, server_config};
pub use trust::TlsTrust;
