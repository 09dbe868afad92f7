//! TLS: the certificates that this machine trusts, loaded once, and one client configuration.

use std::sync::{Arc, OnceLock};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::NetError;

/// The root certificates that this machine trusts and that can be read; loaded once.
pub async fn trusted_roots() -> Result<Arc<Vec<CertificateDer<'static>>>, NetError> {
    static ROOTS: OnceLock<Arc<Vec<CertificateDer<'static>>>> = OnceLock::new();
    if let Some(roots) = ROOTS.get() {
        return Ok(Arc::clone(roots));
    }
    // Loading reads many files.
    let loaded = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs).await;
    let mut certificates = loaded.map_err(|_| NetError::NoTrustedRoots)?.certs;
    certificates.retain(|certificate| RootCertStore::empty().add(certificate.clone()).is_ok());
    if certificates.is_empty() {
        return Err(NetError::NoTrustedRoots);
    }
    Ok(Arc::clone(ROOTS.get_or_init(|| Arc::new(certificates))))
}

/// The client configuration with this machine's roots; built once.
pub(crate) async fn client_config() -> Result<Arc<ClientConfig>, NetError> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(Arc::clone(config));
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(trusted_roots().await?.iter().cloned());
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| NetError::Tls("this build has no usable TLS version".to_owned()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::clone(CONFIG.get_or_init(|| Arc::new(config))))
}

/// TLS over an existing connection; the server must prove that it is `host`.
pub async fn connect_tls<S>(host: &str, stream: S) -> Result<TlsStream<S>, NetError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| NetError::Tls("no certificate can be valid for this host name".to_owned()))?;
    let connector = TlsConnector::from(client_config().await?);
    connector.connect(name, stream).await.map_err(|error| NetError::from_io(&error))
}
