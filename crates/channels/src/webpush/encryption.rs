//! A message encrypted for one browser: RFC 8291 over `aes128gcm` (RFC 8188), in one record.

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::error::Unspecified;
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::{SecureRandom as _, SystemRandom};
use zeroize::Zeroizing;

use super::browser::Browser;

/// The maximum length of a message: push services accept 4096 bytes in total.
pub const MOST: usize = 3_900;
/// The size of a record; ours is the only one and smaller.
const RECORD: u32 = 4096;
/// The delimiter after the last record.
const LAST: u8 = 2;
const POINT: usize = 65;
const SALT: usize = 16;

/// The number of bytes to derive.
struct Size(usize);

impl KeyType for Size {
    fn len(&self) -> usize {
        self.0
    }
}

/// Encrypts a text with a key and a salt that are used only once.
pub fn seal(browser: &Browser, text: &[u8]) -> Result<Vec<u8>, Unspecified> {
    let random = SystemRandom::new();
    let own = EphemeralPrivateKey::generate(&ECDH_P256, &random)?;
    let public = own.compute_public_key()?;
    let mut salt = [0; SALT];
    random.fill(&mut salt)?;
    let theirs = UnparsedPublicKey::new(&ECDH_P256, &browser.public_key);
    let sealed = agree_ephemeral(own, &theirs, |shared| {
        sealed_with(shared, public.as_ref(), browser, &salt, text)
    });
    sealed?
}

/// Encrypts with given keys and salt.
fn sealed_with(
    shared: &[u8],
    public: &[u8],
    browser: &Browser,
    salt: &[u8; SALT],
    text: &[u8],
) -> Result<Vec<u8>, Unspecified> {
    if text.len() > MOST || browser.public_key.len() != POINT || public.len() != POINT {
        return Err(Unspecified);
    }
    let about = [b"WebPush: info\0".as_slice(), &browser.public_key, public].concat();
    let key = derived(&browser.secret, shared, &about, 32)?;
    let content = derived(salt, &key, b"Content-Encoding: aes128gcm\0", 16)?;
    let nonce = derived(salt, &key, b"Content-Encoding: nonce\0", NONCE_LEN)?;
    let mut record = text.to_vec();
    record.push(LAST);
    let nonce = Nonce::try_assume_unique_for_key(&nonce)?;
    let content = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &content)?);
    content.seal_in_place_append_tag(nonce, Aad::empty(), &mut record)?;
    let length = u8::try_from(public.len()).map_err(|_| Unspecified)?;
    Ok([salt.as_slice(), &RECORD.to_be_bytes(), &[length], public, &record].concat())
}

fn derived(
    salt: &[u8],
    secret: &[u8],
    about: &[u8],
    size: usize,
) -> Result<Zeroizing<Vec<u8>>, Unspecified> {
    let mut out = Zeroizing::new(vec![0; size]);
    let key = Salt::new(HKDF_SHA256, salt).extract(secret);
    key.expand(&[about], Size(size))?.fill(&mut out)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use countersign_json::base64::decode_url;

    use super::super::browser::test_browser as browser;
    use super::*;

    /// RFC 8291, section 5 and appendix A.
    #[test]
    fn the_example_of_the_standard_is_sealed_byte_for_byte() {
        let shared = decode_url("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs").unwrap();
        let public = "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6P\
                      Bru3jl7A8";
        let salt = decode_url("DGv6ra1nlYgDCS1FRnbzlw").unwrap().try_into().unwrap();
        let sealed = sealed_with(
            &shared,
            &decode_url(public).unwrap(),
            &browser("https://push.example.net/"),
            &salt,
            b"When I grow up, I want to be a watermelon",
        );
        let wanted = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3\
                      vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwb\
                      uwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN";
        assert_eq!(sealed.unwrap(), decode_url(wanted).unwrap());
    }

    #[test]
    fn each_message_has_its_own_key_and_salt_and_fits() {
        let browser = browser("https://push.example.net/");
        let (one, two) = (seal(&browser, b"x").unwrap(), seal(&browser, b"x").unwrap());
        assert_ne!(one[..16], two[..16]);
        assert_ne!(one[21..86], two[21..86]);
        assert!(seal(&browser, &[b'x'; MOST]).unwrap().len() <= 4096);
        assert!(seal(&browser, &[b'x'; MOST + 1]).is_err());
    }
}
