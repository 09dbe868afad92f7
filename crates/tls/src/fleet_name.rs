//! What a certificate of the fleet says about its holder: the agent's name, the serial number, and
//! the name of its authority.

use rcgen::string::{Ia5String, PrintableString};
use rcgen::{DistinguishedName, DnType, DnValue};

use crate::certificate::{INTEGER, Reader, SEQUENCE, VERSION};
use crate::error::TlsError;

const SET: u8 = 0x31;
const OBJECT_IDENTIFIER: u8 = 0x06;
const BOOLEAN: u8 = 0x01;
const OCTET_STRING: u8 = 0x04;
const UTF8_STRING: u8 = 0x0c;
const PRINTABLE_STRING: u8 = 0x13;
const IA5_STRING: u8 = 0x16;
/// The explicit tag of the extensions.
const EXTENSIONS: u8 = 0xa3;
/// A URI among the alternative names.
const URI: u8 = 0x86;
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 0x11];
const SUBJECT_KEY_ID: &[u8] = &[0x55, 0x1d, 0x0e];
const AUTHORITY_KEY_ID: &[u8] = &[0x55, 0x1d, 0x23];
/// The identifier among the members of an authority key identifier.
const KEY_ID: u8 = 0x80;
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];

/// What precedes the agent's name in the URI that identifies it. Certificates that an authority
/// issued for other purposes do not have one.
pub const AGENT_URI: &str = "urn:countersign:agent:";

/// What a certificate says about its holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetCertificate<'a> {
    /// The serial number, without leading zeros.
    pub serial: &'a [u8],
    /// The agent, if the certificate names exactly one.
    pub agent: Option<&'a str>,
    /// Whether its holder may issue certificates.
    pub is_authority: bool,
    /// The issuer's name, in DER.
    pub issuer: &'a [u8],
    /// The holder's name, in DER.
    pub subject: &'a [u8],
    /// The identifier of its own key, and of its issuer's key, if it has them.
    pub key_ids: (Option<&'a [u8]>, Option<&'a [u8]>),
}

impl<'a> FleetCertificate<'a> {
    /// Reads a certificate in DER; nothing if it is malformed.
    pub fn parse(der: &'a [u8]) -> Option<FleetCertificate<'a>> {
        let mut outer = Reader(der);
        let mut certificate = Reader(outer.next(SEQUENCE)?.content);
        let mut fields = Reader(certificate.next(SEQUENCE)?.content);
        if fields.0.first() == Some(&VERSION) {
            fields.next(VERSION)?;
        }
        let serial = fields.next(INTEGER)?.content;
        let zeros = serial.iter().take_while(|byte| **byte == 0).count();
        let serial = serial.get(zeros..)?;
        fields.next(SEQUENCE)?;
        let issuer = fields.next(SEQUENCE)?.whole;
        fields.next(SEQUENCE)?;
        let subject = fields.next(SEQUENCE)?.whole;
        fields.next(SEQUENCE)?;
        let mut found = FleetCertificate {
            serial,
            agent: None,
            is_authority: false,
            issuer,
            subject,
            key_ids: (None, None),
        };
        if fields.0.first() == Some(&EXTENSIONS) {
            let mut explicit = Reader(fields.next(EXTENSIONS)?.content);
            let mut extensions = Reader(explicit.next(SEQUENCE)?.content);
            while !extensions.0.is_empty() {
                found.read_extension(extensions.next(SEQUENCE)?.content)?;
            }
        }
        Some(found)
    }

    fn read_extension(&mut self, extension: &'a [u8]) -> Option<()> {
        let mut parts = Reader(extension);
        let id = parts.next(OBJECT_IDENTIFIER)?.content;
        if parts.0.first() == Some(&BOOLEAN) {
            parts.next(BOOLEAN)?;
        }
        let mut value = Reader(parts.next(OCTET_STRING)?.content);
        if id == SUBJECT_ALT_NAME {
            let agents = agents_among(value.next(SEQUENCE)?.content)?;
            self.agent = match agents.as_slice() {
                [one] if is_agent_name(one) => Some(one),
                _ => None,
            };
        } else if id == SUBJECT_KEY_ID {
            self.key_ids.0 = Some(value.next(OCTET_STRING)?.content);
        } else if id == AUTHORITY_KEY_ID {
            let mut parts = Reader(value.next(SEQUENCE)?.content);
            self.key_ids.1 = parts.next(KEY_ID).map(|id| id.content);
        } else if id == BASIC_CONSTRAINTS {
            let constraints = value.next(SEQUENCE)?.content;
            self.is_authority = constraints.starts_with(&[BOOLEAN, 1, 0xff]);
        }
        Some(())
    }
}

/// The agents in a list of alternative names; nothing if the list is malformed.
fn agents_among(names: &[u8]) -> Option<Vec<&str>> {
    let mut names = Reader(names);
    let mut agents = Vec::new();
    while let Some(tag) = names.0.first().copied() {
        let name = names.next(tag)?.content;
        let text = std::str::from_utf8(name).ok().filter(|_| tag == URI);
        agents.extend(text.and_then(|text| text.strip_prefix(AGENT_URI)));
    }
    Some(agents)
}

/// Whether this can be an agent's name.
pub fn is_agent_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(plain)
}

/// The name of an authority, so that certificates which it issues repeat it exactly.
pub(crate) fn authority_name(der: &[u8]) -> Result<DistinguishedName, TlsError> {
    read_name(der).ok_or_else(|| {
        TlsError::Unusable(
            "the authority's name has a form that is not supported: several values in one part, \
             or a text that is not UTF-8, printable or IA5"
                .to_owned(),
        )
    })
}

fn read_name(der: &[u8]) -> Option<DistinguishedName> {
    let mut name = DistinguishedName::new();
    let mut outer = Reader(der);
    let mut parts = Reader(outer.next(SEQUENCE)?.content);
    while !parts.0.is_empty() {
        let mut set = Reader(parts.next(SET)?.content);
        let mut pair = Reader(set.next(SEQUENCE)?.content);
        let kind = object_identifier(pair.next(OBJECT_IDENTIFIER)?.content)?;
        let tag = *pair.0.first()?;
        let text = std::str::from_utf8(pair.next(tag)?.content).ok()?;
        let value = match tag {
            UTF8_STRING => DnValue::Utf8String(text.to_owned()),
            PRINTABLE_STRING => DnValue::PrintableString(PrintableString::try_from(text).ok()?),
            IA5_STRING => DnValue::Ia5String(Ia5String::try_from(text).ok()?),
            _ => return None,
        };
        let kind = DnType::from_oid(&kind);
        // A second value of the same kind would replace the first one.
        if !set.0.is_empty() || name.get(&kind).is_some() {
            return None;
        }
        name.push(kind, value);
    }
    Some(name)
}

fn object_identifier(bytes: &[u8]) -> Option<Vec<u64>> {
    let mut numbers = Vec::new();
    let mut value = 0_u64;
    for byte in bytes {
        value = value.checked_mul(128)?.checked_add(u64::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            if numbers.is_empty() {
                let first = (value / 40).min(2);
                numbers.extend([first, value - first * 40]);
            } else {
                numbers.push(value);
            }
            value = 0;
        }
    }
    Some(numbers)
}
