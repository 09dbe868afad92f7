//! TLS between clients and the daemon: pinned keys, certificates, and the configuration of both
//! ends. Only TLS 1.3, without resumption; no setting accepts a certificate unchecked.

mod authority;
mod certificate;
mod client;
mod error;
mod generate;
mod pin;
mod server;
mod trust;

pub use authority::split_authority;
pub use certificate::CertificateFacts;
pub use client::{ClientTls, refusal};
pub use error::TlsError;
pub use generate::{CERTIFICATE_LIFE, RENEW_BEFORE, generate_key, issue_certificate, pem};
pub use pin::KeyPin;
pub use rustls;
pub use server::{ServerIdentity, certificate_file, server_config};
pub use trust::TlsTrust;
