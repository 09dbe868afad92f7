//! Forms as Twilio takes and sends them, and its signature over one.

use countersign_core::base64;
use ring::hmac;

use crate::secret::Token;

/// The longest form, and the most fields of one.
const LONGEST: usize = 64 * 1024;
const MOST: usize = 200;

/// Writes `application/x-www-form-urlencoded`.
pub fn write(fields: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (name, value) in fields {
        if !text.is_empty() {
            text.push('&');
        }
        encode(&mut text, name);
        text.push('=');
        encode(&mut text, value);
    }
    text
}

fn encode(text: &mut String, part: &str) {
    for byte in part.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'*') {
            text.push(char::from(byte));
        } else {
            text.push('%');
            for digit in [byte >> 4, byte & 0xF] {
                text.extend(char::from_digit(digit.into(), 16).map(|d| d.to_ascii_uppercase()));
            }
        }
    }
}

/// The fields of a form by name; nothing if one is there twice or cannot be read.
pub fn read(body: &[u8]) -> Option<Vec<(String, String)>> {
    let text = std::str::from_utf8(body).ok().filter(|text| text.len() <= LONGEST)?;
    let mut fields = Vec::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()).take(MOST + 1) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        fields.push((decode(name)?, decode(value)?));
    }
    fields.sort();
    let twice = fields.windows(2).any(|two| matches!(two, [(a, _), (b, _)] if a == b));
    (!twice && fields.len() <= MOST).then_some(fields)
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Whether Twilio signed this form for this address. The fields are sorted by name.
pub fn is_signed(token: &Token, url: &str, fields: &[(String, String)], signature: &str) -> bool {
    let Ok(given) = base64::decode(signature) else { return false };
    let mut signed = url.to_owned();
    for (name, value) in fields {
        signed.push_str(name);
        signed.push_str(value);
    }
    // Twilio's choice, not ours; HMAC with SHA-1 is not broken.
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
    fn the_signature_of_the_documentation_holds_and_no_other() {
        let token = Token::from_text("12345");
        let fields = read(FORM.as_bytes()).unwrap();
        assert!(is_signed(&token, URL, &fields, SIGNATURE));
        assert!(!is_signed(&Token::from_text("12346"), URL, &fields, SIGNATURE));
        assert!(!is_signed(&token, "https://mycompany.com/myapp.php", &fields, SIGNATURE));
        let changed = read(FORM.replace("1234&", "1235&").as_bytes()).unwrap();
        assert!(!is_signed(&token, URL, &changed, SIGNATURE));
        let short = SIGNATURE.replace("DgQ=", "");
        for bad in ["", "====", &short, "AAAAAAAAAAAAAAAAAAAAAAAAAAA="] {
            assert!(!is_signed(&token, URL, &fields, bad), "{bad}");
        }
    }

    #[test]
    fn forms_come_back_as_they_were_written() {
        let fields = [("Body", "50 % off & more = \u{e4}\u{1f534}+\r\n"), ("To", "+1800")];
        let read = read(write(&fields).as_bytes()).unwrap();
        let read: Vec<(&str, &str)> = read.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(read, fields);
        assert_eq!(super::read(b"a=1+2&b").unwrap()[0].1, "1 2");
    }

    #[test]
    fn what_has_two_meanings_has_none() {
        let many: Vec<String> = (0..300).map(|number| format!("k{number}=1")).collect();
        let many = many.join("&");
        for bad in ["Body=YES&Body=NO", "a=%", "a=%2", "a=%zz", "a=%ff", many.as_str()] {
            assert_eq!(read(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(read(&[0xFF]), None);
    }
}
