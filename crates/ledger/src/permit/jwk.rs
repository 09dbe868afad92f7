//! Public keys as JSON Web Keys (RFC 8037), named by their thumbprints (RFC 7638).

use countersign_json::base64;
use countersign_json::canonical::Digest;

/// The id of a key: the thumbprint of its public parameters.
pub fn thumbprint(public_key: &[u8; 32]) -> String {
    let x = base64::encode_url(public_key);
    let least = format!("{{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"{x}\"}}");
    base64::encode_url(Digest::of(least.as_bytes()).as_bytes())
}

/// A key that verifies permits.
pub fn jwk(public_key: &[u8; 32]) -> String {
    let kid = thumbprint(public_key);
    let x = base64::encode_url(public_key);
    format!(
        "{{\"alg\":\"EdDSA\",\"crv\":\"Ed25519\",\"kid\":\"{kid}\",\"kty\":\"OKP\",\
         \"use\":\"sig\",\"x\":\"{x}\"}}"
    )
}

/// All keys that verify permits, the newest first.
pub fn jwks(public_keys: &[[u8; 32]]) -> String {
    let keys: Vec<String> = public_keys.iter().map(jwk).collect();
    format!("{{\"keys\":[{}]}}", keys.join(","))
}
