//! Forms (`application/x-www-form-urlencoded`), read strictly. Signatures cover the decoded fields,
//! so a form that could be read in two ways is refused.

use percent_encoding::percent_decode;

/// The longest form, in bytes, and the most fields of one.
const MAX_LENGTH: usize = 1 << 20;
const MAX_FIELDS: usize = 200;

/// The fields of a form, sorted by name.
#[derive(Debug, PartialEq, Eq)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Reads a body. Nothing if a field is there twice, an escape is incomplete, or a field is not
    /// UTF-8.
    pub fn read(body: &[u8]) -> Option<Form> {
        if body.len() > MAX_LENGTH {
            return None;
        }
        let mut fields = Vec::new();
        for pair in body.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
            let mut halves = pair.splitn(2, |byte| *byte == b'=');
            let name = decode(halves.next().unwrap_or_default())?;
            fields.push((name, decode(halves.next().unwrap_or_default())?));
            if fields.len() > MAX_FIELDS {
                return None;
            }
        }
        fields.sort();
        let twice = fields.windows(2).any(|two| matches!(two, [(a, _), (b, _)] if a == b));
        (!twice).then_some(Form(fields))
    }

    /// A field by its name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All fields, sorted by name.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Writes fields as a form.
pub fn write(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

fn decode(text: &[u8]) -> Option<String> {
    let is_hex = u8::is_ascii_hexdigit;
    let is_escape = |rest: &[u8]| matches!(rest, [high, low, ..] if is_hex(high) && is_hex(low));
    // `percent_decode` would leave an incomplete escape as it is.
    let mut after_percent = text.split(|byte| *byte == b'%').skip(1);
    if !after_percent.all(is_escape) {
        return None;
    }
    let spaced: Vec<u8> =
        text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    percent_decode(&spaced).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_read_whole_or_not_at_all() {
        let form = Form::read(b"a=b+c&d=%7B%22x%22%3A1%7D&e&f=g=h&%C3%A9=%E2%9C%85").unwrap();
        for (name, value) in
            [("a", "b c"), ("d", "{\"x\":1}"), ("e", ""), ("f", "g=h"), ("é", "✅")]
        {
            assert_eq!(form.get(name), Some(value));
        }
        assert_eq!(form.get("z"), None);
        let many: Vec<String> = (0..300).map(|number| format!("k{number}=1")).collect();
        let many = many.join("&");
        for bad in ["a=1&a=2", "a=%", "a=%2", "a=%zz", "a=%FF", "a=%+1", "%zz=1", many.as_str()] {
            assert_eq!(Form::read(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(Form::read(&[0xFF]), None);
    }

    #[test]
    fn forms_come_back_as_they_were_written() {
        let fields = [("Body", "50 % off & more = \u{e4}\u{1f534}+\r\n"), ("To", "+1800")];
        let read = Form::read(write(&fields).as_bytes()).unwrap();
        assert_eq!(read.fields().collect::<Vec<_>>(), fields);
    }
}
