//! The signature with which Twilio proves that it sent a form.

use countersign_json::base64;
use ring::hmac;

use crate::form::Form;
use crate::secret::Token;

/// Whether Twilio signed this form for this URL: the URL, then all fields sorted by name.
pub fn is_signed(token: &Token, url: &str, form: &Form, signature: &str) -> bool {
    let Ok(given) = base64::decode(signature) else { return false };
    let mut signed = url.to_owned();
    for (name, value) in form.fields() {
        signed.push_str(name);
        signed.push_str(value);
    }
    // Twilio prescribes SHA-1; HMAC with SHA-1 is not broken.
    let algorithm = hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY;
    let key = hmac::Key::new(algorithm, token.expose().as_bytes());
    hmac::verify(&key, signed.as_bytes(), &given).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Twilio's own documentation.
    const URL: &str = "https://mycompany.com/myapp.php?foo=1&bar=2";
    const FORM: &str = "To=%2B18005551212&Digits=1234&Caller=%2B12349013030\
                        &From=%2B12349013030&CallSid=CA1234567890ABCDE";
    const SIGNATURE: &str = "0/KCTR6DLpKmkAf8muzZqo1nDgQ=";

    #[test]
    fn the_signature_of_twilio_s_documentation_is_valid_and_no_other() {
        let token = Token::from_text("12345");
        let fields = Form::read(FORM.as_bytes()).unwrap();
        assert!(is_signed(&token, URL, &fields, SIGNATURE));
        assert!(!is_signed(&Token::from_text("12346"), URL, &fields, SIGNATURE));
        assert!(!is_signed(&token, "https://mycompany.com/myapp.php", &fields, SIGNATURE));
        let changed = Form::read(FORM.replace("1234&", "1235&").as_bytes()).unwrap();
        assert!(!is_signed(&token, URL, &changed, SIGNATURE));
        let short = SIGNATURE.replace("DgQ=", "");
        for bad in ["", "====", &short, "AAAAAAAAAAAAAAAAAAAAAAAAAAA="] {
            assert!(!is_signed(&token, URL, &fields, bad), "{bad}");
        }
    }
}
