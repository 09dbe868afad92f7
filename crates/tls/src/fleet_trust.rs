//! Which certificates of a fleet are accepted: issued by its authority, valid, not revoked, and
//! naming an agent. Without a current list of revoked certificates, none is.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use countersign_types::time::{Millis, Timestamp};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{CertificateError, DistinguishedName, Error, RootCertStore};

use crate::error::TlsError;
use crate::fleet_authority::REVOCATION_LIST_LIFE;
use crate::fleet_name::FleetCertificate;
use crate::revocation_list::RevocationList;

/// How far the clock of the authority may be ahead.
const CLOCK_DIFFERENCE: Millis = Millis(5 * 60_000);

/// The trust of one node in its fleet. The list of revoked certificates is replaced while it runs.
#[derive(Debug)]
pub struct FleetTrust {
    authority: Vec<u8>,
    roots: Arc<RootCertStore>,
    hints: Vec<DistinguishedName>,
    current: RwLock<Option<Arc<CurrentList>>>,
    generation: AtomicU64,
    /// How long after it was fetched a list is used, in milliseconds.
    max_age: AtomicU64,
}

#[derive(Debug)]
struct CurrentList {
    client: Arc<dyn ClientCertVerifier>,
    server: Arc<WebPkiServerVerifier>,
    from: Timestamp,
    until: Timestamp,
    /// When it was fetched. The same list again is no news: it may come from somebody who holds
    /// newer ones back.
    taken: Timestamp,
}

impl CurrentList {
    fn is_usable(&self, now: Timestamp, max_age: Millis) -> bool {
        now < self.until && now < self.taken.plus(max_age)
    }
}

impl FleetTrust {
    /// Trusts the authority with this certificate, in DER; no list of revoked certificates yet.
    pub fn new(authority: &[u8]) -> Result<FleetTrust, TlsError> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(authority.to_vec()))?;
        let hints = roots.subjects();
        let current = RwLock::new(None);
        Ok(FleetTrust {
            authority: authority.to_vec(),
            roots: Arc::new(roots),
            hints,
            current,
            generation: AtomicU64::new(0),
            max_age: AtomicU64::new(REVOCATION_LIST_LIFE.0),
        })
    }

    /// Accepts nobody once the newest list was fetched longer ago than this.
    pub fn limit_age(&self, max_age: Millis) {
        self.max_age.store(max_age.0, Ordering::Release);
    }

    /// Uses another list of revoked certificates, in DER. It must be signed by the authority, not
    /// dated in the future, and not older than the one in use: otherwise one list could block every
    /// later one.
    pub fn use_list(&self, list: &[u8], now: Timestamp) -> Result<(), TlsError> {
        self.take_list(list, now, false)
    }

    /// Uses a list that was kept in a file: it is as old as its signature.
    pub fn use_kept_list(&self, list: &[u8], now: Timestamp) -> Result<(), TlsError> {
        self.take_list(list, now, true)
    }

    fn take_list(&self, list: &[u8], now: Timestamp, is_kept: bool) -> Result<(), TlsError> {
        let bad = |why: String| TlsError::Unusable(why);
        let parsed = RevocationList::parse(list)
            .ok_or_else(|| bad("the list of revoked certificates is malformed".to_owned()))?;
        if !parsed.is_of(&self.authority) {
            return Err(bad("the list of revoked certificates is not of this authority".into()));
        }
        let RevocationList { from, until, .. } = parsed;
        if from > now.plus(CLOCK_DIFFERENCE) {
            return Err(bad(format!(
                "the list of revoked certificates is of {from}, which is in the future; check the \
                 clocks of this machine and of the authority"
            )));
        }
        let lists = || vec![CertificateRevocationListDer::from(list.to_vec())];
        let provider = Arc::new(ring::default_provider());
        let roots = Arc::clone(&self.roots);
        let client = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider))
            .with_crls(lists())
            .enforce_revocation_expiration()
            .build()
            .map_err(|error| bad(error.to_string()))?;
        let roots = Arc::clone(&self.roots);
        let server = WebPkiServerVerifier::builder_with_provider(roots, provider)
            .with_crls(lists())
            .enforce_revocation_expiration()
            .build()
            .map_err(|error| bad(error.to_string()))?;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_some_and(|current| from < current.from) {
            return Err(
                bad("the list of revoked certificates is older than the one in use".into()),
            );
        }
        let known = current.as_ref().filter(|current| current.from == from);
        // Lists are dated back; the end of their life says when they were signed.
        let life = i64::try_from(REVOCATION_LIST_LIFE.0).unwrap_or(i64::MAX);
        let signed = Timestamp(until.0.saturating_sub(life));
        // A list that was held back for longer than clocks differ is not new either.
        let latest = if is_kept { signed } else { signed.plus(CLOCK_DIFFERENCE) };
        let fetched = latest.min(now);
        let taken = known.map_or(fetched, |known| known.taken);
        *current = Some(Arc::new(CurrentList { client, server, from, until, taken }));
        self.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Changes with every list: what was checked under an earlier one is checked again.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Whether the list may still be used.
    pub fn is_current(&self, now: Timestamp) -> bool {
        self.list_at(now).is_some()
    }

    /// The agent of a client's certificate, if it is accepted now.
    pub fn check_client(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> Option<String> {
        let (first, rest) = chain.split_first()?;
        self.accept_client(first, rest, now).ok()
    }

    /// The agent of one certificate, in DER, if it is accepted at this time.
    pub fn check_client_at(&self, certificate: &[u8], now: Timestamp) -> Option<String> {
        let seconds = u64::try_from(now.seconds()).ok()?;
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        self.check_client(&[CertificateDer::from(certificate.to_vec())], now)
    }

    pub(crate) fn accept_client(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<String, Error> {
        let list = self.list_at(timestamp(now)).ok_or_else(no_list)?;
        list.client.verify_client_cert(certificate, intermediates, now)?;
        agent_of(certificate)
    }

    pub(crate) fn accept_server(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<String, Error> {
        let list = self.list_at(timestamp(now)).ok_or_else(no_list)?;
        list.server.verify_server_cert(certificate, intermediates, host, &[], now)?;
        agent_of(certificate)
    }

    pub(crate) fn hints(&self) -> &[DistinguishedName] {
        &self.hints
    }

    /// The list, if it may be used at this time.
    fn list_at(&self, now: Timestamp) -> Option<Arc<CurrentList>> {
        let max_age = Millis(self.max_age.load(Ordering::Acquire));
        let list = self.current.read().unwrap_or_else(PoisonError::into_inner).clone();
        list.filter(|list| list.is_usable(now, max_age))
    }
}

fn timestamp(now: UnixTime) -> Timestamp {
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    Timestamp(seconds.saturating_mul(1000))
}

/// The agent that a certificate names.
fn agent_of(certificate: &CertificateDer<'_>) -> Result<String, Error> {
    let agent = FleetCertificate::parse(certificate).and_then(|found| found.agent);
    agent
        .map(ToOwned::to_owned)
        .ok_or(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
}

fn no_list() -> Error {
    Error::InvalidCertificate(CertificateError::UnknownRevocationStatus)
}
