//! The certificates that the fleet's authority issued and revoked, as the entries of the ledger
//! say. There is no file of them: a file can be edited or replaced by an older copy.

use countersign_json::Value;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_types::time::Millis;
use serde::Serialize;

const DAY: u64 = 86_400_000;
/// For how long the holder of a certificate may renew it without a person.
pub const RENEWABLE: Millis = Millis(365 * DAY);

/// The values of the fact `action`.
pub const SET_UP: &str = "set up";
/// A person issued a certificate.
pub const ISSUE: &str = "issue";
/// The holder renewed a certificate.
pub const RENEW: &str = "renew";
/// A person revoked certificates.
pub const REVOKE: &str = "revoke";

/// A certificate that was issued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IssuedCertificate {
    /// The serial number, in hexadecimal.
    pub serial: String,
    /// The SHA-256 digest of the certificate, in hexadecimal; missing in older entries.
    pub fingerprint: Option<String>,
    /// The agent.
    pub agent: String,
    /// The host names and addresses at which it serves.
    pub hosts: Vec<String>,
    /// When it was issued, in milliseconds since 1970.
    pub issued: i64,
    /// When it expires.
    pub expires: i64,
    /// Until when its holder may renew it.
    pub renewable: i64,
    /// How long it and its successors are valid, in milliseconds.
    pub life: u64,
    /// When it was revoked.
    pub revoked: Option<i64>,
    /// The serial number of the certificate that it replaced.
    pub renews: Option<String>,
}

/// What the ledger says about the fleet.
#[derive(Debug, Default)]
pub struct CertificateRecords {
    /// The pin of the authority's key.
    pub authority: Option<String>,
    /// The certificates, oldest first.
    pub certificates: Vec<IssuedCertificate>,
}

impl CertificateRecords {
    /// What these encoded entries say, oldest first. An entry that cannot be read makes all of
    /// them unusable, because it may be a revocation.
    pub fn of(entries: &[Vec<u8>]) -> Option<CertificateRecords> {
        let mut records = CertificateRecords::default();
        for bytes in entries {
            records.apply(&Entry::decode(bytes).ok()?)?;
        }
        Some(records)
    }

    /// Adds what a newer entry says; `None` if it cannot be understood.
    pub fn apply(&mut self, entry: &Entry<'_>) -> Option<()> {
        if entry.kind == EntryKind::Acknowledge {
            // The accepted store may be an older one, in which revocations are missing.
            self.revoke_all(entry.at);
            return Some(());
        }
        let fact = |name: &str| entry.facts.iter().find(|(known, _)| known == name);
        let word = |name: &str| fact(name).and_then(|(_, value)| value.as_str());
        match word("action")? {
            SET_UP => self.authority = Some(word("pin")?.to_owned()),
            ISSUE | RENEW => self.add(entry)?,
            REVOKE => {
                let serials = fact("serials").and_then(|(_, value)| value.as_array())?;
                for serial in serials {
                    self.revoke(serial.as_str()?, entry.at);
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn add(&mut self, entry: &Entry<'_>) -> Option<()> {
        let fact = |name: &str| {
            entry.facts.iter().find(|(known, _)| known == name).map(|(_, value)| value)
        };
        let word = |name: &str| fact(name).and_then(Value::as_str);
        let expires: i64 = fact("expires")?.as_number()?.parse().ok()?;
        let renews = word("renews").map(ToOwned::to_owned);
        let old = renews.as_ref().map(|serial| self.find(serial).cloned());
        let (hosts, renewable) = if let Some(old) = old {
            let old = old?;
            (old.hosts, old.renewable)
        } else {
            let hosts = fact("hosts")?.as_array()?;
            let hosts = hosts.iter().map(|host| host.as_str().map(ToOwned::to_owned));
            let renewable = entry.at.saturating_add_unsigned(RENEWABLE.0);
            (hosts.collect::<Option<Vec<String>>>()?, renewable)
        };
        let given = fact("life").and_then(|life| life.as_number()?.parse().ok());
        self.certificates.push(IssuedCertificate {
            serial: word("serial")?.to_owned(),
            fingerprint: word("fingerprint").map(ToOwned::to_owned),
            agent: word("agent_name")?.to_owned(),
            hosts,
            issued: entry.at,
            expires,
            renewable,
            life: given.unwrap_or_else(|| expires.saturating_sub(entry.at).max(0).unsigned_abs()),
            revoked: None,
            renews,
        });
        Some(())
    }

    /// The certificate with this serial number.
    pub fn find(&self, serial: &str) -> Option<&IssuedCertificate> {
        self.certificates.iter().find(|one| one.serial == serial)
    }

    fn revoke(&mut self, serial: &str, at: i64) {
        for one in &mut self.certificates {
            if one.serial == serial && one.revoked.is_none() {
                one.revoked = Some(at);
            }
        }
    }

    fn revoke_all(&mut self, at: i64) {
        for one in &mut self.certificates {
            one.revoked = one.revoked.or(Some(at));
        }
    }
}

#[cfg(test)]
mod tests {
    use countersign_json::canonical::Digest;
    use countersign_json::parse;

    use super::*;

    fn entry(kind: EntryKind, at: i64, facts: &str) -> Vec<u8> {
        let mut entry = Entry::new(at, kind, Digest::of(b"policy"));
        if let Value::Object(facts) = parse(facts).unwrap().into_owned() {
            entry.facts = facts;
        }
        entry.encode().unwrap().into_bytes()
    }

    fn certificate(at: i64, facts: &str) -> Vec<u8> {
        entry(EntryKind::Certificate, at, facts)
    }

    #[test]
    fn entries_of_earlier_versions_are_understood_and_an_unknown_one_makes_all_unusable() {
        let mut all = vec![
            certificate(1, r#"{"action":"set up","pin":"sha256/x","existing":false,"by":"ana"}"#),
            certificate(
                10,
                r#"{"action":"issue","agent_name":"a","serial":"41","hosts":["h"],"expires":110}"#,
            ),
            certificate(
                20,
                r#"{"action":"renew","agent_name":"a","serial":"42","renews":"41","expires":120}"#,
            ),
            certificate(30, r#"{"action":"revoke","serials":["41"]}"#),
        ];
        let found = CertificateRecords::of(&all).unwrap();
        assert_eq!(found.authority.as_deref(), Some("sha256/x"));
        let [old, new] = &found.certificates[..] else { panic!("{found:?}") };
        assert_eq!((old.life, old.revoked, new.revoked), (100, Some(30), None));
        assert_eq!((&new.hosts, new.renewable), (&old.hosts, old.renewable));
        let accepted = entry(EntryKind::Acknowledge, 40, r#"{"fault":"rolled back"}"#);
        let found = CertificateRecords::of(&[&all[..], &[accepted]].concat()).unwrap();
        assert!(found.certificates.iter().all(|one| one.revoked.is_some()), "{found:?}");
        all.push(certificate(50, r#"{"action":"restore","serials":["41"]}"#));
        assert!(CertificateRecords::of(&all).is_none());
        let cut = certificate(60, r#"{"action":"revoke","serials":"41"}"#);
        assert!(CertificateRecords::of(&[cut]).is_none());
    }
}
