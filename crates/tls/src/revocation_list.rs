//! A list of revoked certificates (a CRL): when it may be used, and whether an authority signed it.

use countersign_types::time::Timestamp;
use rustls::crypto::ring;

use crate::certificate::{CertificateFacts, INTEGER, Reader, SEQUENCE};
use crate::fleet_name::FleetCertificate;

const BIT_STRING: u8 = 0x03;

/// What a list says about itself. Which certificates it lists, rustls reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RevocationList<'a> {
    /// From when it may be used.
    pub(crate) from: Timestamp,
    /// Until when.
    pub(crate) until: Timestamp,
    issuer: &'a [u8],
    signed: &'a [u8],
    algorithm: &'a [u8],
    signature: &'a [u8],
}

impl<'a> RevocationList<'a> {
    /// Reads a list in DER; nothing if it is malformed.
    pub(crate) fn parse(der: &'a [u8]) -> Option<RevocationList<'a>> {
        let mut outer = Reader(der);
        let mut list = Reader(outer.next(SEQUENCE)?.content);
        let signed = list.next(SEQUENCE)?;
        let algorithm = list.next(SEQUENCE)?.content;
        let signature = bits(list.next(BIT_STRING)?.content)?;
        let mut fields = Reader(signed.content);
        fields.next(INTEGER)?;
        let named = fields.next(SEQUENCE)?.content;
        let issuer = fields.next(SEQUENCE)?.whole;
        let (from, until) = (fields.time()?, fields.time()?);
        let is_whole = outer.0.is_empty() && list.0.is_empty() && named == algorithm;
        let signed = signed.whole;
        is_whole.then_some(RevocationList { from, until, issuer, signed, algorithm, signature })
    }

    /// Whether the authority with this certificate, in DER, issued and signed it.
    pub(crate) fn is_of(&self, authority: &[u8]) -> bool {
        self.check(authority).unwrap_or(false)
    }

    fn check(&self, authority: &[u8]) -> Option<bool> {
        let facts = CertificateFacts::parse(authority)?;
        let mut whole = Reader(facts.public_key);
        let mut parts = Reader(whole.next(SEQUENCE)?.content);
        let kind = parts.next(SEQUENCE)?.content;
        let key = bits(parts.next(BIT_STRING)?.content)?;
        let is_issuer = FleetCertificate::parse(authority)?.subject == self.issuer;
        let known = ring::default_provider().signature_verification_algorithms.all;
        let mut fitting = known.iter().filter(|one| {
            one.public_key_alg_id().as_ref() == kind
                && one.signature_alg_id().as_ref() == self.algorithm
        });
        let verified =
            fitting.any(|one| one.verify_signature(key, self.signed, self.signature).is_ok());
        Some(is_issuer && verified)
    }
}

/// The bytes of a bit string, of which none may be incomplete.
fn bits(content: &[u8]) -> Option<&[u8]> {
    content.split_first().filter(|(unused, _)| **unused == 0).map(|(_, bytes)| bytes)
}
