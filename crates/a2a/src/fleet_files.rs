//! The files of an agent in its fleet: certificate, key, authority, and the list of revoked
//! certificates, which is fetched again and again.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use countersign_client::{Endpoint, fetch, post_public};
use countersign_json::base64;
use countersign_tls::{
    CertificateFacts, FleetCertificate, FleetTrust, ServerIdentity, TlsError, certificate_file,
    key_pem, node_report_text, private_key_file, renewal_text, sign_with_key,
};
use countersign_types::time::Timestamp;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::clock::now;
use crate::object::set;

/// Why the files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FleetFilesError {
    /// A key or certificate.
    #[error("{0}")]
    Tls(#[from] TlsError),
    /// A file.
    #[error("{0}: {1}")]
    File(PathBuf, String),
    /// The authority does not answer, or refuses.
    #[error("the fleet's authority: {0}")]
    Authority(String),
}

/// Where the files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetFiles {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authority's certificate.
    pub authority: PathBuf,
}

impl FleetFiles {
    /// Below a folder, for an agent.
    pub fn in_folder(folder: &Path, agent: &str) -> FleetFiles {
        let own = folder.join("agents").join(agent);
        FleetFiles {
            certificate: own.join(format!("{agent}.crt")),
            key: own.join(format!("{agent}.key")),
            authority: folder.join("ca").join("fleet-ca.crt"),
        }
    }

    /// The file that keeps the last list of revoked certificates.
    pub fn list(&self) -> PathBuf {
        self.authority.with_file_name("fleet.crl")
    }

    /// The own certificate, in DER.
    pub fn own_certificate(&self) -> Result<Vec<u8>, FleetFilesError> {
        first_certificate(&self.certificate)
    }

    /// The own key, as PKCS #8.
    pub fn own_key(&self) -> Result<Zeroizing<Vec<u8>>, FleetFilesError> {
        Ok(private_key_file(&self.key)?)
    }

    /// The agent that the own certificate names.
    pub fn agent(&self) -> Result<String, FleetFilesError> {
        let certificate = self.own_certificate()?;
        let agent = FleetCertificate::parse(&certificate).and_then(|found| found.agent);
        agent.map(ToOwned::to_owned).ok_or_else(|| {
            let why = "the certificate names no agent; `countersign pki issue` makes one that does";
            FleetFilesError::File(self.certificate.clone(), why.to_owned())
        })
    }

    /// The key and certificate that a server presents.
    pub fn identity(&self) -> Result<ServerIdentity, FleetFilesError> {
        Ok(ServerIdentity::from_der(&self.own_key()?, &self.own_certificate()?)?)
    }

    /// The trust in the fleet, with the list of revoked certificates that was kept last.
    pub fn trust(&self) -> Result<Arc<FleetTrust>, FleetFilesError> {
        let trust = FleetTrust::new(&first_certificate(&self.authority)?)?;
        if let Ok(list) = fs::read(self.list()) {
            // A damaged file is as good as none.
            let _ = trust.use_kept_list(&list, Timestamp(now()));
        }
        Ok(Arc::new(trust))
    }

    /// Fetches the list of revoked certificates and keeps it.
    pub fn refresh(&self, trust: &FleetTrust, authority: &Endpoint) -> Result<(), FleetFilesError> {
        let failed = |why: String| FleetFilesError::Authority(why);
        let text =
            fetch(authority, "/v1/pki/revocations").map_err(|error| failed(error.to_string()))?;
        let answer: Value =
            serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
        let list =
            answer.get("list").and_then(Value::as_str).and_then(|text| base64::decode(text).ok());
        let list = list.ok_or_else(|| failed("the response has no list".to_owned()))?;
        trust.use_list(&list, Timestamp(now()))?;
        write(&self.list(), &list, 0o644)
    }

    /// Whether less than a third of the own certificate's life is left.
    pub fn should_renew(&self) -> Result<bool, FleetFilesError> {
        let certificate = self.own_certificate()?;
        let Some(facts) = CertificateFacts::parse(&certificate) else { return Ok(false) };
        let life = facts.not_before.until(facts.not_after).0;
        Ok(Timestamp(now()).until(facts.not_after).0 < life / 3)
    }

    /// Renews the own certificate at the authority; the key stays.
    pub fn renew(&self, authority: &Endpoint) -> Result<(), FleetFilesError> {
        let failed = |why: String| FleetFilesError::Authority(why);
        let body = self.proven(json!({}), renewal_text)?;
        let text = post_public(authority, "/v1/pki/renewals", &body.to_string())
            .map_err(|error| failed(error.to_string()))?;
        let answer: Value =
            serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
        let new = answer.get("certificate").and_then(Value::as_str);
        let new = new.ok_or_else(|| failed("the response has no certificate".to_owned()))?;
        write(&self.certificate, new.as_bytes(), 0o644)
    }

    /// Reports at the authority what people see about this node.
    pub fn report(&self, authority: &Endpoint, report: &str) -> Result<(), FleetFilesError> {
        let body = self.proven(json!({ "report": report }), |serial, at| {
            node_report_text(serial, at, report)
        })?;
        post_public(authority, "/v1/pki/nodes", &body.to_string())
            .map_err(|error| FleetFilesError::Authority(error.to_string()))?;
        Ok(())
    }

    /// A body with the own certificate, the time, and the proof of the own key over `text`, which
    /// is made of the serial number and the time.
    fn proven(
        &self,
        mut body: Value,
        text: impl FnOnce(&[u8], i64) -> String,
    ) -> Result<Value, FleetFilesError> {
        let (certificate, key, at) = (self.own_certificate()?, self.own_key()?, now());
        let found = FleetCertificate::parse(&certificate);
        let serial = found.map(|found| found.serial.to_vec()).ok_or_else(|| {
            FleetFilesError::File(self.certificate.clone(), "malformed".to_owned())
        })?;
        let (_, proof) = sign_with_key(&key, |_| text(&serial, at))?;
        set(&mut body, "certificate", json!(base64::encode(&certificate)));
        set(&mut body, "at", json!(at));
        set(&mut body, "proof", json!(base64::encode(&proof)));
        Ok(body)
    }

    /// Writes a new key; fails if there is one.
    pub fn keep_key(&self, key: &[u8]) -> Result<(), FleetFilesError> {
        write(&self.key, key_pem(key).as_bytes(), 0o600)
    }

    /// Writes the own certificate and the authority's, both in PEM.
    pub fn keep(&self, certificate: &str, authority: &str) -> Result<(), FleetFilesError> {
        write(&self.certificate, certificate.as_bytes(), 0o644)?;
        write(&self.authority, authority.as_bytes(), 0o644)
    }
}

fn first_certificate(file: &Path) -> Result<Vec<u8>, FleetFilesError> {
    let chain = certificate_file(file)?;
    let first = chain.first().map(|certificate| certificate.to_vec());
    first.ok_or_else(|| FleetFilesError::File(file.to_owned(), "no certificate".to_owned()))
}

/// Replaces a file in one step.
fn write(file: &Path, bytes: &[u8], mode: u32) -> Result<(), FleetFilesError> {
    let failed = |error: std::io::Error| FleetFilesError::File(file.to_owned(), error.to_string());
    if let Some(folder) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    }
    let new = file.with_extension("new");
    let _ = fs::remove_file(&new);
    let mut out =
        OpenOptions::new().write(true).create_new(true).mode(mode).open(&new).map_err(failed)?;
    out.write_all(bytes).and_then(|()| out.sync_all()).map_err(failed)?;
    fs::rename(&new, file).map_err(failed)
}
