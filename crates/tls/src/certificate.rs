//! The few members of an X.509 certificate that a pin needs: public key and validity. Everything
//! else is checked by rustls.

use countersign_types::time::Timestamp;

pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// The explicit tag of the version.
pub(crate) const VERSION: u8 = 0xa0;

/// What a certificate says about its key and its validity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CertificateFacts<'a> {
    /// The `SubjectPublicKeyInfo`, in DER.
    pub public_key: &'a [u8],
    /// The start of its validity.
    pub not_before: Timestamp,
    /// The end of its validity.
    pub not_after: Timestamp,
}

impl<'a> CertificateFacts<'a> {
    /// Reads a certificate in DER; nothing if it is malformed.
    pub fn parse(der: &'a [u8]) -> Option<CertificateFacts<'a>> {
        let mut outer = Reader(der);
        let mut certificate = Reader(outer.next(SEQUENCE)?.content);
        if !outer.0.is_empty() {
            return None;
        }
        let mut fields = Reader(certificate.next(SEQUENCE)?.content);
        if fields.0.first() == Some(&VERSION) {
            fields.next(VERSION)?;
        }
        fields.next(INTEGER)?;
        // The signature's algorithm and the issuer.
        fields.next(SEQUENCE)?;
        fields.next(SEQUENCE)?;
        let mut validity = Reader(fields.next(SEQUENCE)?.content);
        let (not_before, not_after) = (validity.time()?, validity.time()?);
        // The subject.
        fields.next(SEQUENCE)?;
        let public_key = fields.next(SEQUENCE)?.whole;
        Some(CertificateFacts { public_key, not_before, not_after })
    }
}

/// One DER element.
pub(crate) struct Element<'a> {
    pub(crate) content: &'a [u8],
    pub(crate) whole: &'a [u8],
}

/// Reads DER elements one by one.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next element, if it has this tag.
    pub(crate) fn next(&mut self, tag: u8) -> Option<Element<'a>> {
        let input = self.0;
        let (&found, &first) = (input.first()?, input.get(1)?);
        let (head, length) = match first {
            0..=0x7f => (2, usize::from(first)),
            0x81..=0x84 => {
                let count = usize::from(first & 0x7f);
                let digits = input.get(2..2 + count)?;
                let value =
                    digits.iter().fold(0_usize, |sum, digit| (sum << 8) | usize::from(*digit));
                (2 + count, value)
            }
            _ => return None,
        };
        let whole = input.get(..head.checked_add(length)?)?;
        self.0 = input.get(whole.len()..)?;
        (found == tag).then_some(Element { content: whole.get(head..)?, whole })
    }

    pub(crate) fn time(&mut self) -> Option<Timestamp> {
        let tag = *self.0.first()?;
        let text = std::str::from_utf8(self.next(tag)?.content).ok()?;
        let (century, rest) = match tag {
            UTC_TIME => {
                let year: u8 = text.get(..2)?.parse().ok()?;
                (if year >= 50 { "19" } else { "20" }, text)
            }
            GENERALIZED_TIME => (text.get(..2)?, text.get(2..)?),
            _ => return None,
        };
        if rest.len() != 13 || !rest.ends_with('Z') {
            return None;
        }
        let two = |at: usize| rest.get(at..at + 2);
        let (year, month, day) = (two(0)?, two(2)?, two(4)?);
        let (hour, minute, second) = (two(6)?, two(8)?, two(10)?);
        Timestamp::parse(&format!("{century}{year}-{month}-{day}T{hour}:{minute}:{second}Z"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{generate_key, issue_certificate};

    fn certificate(at: i64) -> Vec<u8> {
        let key = generate_key().unwrap();
        issue_certificate(&key, &["localhost".to_owned()], Timestamp(at)).unwrap()
    }

    #[test]
    fn both_forms_of_time_are_read() {
        // From 2050 on, certificates use the longer form.
        for at in [1_794_700_800_000, 2_556_144_000_000] {
            let der = certificate(at);
            let facts = CertificateFacts::parse(&der).unwrap();
            let life = facts.not_before.until(facts.not_after);
            assert!(facts.not_before.0 < at && at < facts.not_after.0, "{facts:?}");
            assert_eq!(life.0 / 86_400_000, 399);
        }
    }

    #[test]
    fn no_truncated_or_changed_certificate_is_misread() {
        let der = certificate(1_794_700_800_000);
        let facts = CertificateFacts::parse(&der).unwrap();
        for end in 0..der.len() {
            assert!(CertificateFacts::parse(&der[..end]).is_none(), "{end}");
        }
        // Any byte may change without a panic; the key is either the same bytes or another key.
        for at in 0..der.len() {
            let mut changed = der.clone();
            changed[at] ^= 0x55;
            let _ = CertificateFacts::parse(&changed);
        }
        assert_eq!(facts.public_key.first(), Some(&SEQUENCE));
    }
}
