//! Forms as browsers send them (`application/x-www-form-urlencoded`), read strictly.

/// The fields of a form. A field that is there twice, or is no UTF-8, makes it unreadable.
#[derive(Debug)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Reads a body.
    pub fn read(body: &[u8]) -> Option<Form> {
        let mut fields: Vec<(String, String)> = Vec::new();
        for pair in body.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
            let mut halves = pair.splitn(2, |byte| *byte == b'=');
            let name = decoded(halves.next()?)?;
            let value = decoded(halves.next().unwrap_or_default())?;
            if fields.iter().any(|(known, _)| *known == name) {
                return None;
            }
            fields.push((name, value));
        }
        Some(Form(fields))
    }

    /// A field by its name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

fn decoded(text: &[u8]) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => digit(*rest.next()?)? << 4 | digit(*rest.next()?)?,
            other => *other,
        });
    }
    String::from_utf8(bytes).ok()
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
        for bad in ["a=1&a=2", "a=%", "a=%4", "a=%zz", "a=%FF"] {
            assert!(Form::read(bad.as_bytes()).is_none(), "{bad}");
        }
    }
}
