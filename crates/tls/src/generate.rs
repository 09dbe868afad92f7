//! A key and a certificate of the daemon's own.

use std::fmt::Write as _;
use std::time::Duration;

use countersign_json::base64;
use countersign_types::time::{Millis, Timestamp};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair,
    PKCS_ECDSA_P256_SHA256, date_time_ymd,
};
use rustls::pki_types::PrivatePkcs8KeyDer;
use zeroize::Zeroizing;

use crate::error::TlsError;

const DAY: u64 = 86_400_000;
/// How long a certificate is valid. Browsers accept no more than 398 days.
pub const CERTIFICATE_LIFE: Millis = Millis(398 * DAY);
/// A certificate with less time left is replaced. Its key stays, and so does the pin.
pub const RENEW_BEFORE: Millis = Millis(60 * DAY);
/// Clocks of clients may be behind.
const BACKDATED: Millis = Millis(DAY);

/// A new P-256 key, as PKCS #8. Browsers do not accept Ed25519 certificates.
pub fn generate_key() -> Result<Zeroizing<Vec<u8>>, TlsError> {
    Ok(Zeroizing::new(KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?.serialize_der()))
}

/// A certificate that the key signs itself, for these host names and addresses; in DER.
pub fn issue_certificate(
    key: &[u8],
    names: &[String],
    now: Timestamp,
) -> Result<Vec<u8>, TlsError> {
    let key = PrivatePkcs8KeyDer::from(key);
    let key = KeyPair::from_pkcs8_der_and_sign_algo(&key, &PKCS_ECDSA_P256_SHA256)?;
    let mut params = CertificateParams::new(names.to_vec())?;
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, "Countersign");
    params.distinguished_name = subject;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let from = Timestamp(now.0.saturating_sub(BACKDATED.0.cast_signed()));
    set_validity(&mut params, from, now.plus(CERTIFICATE_LIFE));
    Ok(params.self_signed(&key)?.der().to_vec())
}

/// The validity of a certificate, in whole seconds.
pub(crate) fn set_validity(params: &mut CertificateParams, from: Timestamp, until: Timestamp) {
    params.not_before = date_time_ymd(1970, 1, 1) + since_1970(from);
    params.not_after = date_time_ymd(1970, 1, 1) + since_1970(until);
}

/// The time from 1970 on, in whole seconds.
pub(crate) fn since_1970(moment: Timestamp) -> Duration {
    Duration::from_secs(u64::try_from(moment.seconds()).unwrap_or_default())
}

/// A certificate in DER as PEM.
pub fn pem(der: &[u8]) -> String {
    pem_of("CERTIFICATE", der)
}

/// A private key in PKCS #8 as PEM.
pub fn key_pem(der: &[u8]) -> Zeroizing<String> {
    Zeroizing::new(pem_of("PRIVATE KEY", der))
}

fn pem_of(label: &str, der: &[u8]) -> String {
    let text = base64::encode(der);
    let mut out = format!("-----BEGIN {label}-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at_checked(64).unwrap_or((rest, ""));
        out.push_str(line);
        out.push('\n');
        rest = after;
    }
    let _ = writeln!(out, "-----END {label}-----");
    out
}
