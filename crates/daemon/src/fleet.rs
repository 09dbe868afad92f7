//! The certificate authority of the agents' fleet, in the state folder: its key never leaves it.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use countersign_json::canonical::Digest;
use countersign_ledger::entry::Entry;
use countersign_store::{Backend, Store as _, StoreError};
use countersign_text::decode::hex_exact;
use countersign_tls::{
    AgentPublicKey, FleetAuthority, FleetCertificate, KeyPin, NewFleetCertificate, TlsError,
    certificate_file, hex, pem, renewal_text,
};
use countersign_types::time::{Millis, Timestamp};
use tokio::sync::{Mutex, MutexGuard};

use crate::fleet_nodes::NodeReports;
use crate::fleet_records::{CertificateRecords, IssuedCertificate, RENEWABLE};
use crate::keys::{self, KeyError};
use crate::random::{self, EntropyUnavailable};

const KEY: &str = "ca.key";
const CERTIFICATE: &str = "ca.crt";
/// How far the clock of an agent that renews may differ.
const CLOCK_DIFFERENCE: i64 = 5 * 60_000;
/// A certificate is renewed at most once in this time, so that its holder cannot fill the ledger.
const HOUR: i64 = 3_600_000;

/// Why the authority cannot do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// There is no authority yet.
    #[error("there is no fleet authority; run `countersign pki init` first")]
    NotSetUp,
    /// There is one already.
    #[error("there is a fleet authority already; it is not replaced")]
    AlreadySetUp,
    /// No certificate fits.
    #[error("no valid certificate of this agent or with this serial number was found")]
    NotFound,
    /// The caller does not hold the certificate's key, or the certificate cannot be renewed.
    #[error("this certificate cannot be renewed: {0}; a person can issue a new one")]
    NotRenewable(&'static str),
    /// The caller does not hold the key of a valid certificate.
    #[error("this certificate is not accepted: {0}")]
    NotAccepted(&'static str),
    /// A key or certificate.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A file.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The ledger does not prove which certificates are revoked.
    #[error("the ledger does not say for certain which certificates are revoked; none is accepted")]
    Unproven,
    /// The authority's files are not those that the ledger names.
    #[error(
        "the fleet's authority in {0} is not the one in the ledger; no agent is accepted until \
         the files are restored"
    )]
    Replaced(PathBuf),
    /// The system has no randomness.
    #[error(transparent)]
    EntropyUnavailable(#[from] EntropyUnavailable),
}

/// A certificate that a person asks for.
pub struct CertificateRequest<'a> {
    /// The agent.
    pub agent: &'a str,
    /// Its hosts.
    pub hosts: Vec<String>,
    /// Its key.
    pub public_key: AgentPublicKey,
    /// How long it is valid.
    pub life: Millis,
}

/// What the holder of a certificate signed, and when.
pub struct HolderProof<'a> {
    /// The certificate, in DER.
    pub certificate: &'a [u8],
    /// When it was signed, in milliseconds since 1970.
    pub at: i64,
    /// The signature.
    pub signature: &'a [u8],
}

/// The certificate authority of the agents' fleet. Which certificates are valid is what the ledger
/// says; without an intact ledger it issues and accepts nothing.
pub struct Fleet {
    folder: PathBuf,
    changing: Mutex<()>,
    /// Nothing if the ledger was changed, or has an entry that cannot be understood.
    records: RwLock<Option<CertificateRecords>>,
    /// What nodes reported about themselves.
    pub nodes: NodeReports,
}

impl Fleet {
    /// In this state folder, without certificates.
    #[cfg(test)]
    pub fn new(state: &Path) -> Fleet {
        Fleet::with(state, Some(CertificateRecords::default()))
    }

    /// In this state folder, with the certificates in the ledger of this store.
    pub async fn open(state: &Path, store: &Backend) -> Result<Fleet, StoreError> {
        let entries = store.newest_entries().await?.certificates;
        let records = CertificateRecords::of(&entries);
        let is_intact = store.has_intact_ledger().await?;
        Ok(Fleet::with(state, records.filter(|_| is_intact)))
    }

    fn with(state: &Path, records: Option<CertificateRecords>) -> Fleet {
        let records = RwLock::new(records);
        let nodes = NodeReports::default();
        Fleet { folder: state.join("pki"), changing: Mutex::new(()), records, nodes }
    }

    /// Adds what a new entry of the ledger says.
    pub fn apply(&self, entry: &Entry<'_>) {
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        if records.as_mut().is_some_and(|records| records.apply(entry).is_none()) {
            *records = None;
        }
    }

    /// Why no agent is accepted, if that is so.
    pub fn fault(&self) -> Option<FleetError> {
        let is_known = match self.read(|records| records.authority.is_some()) {
            Ok(is_known) => is_known,
            Err(error) => return Some(error),
        };
        if is_known || self.is_set_up() { self.authority().err() } else { None }
    }

    fn read<T>(&self, read: impl FnOnce(&CertificateRecords) -> T) -> Result<T, FleetError> {
        let records = self.records.read().unwrap_or_else(PoisonError::into_inner);
        records.as_ref().map(read).ok_or(FleetError::Unproven)
    }

    /// Waits until no other change is in progress.
    pub async fn lock(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().await
    }

    /// Whether there is an authority.
    pub fn is_set_up(&self) -> bool {
        self.folder.join(CERTIFICATE).exists()
    }

    /// Sets the authority up with this key (PKCS #8) and certificate, both in DER.
    pub fn set_up(&self, key: &[u8], certificate: &[u8]) -> Result<(), FleetError> {
        if self.is_set_up() {
            return Err(FleetError::AlreadySetUp);
        }
        FleetAuthority::open(key, certificate)?;
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.map_err(|error| KeyError::File(self.folder.clone(), error))?;
        // The certificate last: with it the authority exists.
        keys::replace(&self.folder.join(KEY), &countersign_tls::key_pem(key), 0o600)?;
        Ok(keys::replace(&self.folder.join(CERTIFICATE), &pem(certificate), 0o644)?)
    }

    /// The authority's certificate, in DER.
    pub fn certificate(&self) -> Result<Vec<u8>, FleetError> {
        if !self.is_set_up() {
            return Err(FleetError::NotSetUp);
        }
        let chain = certificate_file(&self.folder.join(CERTIFICATE))?;
        let certificate = chain.first().map(|first| first.to_vec()).ok_or(FleetError::NotSetUp)?;
        let pin = KeyPin::of_certificate(&certificate)?.to_string();
        if self.read(|records| records.authority.as_deref() == Some(pin.as_str()))? {
            Ok(certificate)
        } else {
            Err(FleetError::Replaced(self.folder.clone()))
        }
    }

    /// Every certificate that was issued.
    pub fn certificates(&self) -> Result<Vec<IssuedCertificate>, FleetError> {
        self.read(|records| records.certificates.clone())
    }

    /// A new certificate for an agent, and its record, which is not in the ledger yet.
    pub fn prepare(
        &self,
        request: &CertificateRequest<'_>,
        renews: Option<&IssuedCertificate>,
        now: Timestamp,
    ) -> Result<(Vec<u8>, IssuedCertificate), FleetError> {
        let mut serial = random::bytes::<16>()?;
        // Positive and of full length: the same text everywhere.
        serial[0] = serial[0] & 0x3f | 0x40;
        let new = NewFleetCertificate {
            agent: request.agent,
            hosts: &request.hosts,
            public_key: &request.public_key,
            serial,
            life: request.life,
        };
        let certificate = self.authority()?.issue(&new, now)?;
        let record = IssuedCertificate {
            serial: hex(&serial),
            fingerprint: Some(Digest::of(&certificate).to_string()),
            agent: request.agent.to_owned(),
            hosts: request.hosts.clone(),
            issued: now.0,
            expires: now.plus(request.life).0,
            renewable: renews.map_or(now.plus(RENEWABLE).0, |old| old.renewable),
            life: request.life.0,
            revoked: None,
            renews: renews.map(|old| old.serial.clone()),
        };
        Ok((certificate, record))
    }

    /// The record of a certificate that its holder may renew now, with its key.
    pub fn renewable(
        &self,
        proof: &HolderProof<'_>,
        now: Timestamp,
    ) -> Result<(IssuedCertificate, AgentPublicKey), FleetError> {
        let no = FleetError::NotRenewable;
        let held = self.holder(proof, |serial| renewal_text(serial, proof.at), now);
        let (record, key) = held.map_err(|error| match error {
            FleetError::NotAccepted(why) => no(why),
            other => other,
        })?;
        let is_recent = |one: &IssuedCertificate| {
            one.renews.is_some() && one.agent == record.agent && one.issued > now.0 - HOUR
        };
        if self.certificates()?.iter().any(is_recent) {
            return Err(no("it was renewed less than an hour ago"));
        }
        if record.renewable <= now.0 {
            return Err(no("it was renewed for a year"));
        }
        Ok((record, key))
    }

    /// The record of a valid certificate whose holder signed what `text` makes of its serial
    /// number, and its key.
    pub fn holder(
        &self,
        proof: &HolderProof<'_>,
        text: impl FnOnce(&[u8]) -> String,
        now: Timestamp,
    ) -> Result<(IssuedCertificate, AgentPublicKey), FleetError> {
        let (no, certificate) = (FleetError::NotAccepted, proof.certificate);
        let found = FleetCertificate::parse(certificate).ok_or(no("it is malformed"))?;
        let serial = hex(found.serial);
        let record = self.read(|records| records.find(&serial).cloned())?;
        let record = record.ok_or(no("this authority did not issue it"))?;
        let facts = countersign_tls::CertificateFacts::parse(certificate);
        let point = facts.and_then(|facts| facts.public_key.last_chunk::<65>().copied());
        let key = point.and_then(|point| AgentPublicKey::from_bytes(&point));
        let key = key.ok_or(no("its key is not a P-256 key"))?;
        // What was issued under this serial number has exactly these bytes.
        let fleet = countersign_tls::FleetTrust::new(&self.certificate()?)?;
        fleet.use_list(&self.sign_list(&[], 0, now)?, now)?;
        if fleet.check_client_at(certificate, now).as_deref() != Some(record.agent.as_str()) {
            return Err(no("it is expired or not of this fleet"));
        }
        if !key.has_signed(text(found.serial).as_bytes(), proof.signature)
            || now.0.abs_diff(proof.at) > CLOCK_DIFFERENCE.unsigned_abs()
        {
            return Err(no("the proof of its key is wrong or too old"));
        }
        if record.revoked.is_some() {
            return Err(no("it is revoked"));
        }
        Ok((record, key))
    }

    /// The serial numbers of the valid certificates of an agent, or the one serial number.
    pub fn valid(&self, word: &str, now: Timestamp) -> Result<Vec<String>, FleetError> {
        let records = self.certificates()?.into_iter();
        let fits = |one: &IssuedCertificate| {
            one.revoked.is_none()
                && one.expires > now.0
                && (one.agent == word || one.serial == word)
        };
        let found: Vec<String> = records.filter(fits).map(|one| one.serial).collect();
        if found.is_empty() { Err(FleetError::NotFound) } else { Ok(found) }
    }

    /// The signed list of the revoked certificates, in DER.
    pub fn revocation_list(&self, now: Timestamp) -> Result<Vec<u8>, FleetError> {
        let records = self.certificates()?;
        let revoked = records.iter().filter_map(|one| {
            let serial = hex_exact(&one.serial)?;
            Some((serial, Timestamp(one.revoked?)))
        });
        // Milliseconds grow with every list.
        self.sign_list(&revoked.collect::<Vec<_>>(), now.0.unsigned_abs(), now)
    }

    fn sign_list(
        &self,
        revoked: &[countersign_tls::RevokedSerial],
        number: u64,
        now: Timestamp,
    ) -> Result<Vec<u8>, FleetError> {
        Ok(self.authority()?.revocation_list(revoked, number, now)?)
    }

    fn authority(&self) -> Result<FleetAuthority, FleetError> {
        let certificate = self.certificate()?;
        let file = self.folder.join(KEY);
        let key = countersign_tls::private_key_file(&file)?;
        Ok(FleetAuthority::open(&key, &certificate)?)
    }
}
