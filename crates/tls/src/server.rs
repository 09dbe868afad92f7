//! The server's end: its key and certificate, which may be replaced while it runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;

use zeroize::Zeroizing;

use crate::error::TlsError;
use crate::pin::KeyPin;

/// The key and certificate of a server.
#[derive(Debug)]
pub struct ServerIdentity(RwLock<Arc<CertifiedKey>>);

impl ServerIdentity {
    /// From a key in PKCS #8 and one certificate, both in DER.
    pub fn from_der(key: &[u8], certificate: &[u8]) -> Result<ServerIdentity, TlsError> {
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.to_vec()));
        let chain = vec![CertificateDer::from(certificate.to_vec())];
        let found = CertifiedKey::from_der(chain, key, &ring::default_provider())?;
        Ok(ServerIdentity(RwLock::new(Arc::new(found))))
    }

    /// From PEM files: a certificate with its chain, and its key, which only its owner may read.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<ServerIdentity, TlsError> {
        let chain = certificate_file(certificate)?;
        let at = |why: String| TlsError::File(key.to_owned(), why);
        let mode = fs::metadata(key).map_err(|error| at(error.to_string()))?.permissions().mode();
        // A group may read it: administrators share keys between services that way.
        if mode & 0o027 != 0 {
            return Err(at("other users can read or change this key; run chmod 640".to_owned()));
        }
        let private = PrivateKeyDer::from_pem_file(key).map_err(|error| at(error.to_string()))?;
        let found = CertifiedKey::from_der(chain, private, &ring::default_provider())
            .map_err(|error| at(error.to_string()))?;
        Ok(ServerIdentity(RwLock::new(Arc::new(found))))
    }

    /// Serves another one's key and certificate from now on.
    pub fn replace(&self, other: &ServerIdentity) {
        let new = other.current();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = new;
    }

    /// The pin of the key.
    pub fn pin(&self) -> Result<KeyPin, TlsError> {
        let current = self.current();
        KeyPin::of_certificate(current.end_entity_cert()?)
    }

    fn current(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ResolvesServerCert for ServerIdentity {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current())
    }
}

/// The private key in a PEM file, as PKCS #8. Only its owner may read the file.
pub fn private_key_file(file: &Path) -> Result<Zeroizing<Vec<u8>>, TlsError> {
    let at = |why: String| TlsError::File(file.to_owned(), why);
    let mode = fs::metadata(file).map_err(|error| at(error.to_string()))?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(at("other users can read or change this key; run chmod 600".to_owned()));
    }
    let key = PrivateKeyDer::from_pem_file(file).map_err(|error| at(error.to_string()))?;
    match &key {
        PrivateKeyDer::Pkcs8(key) => Ok(Zeroizing::new(key.secret_pkcs8_der().to_vec())),
        _ => Err(at("the key is not in the form PKCS #8".to_owned())),
    }
}

/// The certificates in a PEM file, the server's own first.
pub fn certificate_file(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let at = |why: String| TlsError::File(file.to_owned(), why);
    let found = CertificateDer::pem_file_iter(file).map_err(|error| at(error.to_string()))?;
    let chain: Result<Vec<_>, _> = found.collect();
    let chain = chain.map_err(|error| at(error.to_string()))?;
    if chain.is_empty() { Err(at("the file has no certificate".to_owned())) } else { Ok(chain) }
}

/// The configuration of a server that asks its clients for no certificate.
pub fn server_config(identity: Arc<ServerIdentity>) -> Result<Arc<ServerConfig>, TlsError> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(identity);
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.max_early_data_size = 0;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
