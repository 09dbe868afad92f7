//! The fleet's certificates: who is accepted, and who is not.

use std::sync::Arc;
use std::time::Duration;

use countersign_types::time::{Millis, Timestamp};
use rustls::pki_types::{CertificateDer, UnixTime};

use crate::fleet_authority::{FleetAuthority, NewFleetCertificate, generate_authority};
use crate::fleet_name::FleetCertificate;
use crate::fleet_request::{AgentPublicKey, issue_text, sign_with_key};
use crate::fleet_trust::FleetTrust;
use crate::generate::{generate_key, issue_certificate};

const NOW: Timestamp = Timestamp(1_794_700_800_000);
const HOUR: u64 = 3_600_000;

fn authority(name: &str) -> FleetAuthority {
    let (key, certificate) = generate_authority(name, NOW).unwrap();
    FleetAuthority::open(&key, &certificate).unwrap()
}

fn public_key() -> AgentPublicKey {
    let key = generate_key().unwrap();
    let (public, signature) = sign_with_key(&key, |public| issue_text("alice", public)).unwrap();
    assert!(public.has_signed(issue_text("alice", &public).as_bytes(), &signature));
    assert!(!public.has_signed(issue_text("bob", &public).as_bytes(), &signature));
    public
}

fn issue(authority: &FleetAuthority, agent: &str, serial: u8) -> Vec<u8> {
    let new = NewFleetCertificate {
        agent,
        hosts: &["localhost".to_owned(), "127.0.0.1".to_owned()],
        public_key: &public_key(),
        serial: [serial; 16],
        life: Millis(HOUR),
    };
    authority.issue(&new, NOW).unwrap()
}

fn at(moment: Timestamp) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(moment.seconds()).unwrap()))
}

fn checked(trust: &FleetTrust, certificate: &[u8], now: Timestamp) -> Option<String> {
    trust.check_client(&[CertificateDer::from(certificate.to_vec())], at(now))
}

#[test]
fn only_valid_certificates_of_the_fleet_are_accepted() {
    let ours = authority("ours");
    let trust = Arc::new(FleetTrust::new(ours.certificate()).unwrap());
    let (alice, bob) = (issue(&ours, "alice", 1), issue(&ours, "bob", 2));
    // Without a list of revoked certificates nothing is known.
    assert_eq!(checked(&trust, &alice, NOW), None);
    trust.use_list(&ours.revocation_list(&[], 1, NOW).unwrap(), NOW).unwrap();
    assert_eq!(checked(&trust, &alice, NOW).as_deref(), Some("alice"));
    assert_eq!(checked(&trust, &bob, NOW).as_deref(), Some("bob"));
    // Another authority, the authority itself, and a certificate without an agent.
    assert_eq!(checked(&trust, &issue(&authority("ours"), "alice", 1), NOW), None);
    assert_eq!(checked(&trust, ours.certificate(), NOW), None);
    let own = issue_certificate(&generate_key().unwrap(), &["alice".to_owned()], NOW).unwrap();
    assert_eq!(checked(&trust, &own, NOW), None);
    // Expired, with a current list.
    let later = Timestamp(NOW.0 + 2 * HOUR.cast_signed());
    trust.use_list(&ours.revocation_list(&[], 2, later).unwrap(), later).unwrap();
    assert_eq!(checked(&trust, &alice, later), None);
}

#[test]
fn a_revoked_certificate_is_refused_and_an_old_list_cannot_bring_it_back() {
    let ours = authority("ours");
    let trust = FleetTrust::new(ours.certificate()).unwrap();
    let alice = issue(&ours, "alice", 1);
    let before = ours.revocation_list(&[], 1, NOW).unwrap();
    trust.use_list(&before, NOW).unwrap();
    assert_eq!(checked(&trust, &alice, NOW).as_deref(), Some("alice"));
    let generation = trust.generation();
    let soon = Timestamp(NOW.0 + 60_000);
    let revoked = [(vec![1; 16], soon)];
    trust.use_list(&ours.revocation_list(&revoked, 2, soon).unwrap(), soon).unwrap();
    assert!(trust.generation() > generation);
    assert_eq!(checked(&trust, &alice, soon), None);
    assert!(trust.use_list(&before, soon).is_err());
    assert_eq!(checked(&trust, &alice, soon), None);
    // A list of another authority, or none, is not used.
    let other = authority("other").revocation_list(&[], 9, soon).unwrap();
    assert!(trust.use_list(&other, soon).is_err());
    assert_eq!(checked(&trust, &alice, soon), None);
    assert!(trust.use_list(b"no list", soon).is_err());
}

#[test]
fn no_foreign_changed_or_postdated_list_blocks_the_next_one() {
    let ours = authority("ours");
    let trust = FleetTrust::new(ours.certificate()).unwrap();
    let alice = issue(&ours, "alice", 1);
    let list = ours.revocation_list(&[], 1, NOW).unwrap();
    trust.use_list(&list, NOW).unwrap();
    let far = Timestamp(4_102_444_800_000);
    // Of another authority with the same name, of one with another name, and our own from 2100.
    for foreign in [authority("ours"), authority("other")] {
        assert!(trust.use_list(&foreign.revocation_list(&[], 9, NOW).unwrap(), NOW).is_err());
        assert!(trust.use_list(&foreign.revocation_list(&[], 9, far).unwrap(), far).is_err());
    }
    assert!(trust.use_list(&ours.revocation_list(&[], 9, far).unwrap(), NOW).is_err());
    for at in 0..list.len() {
        let mut changed = list.clone();
        changed[at] ^= 0x01;
        assert!(trust.use_list(&changed, NOW).is_err(), "{at}");
    }
    let soon = Timestamp(NOW.0 + 60_000);
    trust.use_list(&ours.revocation_list(&[], 2, soon).unwrap(), soon).unwrap();
    assert_eq!(checked(&trust, &alice, soon).as_deref(), Some("alice"));
}

#[test]
fn an_expired_list_accepts_nobody() {
    let ours = authority("ours");
    let trust = FleetTrust::new(ours.certificate()).unwrap();
    let alice = issue(&ours, "alice", 1);
    trust.use_list(&ours.revocation_list(&[], 1, NOW).unwrap(), NOW).unwrap();
    let late = Timestamp(NOW.0 + 11 * 60_000);
    assert!(trust.is_current(NOW) && !trust.is_current(late));
    assert_eq!(checked(&trust, &alice, late), None);
}

#[test]
fn a_list_counts_for_the_wanted_time_after_it_was_fetched() {
    let (authority, later) = (authority("ours"), |seconds: u64| NOW.plus(Millis(seconds * 1000)));
    let alice = issue(&authority, "alice", 1);
    let list = |at: Timestamp| authority.revocation_list(&[], 1, at).unwrap();
    let trust = FleetTrust::new(authority.certificate()).unwrap();
    trust.limit_age(Millis(60_000));
    let accepts = |at| (checked(&trust, &alice, at).is_some(), trust.is_current(at));
    trust.use_list(&list(NOW), NOW).unwrap();
    assert_eq!(accepts(later(59)), (true, true));
    assert_eq!(accepts(later(60)), (false, false));
    // The same list again is no news; a newer one is, also with a clock that is behind.
    trust.use_list(&list(NOW), later(70)).unwrap();
    assert_eq!(accepts(later(70)), (false, false));
    trust.use_list(&list(later(10)), later(80)).unwrap();
    assert_eq!(accepts(later(139)), (true, true));
    // One that was held back for long is not, and one from a file is as old as its signature.
    trust.use_list(&list(later(20)), later(450)).unwrap();
    assert_eq!(accepts(later(450)), (false, false));
    trust.use_kept_list(&list(later(400)), later(450)).unwrap();
    assert_eq!(accepts(later(459)), (true, true));
    assert_eq!(accepts(later(460)), (false, false));
}

#[test]
fn a_certificate_says_whom_it_is_for() {
    let ours = authority("ours");
    let alice = issue(&ours, "alice", 7);
    let found = FleetCertificate::parse(&alice).unwrap();
    assert_eq!(
        (found.agent, found.serial, found.is_authority),
        (Some("alice"), &[7; 16][..], false)
    );
    let own = FleetCertificate::parse(ours.certificate()).unwrap();
    assert!(own.is_authority);
    // Strict clients find the authority by the identifier of its key.
    assert!(own.key_ids.0.is_some());
    assert_eq!(found.key_ids.1, own.key_ids.0);
    for end in 0..alice.len() {
        assert!(FleetCertificate::parse(&alice[..end]).is_none(), "{end}");
    }
    for at in 0..alice.len() {
        let mut changed = alice.clone();
        changed[at] ^= 0x55;
        let _ = FleetCertificate::parse(&changed);
    }
    let new = NewFleetCertificate {
        agent: "alice\u{0}root",
        hosts: &[],
        public_key: &public_key(),
        serial: [1; 16],
        life: Millis(HOUR),
    };
    assert!(ours.issue(&new, NOW).is_err());
}

#[test]
fn only_an_authority_with_its_own_key_is_opened() {
    let (key, certificate) = generate_authority("ours", NOW).unwrap();
    assert!(FleetAuthority::open(&key, &certificate).is_ok());
    let (other, _) = generate_authority("ours", NOW).unwrap();
    assert!(FleetAuthority::open(&other, &certificate).is_err());
    let own = generate_key().unwrap();
    let leaf = issue_certificate(&own, &["localhost".to_owned()], NOW).unwrap();
    assert!(FleetAuthority::open(&own, &leaf).is_err(), "not an authority");
}

#[test]
fn a_signature_of_fixed_length_fits_its_certificate_only() {
    let ours = authority("ours");
    let key = generate_key().unwrap();
    let (public_key, _) = sign_with_key(&key, |_| String::new()).unwrap();
    let new = NewFleetCertificate {
        agent: "alice",
        hosts: &[],
        public_key: &public_key,
        serial: [1; 16],
        life: Millis(HOUR),
    };
    let certificate = ours.issue(&new, NOW).unwrap();
    let signature = crate::sign_es256(&key, b"text").unwrap();
    assert_eq!(signature.len(), 64);
    assert!(crate::verify_es256(&certificate, b"text", &signature));
    assert!(!crate::verify_es256(&certificate, b"other", &signature));
    assert!(!crate::verify_es256(&issue(&ours, "bob", 2), b"text", &signature));
    assert!(!crate::verify_es256(b"no certificate", b"text", &signature));
    assert!(crate::sign_es256(b"no key", b"text").is_err());
}
