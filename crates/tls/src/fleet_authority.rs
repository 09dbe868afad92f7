//! The certificate authority of a fleet of agents: issues certificates and lists the revoked ones.

use countersign_types::time::{Millis, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DistinguishedName,
    DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256, PublicKeyData as _, RevokedCertParams, SanType, SerialNumber,
    date_time_ymd,
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use zeroize::Zeroizing;

use crate::certificate::CertificateFacts;
use crate::error::TlsError;
use crate::fleet_name::{AGENT_URI, FleetCertificate, authority_name, is_agent_name};
use crate::fleet_request::AgentPublicKey;
use crate::generate::{set_validity, since_1970};

const DAY: u64 = 86_400_000;
/// How long the authority's own certificate is valid.
const AUTHORITY_LIFE: Millis = Millis(3_650 * DAY);
/// Clocks of other machines may be behind.
const BACKDATED: i64 = 5 * 60_000;
/// How long a list of revoked certificates may be used.
pub const REVOCATION_LIST_LIFE: Millis = Millis(10 * 60_000);

/// The certificate authority of a fleet.
pub struct FleetAuthority {
    key: KeyPair,
    certificate: Vec<u8>,
    name: DistinguishedName,
}

/// A certificate to be issued.
#[derive(Debug, Clone)]
pub struct NewFleetCertificate<'a> {
    /// The agent.
    pub agent: &'a str,
    /// The host names and addresses at which it serves.
    pub hosts: &'a [String],
    /// Its public key.
    pub public_key: &'a AgentPublicKey,
    /// The serial number; unique.
    pub serial: [u8; 16],
    /// How long it is valid.
    pub life: Millis,
}

/// A revoked certificate: its serial number and when it was revoked.
pub type RevokedSerial = (Vec<u8>, Timestamp);

/// The key (PKCS #8) and certificate of a new authority.
pub fn generate_authority(
    fleet: &str,
    now: Timestamp,
) -> Result<(Zeroizing<Vec<u8>>, Vec<u8>), TlsError> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut params = CertificateParams::default();
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, fleet);
    name.push(DnType::OrganizationName, "Countersign fleet");
    params.distinguished_name = name;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    set_validity(&mut params, Timestamp(now.0 - BACKDATED), now.plus(AUTHORITY_LIFE));
    let certificate = params.self_signed(&key)?.der().to_vec();
    Ok((Zeroizing::new(key.serialize_der()), certificate))
}

impl FleetAuthority {
    /// From a key in PKCS #8 and the certificate, both in DER, new or of an existing authority.
    pub fn open(key: &[u8], certificate: &[u8]) -> Result<FleetAuthority, TlsError> {
        let bad = |why: &str| TlsError::Unusable(why.to_owned());
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key));
        let key = KeyPair::try_from(&key)
            .map_err(|_| bad("the authority's key is not a P-256, P-384, Ed25519 or RSA key"))?;
        let facts = CertificateFacts::parse(certificate)
            .ok_or_else(|| bad("the authority's certificate is malformed"))?;
        if facts.public_key != key.subject_public_key_info() {
            return Err(bad("the authority's certificate is of another key"));
        }
        let found = FleetCertificate::parse(certificate)
            .ok_or_else(|| bad("the authority's certificate is malformed"))?;
        if !found.is_authority {
            return Err(bad("this certificate is not of a certificate authority"));
        }
        let name = authority_name(found.subject)?;
        Ok(FleetAuthority { key, certificate: certificate.to_vec(), name })
    }

    /// The authority's own certificate, in DER.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Issues a certificate, in DER.
    pub fn issue(
        &self,
        new: &NewFleetCertificate<'_>,
        now: Timestamp,
    ) -> Result<Vec<u8>, TlsError> {
        if !is_agent_name(new.agent) {
            return Err(TlsError::Unusable(format!("`{}` is no name of an agent", new.agent)));
        }
        let mut params = CertificateParams::new(new.hosts.to_vec())?;
        let uri = format!("{AGENT_URI}{}", new.agent);
        params.subject_alt_names.push(SanType::URI(uri.try_into()?));
        let mut name = DistinguishedName::new();
        name.push(DnType::CommonName, new.agent);
        params.distinguished_name = name;
        params.serial_number = Some(SerialNumber::from_slice(&new.serial));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
        // Strict clients refuse a certificate without the identifier in the authority's own.
        params.use_authority_key_identifier_extension = self.key_id().is_some();
        set_validity(&mut params, Timestamp(now.0 - BACKDATED), now.plus(new.life));
        let issued = params.signed_by(new.public_key, &self.issuer())?.der().to_vec();
        let subject = FleetCertificate::parse(&self.certificate).map(|own| own.subject);
        // An issuer's name that differs in one byte makes every certificate invalid.
        if FleetCertificate::parse(&issued).map(|leaf| leaf.issuer) != subject {
            return Err(TlsError::Unusable("the authority's name cannot be repeated".to_owned()));
        }
        Ok(issued)
    }

    /// A signed list of the revoked certificates (a CRL), in DER.
    pub fn revocation_list(
        &self,
        revoked: &[RevokedSerial],
        number: u64,
        now: Timestamp,
    ) -> Result<Vec<u8>, TlsError> {
        let start = date_time_ymd(1970, 1, 1);
        let revoked_certs = revoked.iter().map(|(serial, at)| RevokedCertParams {
            serial_number: SerialNumber::from_slice(serial),
            revocation_time: start + since_1970(*at),
            reason_code: None,
            invalidity_date: None,
        });
        let params = CertificateRevocationListParams {
            this_update: start + since_1970(Timestamp(now.0 - BACKDATED)),
            next_update: start + since_1970(now.plus(REVOCATION_LIST_LIFE)),
            crl_number: SerialNumber::from(number),
            issuing_distribution_point: None,
            revoked_certs: revoked_certs.collect(),
            key_identifier_method: self.key_id().unwrap_or(KeyIdMethod::Sha256),
        };
        Ok(params.signed_by(&self.issuer())?.der().to_vec())
    }

    fn issuer(&self) -> Issuer<'_, &KeyPair> {
        let mut params = CertificateParams::default();
        params.distinguished_name = self.name.clone();
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.key_identifier_method = self.key_id().unwrap_or(KeyIdMethod::Sha256);
        Issuer::new(params, &self.key)
    }

    /// The identifier of the authority's key, as its own certificate has it.
    fn key_id(&self) -> Option<KeyIdMethod> {
        let id = FleetCertificate::parse(&self.certificate)?.key_ids.0?;
        Some(KeyIdMethod::PreSpecified(id.to_vec()))
    }
}
