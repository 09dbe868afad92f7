//! TLS of the TCP listeners: the operator's certificate, or one of the daemon's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use countersign_tls::rustls::pki_types::CertificateDer;
use countersign_tls::{
    CertificateFacts, KeyPin, RENEW_BEFORE, ServerIdentity, TlsError, certificate_file,
    generate_key, issue_certificate, pem, server_config, split_authority,
};
use countersign_types::time::{Clock as _, Timestamp};
use tokio_rustls::TlsAcceptor;
use zeroize::Zeroizing;

use crate::config::{DaemonConfig, TlsConfig};
use crate::gate::Gate;
use crate::keys::{self, KeyError};
use crate::shutdown::{Stop, stopped};

/// The file of the generated key, beside the signing key.
const KEY_FILE: &str = "tls.key";
/// How often the certificate is looked at while the daemon runs.
const LOOK_AGAIN: Duration = Duration::from_hours(6);

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateProblem {
    /// The key file of the daemon's own key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A file, or its content.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// The key and certificate that the listeners present.
pub struct DaemonTls {
    source: TlsConfig,
    state: PathBuf,
    names: Vec<String>,
    identity: Arc<ServerIdentity>,
    acceptor: TlsAcceptor,
}

impl DaemonTls {
    /// Reads or generates the certificate, if TLS is on.
    pub fn open(
        config: &DaemonConfig,
        now: Timestamp,
    ) -> Result<Option<DaemonTls>, CertificateProblem> {
        let Some(source) = config.tls.clone() else { return Ok(None) };
        let mut names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        for host in &config.hosts {
            let name = split_authority(host).0.to_ascii_lowercase();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let identity = Arc::new(load(&source, &config.state, &names, now)?);
        let acceptor = TlsAcceptor::from(server_config(Arc::clone(&identity))?);
        Ok(Some(DaemonTls { source, state: config.state.clone(), names, identity, acceptor }))
    }

    /// Accepts connections with this certificate, and with one that replaces it later.
    pub fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.clone()
    }

    /// The pin of the key.
    pub fn pin(&self) -> Result<KeyPin, TlsError> {
        self.identity.pin()
    }

    /// Reads the operator's files again, or renews a certificate that soon expires. A failure keeps
    /// the certificate in use.
    pub fn refresh(&self, now: Timestamp) {
        match load(&self.source, &self.state, &self.names, now) {
            Ok(new) => {
                if new.pin().ok() != self.pin().ok() {
                    tracing::warn!("the TLS key changed: clients that pin the old one refuse it");
                }
                self.identity.replace(&new);
            }
            Err(error) => tracing::error!(%error, "the TLS certificate was not read again"),
        }
    }
}

/// Looks at the certificate from time to time until the daemon stops.
pub async fn run(tls: Arc<DaemonTls>, gate: Arc<Gate>, mut stop: Stop) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK_AGAIN) => tls.refresh(gate.clock().now().at),
            () = stopped(&mut stop) => return,
        }
    }
}

/// The pin that clients of this daemon use, by the file of its certificate.
pub fn configured_pin(config: &DaemonConfig) -> Option<Result<KeyPin, TlsError>> {
    let file = config.tls.as_ref()?.certificate(&config.state);
    let chain = certificate_file(&file);
    Some(chain.and_then(|chain| {
        KeyPin::of_certificate(chain.first().map_or(&[], |certificate| certificate.as_ref()))
    }))
}

fn load(
    source: &TlsConfig,
    state: &Path,
    names: &[String],
    now: Timestamp,
) -> Result<ServerIdentity, CertificateProblem> {
    match source {
        TlsConfig::Files { certificate, key } => {
            let identity = ServerIdentity::from_files(certificate, key)?;
            let chain = certificate_file(certificate)?;
            let facts = chain.first().and_then(|first| CertificateFacts::parse(first));
            if facts.is_none_or(|facts| facts.not_after < now) {
                tracing::error!(file = %certificate.display(), "the TLS certificate has expired");
            }
            Ok(identity)
        }
        TlsConfig::Generated => {
            let key = keys::tls_key(&state.join(KEY_FILE), generate_key)?;
            generated(&key, &source.certificate(state), names, now)
        }
    }
}

/// The certificate in the file, if it still fits; otherwise a new one with the same key.
fn generated(
    key: &Zeroizing<Vec<u8>>,
    file: &Path,
    names: &[String],
    now: Timestamp,
) -> Result<ServerIdentity, CertificateProblem> {
    // Text before a certificate is a comment in PEM files.
    let heading = format!("Countersign, for {}\n", names.join(", "));
    let is_ours = fs::read_to_string(file).is_ok_and(|text| text.starts_with(&heading));
    if is_ours && let Some(identity) = still_good(key, file, now) {
        return Ok(identity);
    }
    let certificate = issue_certificate(key, names, now)?;
    keys::replace(file, &format!("{heading}{}", pem(&certificate)), 0o644)?;
    Ok(ServerIdentity::from_der(key, &certificate)?)
}

/// The certificate in the file, if it is of this key and valid for long enough.
fn still_good(key: &[u8], file: &Path, now: Timestamp) -> Option<ServerIdentity> {
    let chain: Vec<CertificateDer<'_>> = certificate_file(file).ok()?;
    let certificate = chain.first()?;
    let facts = CertificateFacts::parse(certificate)?;
    let is_valid = facts.not_before <= now && now.plus(RENEW_BEFORE) < facts.not_after;
    is_valid.then(|| ServerIdentity::from_der(key, certificate).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Paths;

    const NOW: Timestamp = Timestamp(1_794_700_800_000);
    const DAY: i64 = 86_400_000;

    fn config(folder: &Path, listen: &str) -> DaemonConfig {
        let paths = Paths {
            config: folder.join("c.toml"),
            state: folder.to_owned(),
            runtime: folder.to_owned(),
        };
        DaemonConfig::read(&format!("[listen]\ntls = true\n{listen}"), &paths).unwrap()
    }

    #[test]
    fn a_renewed_certificate_keeps_its_pin() {
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path(), "");
        let tls = DaemonTls::open(&config, NOW).unwrap().unwrap();
        let pin = tls.pin().unwrap();
        assert_eq!(configured_pin(&config).unwrap().unwrap(), pin);
        let file = folder.path().join("tls.crt");
        let first = fs::read_to_string(&file).unwrap();
        // The next day the same certificate serves; browsers may have an exception for it.
        tls.refresh(Timestamp(NOW.0 + DAY));
        assert_eq!(fs::read_to_string(&file).unwrap(), first);
        tls.refresh(Timestamp(NOW.0 + 350 * DAY));
        assert_ne!(fs::read_to_string(&file).unwrap(), first);
        assert_eq!(tls.pin().unwrap(), pin);
        // Long after everything expired, and after another start.
        let later = DaemonTls::open(&config, Timestamp(NOW.0 + 4000 * DAY)).unwrap().unwrap();
        assert_eq!(later.pin().unwrap(), pin);
        assert_eq!(mode(&folder.path().join("tls.key")), 0o600);
    }

    #[test]
    fn a_new_name_gets_a_new_certificate_with_the_same_key() {
        let folder = tempfile::tempdir().unwrap();
        let pin = |listen: &str| {
            let config = config(folder.path(), listen);
            DaemonTls::open(&config, NOW).unwrap().unwrap().pin().unwrap()
        };
        let before = pin("");
        assert_eq!(pin("hosts = [\"gate.example.org:443\"]"), before);
        let text = fs::read_to_string(folder.path().join("tls.crt")).unwrap();
        assert!(text.starts_with("Countersign, for localhost, 127.0.0.1, ::1, gate.example.org\n"));
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path(), "");
        assert!(DaemonTls::open(&config, NOW).is_ok());
        let file = folder.path().join("tls.key");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(DaemonTls::open(&config, NOW).is_err());
    }

    fn mode(file: &Path) -> u32 {
        use std::os::unix::fs::PermissionsExt as _;
        fs::metadata(file).unwrap().permissions().mode() & 0o777
    }
}
