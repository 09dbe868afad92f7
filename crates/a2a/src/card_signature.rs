//! Signed agent cards: a JWS (ES256) over the canonical form (RFC 8785) of the card. The signer is
//! the agent in the certificate that the protected header carries, if the fleet accepts it.

use countersign_json::base64;
use countersign_json::canonical::canonical;
use countersign_tls::{FleetTrust, KeyPin, TlsError, sign_es256, verify_es256};
use countersign_types::time::Timestamp;
use serde_json::{Map, Value, json};

use crate::object::set;

/// The member of a card with its signatures.
const SIGNATURES: &str = "signatures";
/// How many signatures of a card are looked at.
const MAX_SIGNATURES: usize = 8;
/// The members of a card in version 1.0. Libraries that read a card into this form sign and check
/// these only, without empty values.
const MEMBERS: [&str; 13] = [
    "name",
    "description",
    "supportedInterfaces",
    "provider",
    "version",
    "documentationUrl",
    "capabilities",
    "securitySchemes",
    "securityRequirements",
    "defaultInputModes",
    "defaultOutputModes",
    "skills",
    "iconUrl",
];

/// What the signatures of a card prove.
#[derive(Debug, Clone, PartialEq)]
pub enum CardProof {
    /// This agent signed this content of the card.
    Signed {
        /// The agent, by its certificate.
        agent: String,
        /// What it signed; other members of the card prove nothing.
        content: Value,
    },
    /// No signature names a certificate; its signer is not known here.
    Unknown,
    /// A signature names a certificate of the fleet and does not fit the card, or the certificate
    /// is not accepted.
    Invalid,
}

/// The card with signatures by this key (PKCS #8), whose certificate is in DER: one of the whole
/// card, and one of the members of version 1.0.
pub fn sign_card(card: &Value, key: &[u8], certificate: &[u8]) -> Result<Value, TlsError> {
    let header = json!({
        "alg": "ES256", "typ": "JOSE", "kid": KeyPin::of_certificate(certificate)?.to_string(),
        "x5c": [base64::encode(certificate)],
    });
    let protected = base64::encode_url(header.to_string().as_bytes());
    let mut signatures = Vec::new();
    for payload in [whole(card), members_only(card)] {
        let signature = sign_es256(key, signing_input(&protected, &payload)?.as_bytes())?;
        signatures.push(json!({
            "protected": protected, "signature": base64::encode_url(&signature),
        }));
    }
    let mut signed = card.clone();
    set(&mut signed, SIGNATURES, Value::Array(signatures));
    Ok(signed)
}

/// What the signatures of a card prove at this time.
pub fn verify_card(card: &Value, trust: &FleetTrust, now: Timestamp) -> CardProof {
    let signatures = card.get(SIGNATURES).and_then(Value::as_array);
    let mut proof = CardProof::Unknown;
    for signature in signatures.into_iter().flatten().take(MAX_SIGNATURES) {
        let Some((protected, certificate)) = signer(signature) else { continue };
        proof = CardProof::Invalid;
        let Some(agent) = trust.check_client_at(&certificate, now) else { continue };
        let bytes = signature.get("signature").and_then(Value::as_str);
        let Some(bytes) = bytes.and_then(|text| base64::decode_url(text).ok()) else { continue };
        for content in [whole(card), cleaned(&whole(card)), members_only(card)] {
            let input = signing_input(protected, &content).unwrap_or_default();
            if verify_es256(&certificate, input.as_bytes(), &bytes) {
                return CardProof::Signed { agent, content };
            }
        }
    }
    proof
}

/// The protected header of a signature and the certificate that it names; nothing if the signature
/// is of another kind.
fn signer(signature: &Value) -> Option<(&str, Vec<u8>)> {
    let protected = signature.get("protected").and_then(Value::as_str)?;
    let header = base64::decode_url(protected).ok()?;
    let header: Value = serde_json::from_slice(&header).ok()?;
    // Extensions that must be understood are not.
    if header.get("alg").and_then(Value::as_str) != Some("ES256") || header.get("crit").is_some() {
        return None;
    }
    let certificate = header.get("x5c")?.get(0)?.as_str()?;
    Some((protected, base64::decode(certificate).ok()?))
}

fn signing_input(protected: &str, payload: &Value) -> Result<String, TlsError> {
    let text = payload.to_string();
    let parsed = countersign_json::parse(&text)
        .map_err(|_| TlsError::Unusable("the card is not valid JSON".to_owned()))?;
    let payload = base64::encode_url(canonical(&parsed).text.as_bytes());
    Ok(format!("{protected}.{payload}"))
}

/// The card without its signatures.
fn whole(card: &Value) -> Value {
    let mut card = card.clone();
    if let Some(members) = card.as_object_mut() {
        members.remove(SIGNATURES);
    }
    card
}

fn members_only(card: &Value) -> Value {
    let members = MEMBERS.iter().filter_map(|name| {
        let value = cleaned(card.get(*name)?);
        (!is_empty(&value)).then(|| ((*name).to_owned(), value))
    });
    Value::Object(members.collect())
}

/// A value without empty texts, lists and objects in it.
fn cleaned(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), cleaned(value)));
            Value::Object(members.filter(|(_, value)| !is_empty(value)).collect::<Map<_, _>>())
        }
        Value::Array(items) => {
            Value::Array(items.iter().map(cleaned).filter(|value| !is_empty(value)).collect())
        }
        other => other.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use countersign_tls::{
        FleetAuthority, NewFleetCertificate, generate_authority, generate_key, sign_with_key,
    };
    use countersign_types::time::Millis;

    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    /// A trust, a key, its certificate, and the authority.
    fn fleet() -> (FleetTrust, Vec<u8>, Vec<u8>, FleetAuthority) {
        let (key, own) = generate_authority("ours", NOW).unwrap();
        let authority = FleetAuthority::open(&key, &own).unwrap();
        let trust = FleetTrust::new(&own).unwrap();
        trust.use_list(&authority.revocation_list(&[], 1, NOW).unwrap(), NOW).unwrap();
        let key = generate_key().unwrap();
        let (public_key, _) = sign_with_key(&key, |_| String::new()).unwrap();
        let new = NewFleetCertificate {
            agent: "bob",
            hosts: &[],
            public_key: &public_key,
            serial: [7; 16],
            life: Millis(3_600_000),
        };
        let certificate = authority.issue(&new, NOW).unwrap();
        (trust, key.to_vec(), certificate, authority)
    }

    fn card() -> Value {
        json!({
            "name": "bob", "description": "ä", "url": "https://x", "skills": [],
            "capabilities": { "streaming": false }, "securityRequirements": [{ "mtls": {} }],
        })
    }

    #[test]
    fn a_signed_card_is_accepted_and_every_change_is_noticed() {
        let (trust, key, certificate, authority) = fleet();
        let signed = sign_card(&card(), &key, &certificate).unwrap();
        let proof = verify_card(&signed, &trust, NOW);
        assert_eq!(proof, CardProof::Signed { agent: "bob".to_owned(), content: card() });
        for (name, value) in [("name", json!("eve")), ("description", json!("")), ("x", json!(1))] {
            let mut changed = signed.clone();
            set(&mut changed, name, value);
            let is_whole = verify_card(&changed, &trust, NOW)
                == CardProof::Signed { agent: "bob".to_owned(), content: whole(&changed) };
            assert!(!is_whole, "{name}");
        }
        // A member outside of version 1.0 is not in what is proven.
        let mut moved = signed.clone();
        set(&mut moved, "url", json!("https://evil"));
        let CardProof::Signed { content, .. } = verify_card(&moved, &trust, NOW) else {
            panic!("the members of 1.0 are still signed");
        };
        assert!(content.get("url").is_none(), "{content}");
        assert_eq!(verify_card(&card(), &trust, NOW), CardProof::Unknown);
        // After a revocation, and by another authority.
        let list = authority.revocation_list(&[(vec![7; 16], NOW)], 2, NOW).unwrap();
        trust.use_list(&list, NOW).unwrap();
        assert_eq!(verify_card(&signed, &trust, NOW), CardProof::Invalid);
        assert_eq!(verify_card(&signed, &fleet().0, NOW), CardProof::Invalid);
    }

    #[test]
    fn headers_that_mean_something_else_prove_nothing() {
        let (trust, key, certificate, _) = fleet();
        let signed = sign_card(&card(), &key, &certificate).unwrap();
        for change in [json!({ "alg": "none" }), json!({ "crit": ["b64"] }), json!({ "x5c": [] })] {
            let mut changed = signed.clone();
            for one in changed[SIGNATURES].as_array_mut().unwrap() {
                let header = base64::decode_url(one["protected"].as_str().unwrap()).unwrap();
                let mut header: Value = serde_json::from_slice(&header).unwrap();
                for (name, value) in change.as_object().unwrap() {
                    set(&mut header, name, value.clone());
                }
                one["protected"] = json!(base64::encode_url(header.to_string().as_bytes()));
            }
            assert_eq!(verify_card(&changed, &trust, NOW), CardProof::Unknown, "{change}");
        }
    }
}
