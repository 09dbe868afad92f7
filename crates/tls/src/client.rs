//! The client's end: a connection that accepts only the trusted certificate.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use countersign_types::time::Timestamp;
use rustix::process::getuid;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};

use crate::authority::split_authority;
use crate::certificate::CertificateFacts;
use crate::error::TlsError;
use crate::pin::KeyPin;
use crate::trust::TlsTrust;

/// The configuration of a client.
#[derive(Debug, Clone)]
pub struct ClientTls(Arc<ClientConfig>);

impl ClientTls {
    /// A client that accepts what `trust` says.
    pub fn new(trust: &TlsTrust) -> Result<ClientTls, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let verifier: Arc<dyn ServerCertVerifier> = match trust {
            TlsTrust::Pin(pin) => Arc::new(PinVerifier { pin: *pin, provider: provider.clone() }),
            TlsTrust::CaFile(file) => {
                let roots = Arc::new(roots(file)?);
                WebPkiServerVerifier::builder_with_provider(roots, provider.clone())
                    .build()
                    .map_err(|error| TlsError::File(file.clone(), error.to_string()))?
            }
        };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        // Each connection proves the key again.
        config.resumption = Resumption::disabled();
        Ok(ClientTls(Arc::new(config)))
    }

    /// A new connection to `host:port`.
    pub fn connection(&self, authority: &str) -> Result<ClientConnection, TlsError> {
        let (host, _) = split_authority(authority);
        let name =
            ServerName::try_from(host.to_owned()).map_err(|_| TlsError::Host(host.to_owned()))?;
        Ok(ClientConnection::new(Arc::clone(&self.0), name)?)
    }

    /// The configuration, for an asynchronous connector.
    pub fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0)
    }
}

/// The authorities in a PEM file. A file that another user can change vouches for nothing.
fn roots(file: &Path) -> Result<RootCertStore, TlsError> {
    let at = |why: String| TlsError::File(file.to_owned(), why);
    let found = fs::metadata(file).map_err(|error| at(error.to_string()))?;
    if found.mode() & 0o022 != 0 || ![0, getuid().as_raw()].contains(&found.uid()) {
        return Err(at("other users can change this file; run chmod 644 and chown".to_owned()));
    }
    let mut roots = RootCertStore::empty();
    let certificates =
        CertificateDer::pem_file_iter(file).map_err(|error| at(error.to_string()))?;
    let certificates: Result<Vec<_>, _> = certificates.collect();
    roots.add_parsable_certificates(certificates.map_err(|error| at(error.to_string()))?);
    if roots.is_empty() {
        return Err(at("the file has no usable certificate".to_owned()));
    }
    Ok(roots)
}

/// Accepts a valid certificate with one key.
#[derive(Debug)]
struct PinVerifier {
    pin: KeyPin,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for PinVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let refused = |why: CertificateError| Error::InvalidCertificate(why);
        let facts = CertificateFacts::parse(certificate)
            .ok_or_else(|| refused(CertificateError::BadEncoding))?;
        if KeyPin::of_certificate(certificate).ok() != Some(self.pin) {
            return Err(refused(CertificateError::ApplicationVerificationFailure));
        }
        let now = i64::try_from(now.as_secs()).ok().and_then(|seconds| seconds.checked_mul(1000));
        let now = now.map(Timestamp).ok_or_else(|| refused(CertificateError::Expired))?;
        if now < facts.not_before {
            return Err(refused(CertificateError::NotValidYet));
        }
        if now > facts.not_after {
            return Err(refused(CertificateError::Expired));
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Why the server's certificate was refused, if that is what an error of a connection means.
pub fn refusal(error: &io::Error) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<Error>()?;
    let Error::InvalidCertificate(why) = error else { return None };
    Some(match why {
        CertificateError::ApplicationVerificationFailure => {
            "it has another key than the pinned one".to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "it has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another host name".to_owned()
        }
        CertificateError::Revoked => "it is revoked".to_owned(),
        CertificateError::UnknownRevocationStatus
        | CertificateError::ExpiredRevocationList
        | CertificateError::ExpiredRevocationListContext { .. } => {
            "there is no current list of revoked certificates".to_owned()
        }
        CertificateError::UnknownIssuer => "no authority in the CA file issued it".to_owned(),
        // What `openssl req -x509` makes by default.
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "it is the certificate of an authority (CA:TRUE), which a server cannot use itself; pin \
             its key instead, or use a certificate that the authority issued"
                .to_owned()
        }
        other => other.to_string(),
    })
}
