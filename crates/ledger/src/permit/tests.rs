//! Permits: golden form, and every way to turn one into another.

use ed25519_dalek::{Signature, Signer, SigningKey};

use super::*;
use countersign_json::canonical::Digest;
use countersign_types::tier::Tier;

fn secret() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

fn kid() -> String {
    thumbprint(&secret().verifying_key().to_bytes())
}

fn claims() -> Claims {
    Claims {
        iss: "countersign.example".into(),
        iat: 1_763_190_000,
        exp: 1_763_190_060,
        jti: "p-1".into(),
        sub: "coder".into(),
        aud: None,
        request: "r-42".into(),
        tool: "Bash".into(),
        digest: Digest::of(b"call"),
        raw_digest: Digest::of(b"raw"),
        both_bind: false,
        session: Some("s-1".into()),
        policy: Digest::of(b"policy"),
        tier: Tier::High,
        decided_by: "ana".into(),
        channel: "web".into(),
        grant: None,
    }
}

fn permit(claims: &Claims) -> String {
    let input = signing_input(claims, &kid()).unwrap();
    let signature = secret().sign(input.as_bytes()).to_bytes();
    assemble(&input, &signature)
}

fn expected() -> Expected<'static> {
    Expected {
        digest: claims().call(),
        agent: "coder",
        audience: None,
        now_s: 1_763_190_030,
        leeway_s: 0,
    }
}

fn holds(of: &str, message: &[u8], signature: &[u8; 64]) -> bool {
    let signature = Signature::from_bytes(signature);
    of == kid() && secret().verifying_key().verify_strict(message, &signature).is_ok()
}

fn accepted(text: &str, expected: &Expected<'_>) -> Result<Claims, PermitError> {
    check(&parse(text)?, expected, holds).cloned()
}

/// A permit with any header and payload, properly signed.
fn with(header: &str, payload: &str) -> String {
    let encode = |text: &str| base64::encode_url(text.as_bytes());
    let input = format!("{}.{}", encode(header), encode(payload));
    let signature = secret().sign(input.as_bytes()).to_bytes();
    assemble(&input, &signature)
}

#[test]
fn golden() {
    let digest = |bytes: &[u8]| Digest::of(bytes).to_string();
    let parts = [
        r#"{"both_bind":false,"channel":"web","decided_by":"ana","digest":""#,
        &digest(b"call"),
        r#"","exp":1763190060,"iat":1763190000,"iss":"countersign.example","#,
        r#""jti":"p-1","policy":""#,
        &digest(b"policy"),
        r#"","raw_digest":""#,
        &digest(b"raw"),
        r#"","request":"r-42","session":"s-1","sub":"coder","tier":"HIGH","tool":"Bash"}"#,
    ];
    let payload = parts.concat();
    assert_eq!(claims().to_json(), payload);
    let header = format!(r#"{{"alg":"EdDSA","kid":"{}","typ":"countersign-permit+jwt"}}"#, kid());
    let text = permit(&claims());
    assert_eq!(text, with(&header, &payload));
    // The hash of the whole permit: a change of one byte is a new format.
    assert_eq!(Digest::of(text.as_bytes()).to_string(), GOLDEN);
    assert_eq!(accepted(&text, &expected()), Ok(claims()));
    let value: serde_json::Value = serde_json::from_str(&payload).unwrap();
    assert_eq!(serde_json_canonicalizer::to_string(&value).unwrap(), payload);
}

const GOLDEN: &str = "fe5048a10bb012d4ff10fee75ee64e0c1ccbbc4d8abc4fbc59be14fb42b66040";

#[test]
fn every_claim_is_decoded() {
    let whole = Claims { aud: Some("runner".into()), grant: Some("g-1".into()), ..claims() };
    let to_runner = Expected { audience: Some("runner"), ..expected() };
    assert_eq!(accepted(&permit(&whole), &to_runner), Ok(whole));
    let bare = Claims { session: None, ..claims() };
    assert_eq!(accepted(&permit(&bare), &to_runner), Ok(bare));
    for tier in Tier::ALL {
        let other = Claims { tier, decided_by: "\"\u{1f600}\n\\".into(), ..claims() };
        assert_eq!(accepted(&permit(&other), &expected()), Ok(other));
    }
}

#[test]
fn it_is_for_one_call_one_agent_one_time() {
    let text = permit(&claims());
    let refused = |expected: Expected<'_>, why: PermitError| {
        assert_eq!(accepted(&text, &expected), Err(why));
    };
    let mut other = claims().call();
    other.canonical = Digest::of(b"another");
    refused(Expected { digest: other, ..expected() }, PermitError::OtherCall);
    refused(Expected { agent: "Coder", ..expected() }, PermitError::OtherAgent);
    refused(Expected { agent: "", ..expected() }, PermitError::OtherAgent);
    for (now_s, result) in [
        (i64::MIN, Err(PermitError::NotYet)),
        (1_763_189_999, Err(PermitError::NotYet)),
        (1_763_190_000, Ok(claims())),
        (1_763_190_059, Ok(claims())),
        (1_763_190_060, Err(PermitError::Expired)),
        (i64::MAX, Err(PermitError::Expired)),
    ] {
        assert_eq!(accepted(&text, &Expected { now_s, ..expected() }), result, "{now_s}");
    }
    // Leeway lets a permit begin earlier; it never lasts longer.
    let late = Expected { now_s: 1_763_190_060, leeway_s: u16::MAX, ..expected() };
    refused(late, PermitError::Expired);
    let early = Expected { now_s: 1_763_189_990, leeway_s: 10, ..expected() };
    assert!(accepted(&text, &early).is_ok());
    refused(Expected { now_s: 1_763_189_989, ..early }, PermitError::NotYet);
    // A verifier that trusts no key rejects every permit.
    let parsed = parse(&text).unwrap();
    assert_eq!(check(&parsed, &expected(), |_, _, _| false), Err(PermitError::Signature));
}

#[test]
fn the_raw_bytes_bind_if_either_side_requires_it() {
    let mut other = claims().call();
    other.raw = Digest::of(b"other bytes");
    let elsewhere = Expected { digest: other, ..expected() };
    assert!(accepted(&permit(&claims()), &elsewhere).is_ok());
    let both = permit(&Claims { both_bind: true, ..claims() });
    assert_eq!(accepted(&both, &elsewhere), Err(PermitError::OtherCall));
    other.both_bind = true;
    let strict = Expected { digest: other, ..expected() };
    assert_eq!(accepted(&permit(&claims()), &strict), Err(PermitError::OtherCall));
}

#[test]
fn a_permit_with_an_audience_is_only_for_that_executor() {
    let text = permit(&Claims { aud: Some("runner".into()), ..claims() });
    for audience in [None, Some(""), Some("runner2")] {
        let found = accepted(&text, &Expected { audience, ..expected() });
        assert_eq!(found, Err(PermitError::OtherAudience));
    }
    assert!(accepted(&text, &Expected { audience: Some("runner"), ..expected() }).is_ok());
}

#[test]
fn no_changed_byte_is_accepted() {
    let text = permit(&claims());
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ \n";
    let (mut tried, mut read) = (0, 0);
    for at in 0..text.len() {
        for &letter in letters.iter().filter(|&&letter| letter != text.as_bytes()[at]) {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = letter;
            let bad = String::from_utf8(bytes).unwrap();
            tried += 1;
            let Ok(parsed) = parse(&bad) else { continue };
            read += 1;
            // Signing is slow without optimization: of those that can be parsed, one in eight.
            if read % 8 == 0 {
                assert_eq!(check(&parsed, &expected(), holds), Err(PermitError::Signature));
            }
            let same = parse(&text).unwrap();
            let differs =
                parsed.signing_input != same.signing_input || parsed.signature != same.signature;
            assert!(differs, "byte {at}: a second text for the same permit");
        }
        assert!(accepted(text.get(..at).unwrap(), &expected()).is_err(), "cut at {at}");
    }
    assert!(read > 1_000 && tried > 10 * read / 2, "{read} of {tried}");
    for more in [".", "=", "A", "\n", " ", ".AAAA", "\0"] {
        assert!(parse(&format!("{text}{more}")).is_err());
        assert!(parse(&format!("{more}{text}")).is_err());
    }
}

#[test]
fn other_headers_are_rejected_even_when_signed() {
    let (payload, kid) = (claims().to_json(), kid());
    let good = format!(r#"{{"alg":"EdDSA","kid":"{kid}","typ":"countersign-permit+jwt"}}"#);
    assert!(accepted(&with(&good, &payload), &expected()).is_ok());
    let refused = |header: String, why: PermitError| {
        assert_ne!(header, good);
        assert_eq!(accepted(&with(&header, &payload), &expected()), Err(why), "{header}");
    };
    for alg in ["none", "None", "HS256", "ES256", "RS256", "eddsa", "Ed25519", "EdDSA ", ""] {
        refused(good.replace("\"EdDSA\"", &format!("\"{alg}\"")), PermitError::Algorithm);
    }
    refused(good.replace("\"alg\":\"EdDSA\",", ""), PermitError::Algorithm);
    refused(good.replace("\"EdDSA\"", "null"), PermitError::Algorithm);
    refused(good.replace("\"EdDSA\"", "[\"EdDSA\"]"), PermitError::Algorithm);
    refused(good.replace("permit+jwt", "receipt+jwt"), PermitError::Type);
    refused(good.replace("countersign-permit+jwt", "JWT"), PermitError::Type);
    refused(good.replace(",\"typ\":\"countersign-permit+jwt\"", ""), PermitError::Type);
    refused(good.replace(&format!("\"kid\":\"{kid}\","), ""), PermitError::Kid);
    refused(good.replace(&kid, ""), PermitError::Kid);
    refused(good.replace(&kid, &"k".repeat(MAX_KID + 1)), PermitError::Kid);
    refused(good.replace(&kid, "other"), PermitError::Signature);
    for more in ["\"crit\":[\"b64\"]", "\"b64\":false", "\"jwk\":{}", "\"x5u\":\"https://a\""] {
        refused(good.replacen('{', &format!("{{{more},"), 1), PermitError::Unknown);
    }
    refused(good.replacen('{', "{\"alg\":\"none\",", 1), PermitError::Header);
    refused(good.replace(':', ": "), PermitError::NotCanonical);
    refused(good.replace("EdDSA", "Ed\\u0044SA"), PermitError::NotCanonical);
    refused("[]".into(), PermitError::Header);
    refused(String::new(), PermitError::Header);
}

#[test]
fn other_payloads_are_rejected_even_when_signed() {
    let header = header(&kid()).unwrap();
    let good = claims().to_json();
    let refused = |payload: String, why: PermitError| {
        assert_ne!(payload, good);
        assert_eq!(accepted(&with(&header, &payload), &expected()), Err(why), "{payload}");
    };
    for (from, name) in [
        ("\"both_bind\":false,", "both_bind"),
        ("\"exp\":1763190060,", "exp"),
        ("\"iat\":1763190000,", "iat"),
        ("\"jti\":\"p-1\",", "jti"),
        ("\"sub\":\"coder\",", "sub"),
        ("\"tier\":\"HIGH\",", "tier"),
        ("\"request\":\"r-42\",", "request"),
    ] {
        refused(good.replace(from, ""), PermitError::Claim(name));
    }
    for (from, to, name) in [
        ("\"both_bind\":false", "\"both_bind\":\"false\"", "both_bind"),
        ("1763190060", "1763190000", "exp"),
        ("1763190060", "9007199254740993", "exp"),
        ("1763190060", "1e400", "exp"),
        ("1763190060", "\"1763190060\"", "exp"),
        ("1763190000", "-1", "iat"),
        ("1763190000", "1763190000.5", "iat"),
        ("\"HIGH\"", "\"high\"", "tier"),
        ("\"s-1\"", "null", "session"),
        ("\"coder\"", "[\"coder\"]", "sub"),
        ("{\"both", "{\"aud\":[\"runner\"],\"both", "aud"),
    ] {
        refused(good.replace(from, to), PermitError::Claim(name));
    }
    let unknown = PermitError::Claim("unknown");
    refused(good.replacen('{', "{\"admin\":true,", 1), unknown);
    refused(good.replacen('{', "{\"sub\":\"root\",", 1), PermitError::Payload);
    refused(good.replacen('{', "{ ", 1), PermitError::NotCanonical);
    refused(good.replace("coder", "cod\\u0065r"), PermitError::NotCanonical);
    refused(
        good.replace("{\"both_bind\":false,", "{").replace('}', ",\"both_bind\":false}"),
        PermitError::NotCanonical,
    );
    refused("null".into(), PermitError::Payload);
}

#[test]
fn other_shapes_are_rejected() {
    let text = permit(&claims());
    let parts: Vec<&str> = text.split('.').collect();
    let (header, payload, signature) = (parts[0], parts[1], parts[2]);
    for bad in [
        String::new(),
        ".".into(),
        "..".into(),
        format!("{header}.{payload}"),
        format!("{header}.{payload}."),
        format!("{header}.{payload}.{signature}.{signature}"),
        format!("{header}..{payload}.{signature}"),
        format!("{header}.{payload}.{signature}="),
        format!("{header}=.{payload}.{signature}"),
        format!("{header}.{payload}.{}", signature.get(..85).unwrap()),
        format!("{header}.{payload}.{signature}AA"),
    ] {
        assert_eq!(parse(&bad), Err(PermitError::Shape), "{bad}");
    }
    assert_eq!(parse(&"A".repeat(MAX_PERMIT + 1)), Err(PermitError::TooLong));
    let long = Claims { tool: "x".repeat(MAX_PERMIT), ..claims() };
    assert_eq!(signing_input(&long, "k"), Err(PermitError::TooLong));
    assert_eq!(signing_input(&claims(), ""), Err(PermitError::Kid));
    let never = Claims { exp: claims().iat, ..claims() };
    assert_eq!(signing_input(&never, "k"), Err(PermitError::Claim("exp")));
    // The longest permit that is issued is also accepted.
    let mut fits = claims();
    while let Ok(input) = signing_input(&fits, &kid()) {
        assert!(parse(&assemble(&input, &[0; 64])).is_ok());
        fits.tool.push_str("0123456789abcdef0123456789abcdef");
    }
}

#[test]
fn keys_are_published_as_rfc_8037_shows() {
    let x = base64::decode_url("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo").unwrap();
    let key: [u8; 32] = x.try_into().unwrap();
    assert_eq!(thumbprint(&key), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    let parts = [
        r#"{"alg":"EdDSA","crv":"Ed25519","kid":"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k","#,
        r#""kty":"OKP","use":"sig","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
    ];
    assert_eq!(jwk(&key), parts.concat());
    assert_eq!(jwks(&[]), r#"{"keys":[]}"#);
    let two: serde_json::Value = serde_json::from_str(&jwks(&[key, [1; 32]])).unwrap();
    assert_eq!(two["keys"].as_array().unwrap().len(), 2);
}
