//! CBOR as authenticators write it, read strictly: definite lengths, shortest forms, no duplicate
//! keys.

/// The deepest nesting, and the most items.
const DEPTH: usize = 6;
const ITEMS: usize = 200;

/// The bytes are not in the accepted subset of CBOR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the authenticator data is not valid CBOR")]
pub struct Malformed;

/// One item. Tags and floats are not accepted: no authenticator needs them here.
#[derive(Debug, Clone, PartialEq)]
pub enum CborItem<'b> {
    /// An integer.
    Whole(i64),
    /// Bytes.
    Bytes(&'b [u8]),
    /// A string.
    Text(&'b str),
    /// A list.
    List(Vec<CborItem<'b>>),
    /// Pairs in the order received, without duplicate keys.
    Map(Vec<(CborItem<'b>, CborItem<'b>)>),
    /// A boolean.
    Flag(bool),
    /// Nothing.
    Null,
}

impl<'b> CborItem<'b> {
    /// The value of a string key.
    pub fn at(&self, name: &str) -> Option<&CborItem<'b>> {
        self.find(&CborItem::Text(name))
    }

    /// The value of an integer key.
    pub fn numbered(&self, number: i64) -> Option<&CborItem<'b>> {
        self.find(&CborItem::Whole(number))
    }

    fn find(&self, wanted: &CborItem<'_>) -> Option<&CborItem<'b>> {
        let CborItem::Map(pairs) = self else { return None };
        pairs.iter().find(|(key, _)| key == wanted).map(|(_, value)| value)
    }

    /// The bytes, if it is a byte string.
    pub fn bytes(&self) -> Option<&'b [u8]> {
        if let CborItem::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    /// The integer, if it is one.
    pub fn whole(&self) -> Option<i64> {
        if let CborItem::Whole(number) = self { Some(*number) } else { None }
    }

    /// The number of items or pairs.
    pub fn len(&self) -> usize {
        match self {
            CborItem::List(items) => items.len(),
            CborItem::Map(pairs) => pairs.len(),
            _ => 0,
        }
    }
}

/// Reads one item and returns what follows it.
pub fn read(bytes: &[u8]) -> Result<(CborItem<'_>, &[u8]), Malformed> {
    let mut reader = Reader { rest: bytes, items: 0 };
    let item = reader.item(DEPTH)?;
    Ok((item, reader.rest))
}

/// Reads one item that must be followed by nothing.
pub fn read_whole(bytes: &[u8]) -> Result<CborItem<'_>, Malformed> {
    match read(bytes)? {
        (item, []) => Ok(item),
        _ => Err(Malformed),
    }
}

struct Reader<'b> {
    rest: &'b [u8],
    items: usize,
}

impl<'b> Reader<'b> {
    fn take(&mut self, many: usize) -> Result<&'b [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(many).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        self.take(1)?.first().copied().ok_or(Malformed)
    }

    /// The number in a head, in its shortest form.
    fn number(&mut self, low: u8) -> Result<u64, Malformed> {
        let (size, least) = match low {
            0..=23 => return Ok(u64::from(low)),
            24 => (1, 24),
            25 => (2, 1 << 8),
            26 => (4, 1 << 16),
            27 => (8, 1 << 32),
            _ => return Err(Malformed),
        };
        let number = self.take(size)?.iter().fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
        if number >= least { Ok(number) } else { Err(Malformed) }
    }

    fn item(&mut self, depth: usize) -> Result<CborItem<'b>, Malformed> {
        let deeper = depth.checked_sub(1).ok_or(Malformed)?;
        self.items += 1;
        if self.items > ITEMS {
            return Err(Malformed);
        }
        let head = self.byte()?;
        let (major, low) = (head >> 5, head & 0x1F);
        if major == 7 {
            return match low {
                20 => Ok(CborItem::Flag(false)),
                21 => Ok(CborItem::Flag(true)),
                22 => Ok(CborItem::Null),
                _ => Err(Malformed),
            };
        }
        let number = self.number(low)?;
        let size = usize::try_from(number).map_err(|_| Malformed);
        match major {
            0 => i64::try_from(number).map(CborItem::Whole).map_err(|_| Malformed),
            1 => i64::try_from(number)
                .map(|number| CborItem::Whole(-1 - number))
                .map_err(|_| Malformed),
            2 => Ok(CborItem::Bytes(self.take(size?)?)),
            3 => std::str::from_utf8(self.take(size?)?).map(CborItem::Text).map_err(|_| Malformed),
            4 => {
                let mut items = Vec::new();
                for _ in 0..size? {
                    items.push(self.item(deeper)?);
                }
                Ok(CborItem::List(items))
            }
            5 => {
                let mut pairs: Vec<(CborItem<'b>, CborItem<'b>)> = Vec::new();
                for _ in 0..size? {
                    let key = self.item(deeper)?;
                    if pairs.iter().any(|(known, _)| *known == key) {
                        return Err(Malformed);
                    }
                    pairs.push((key, self.item(deeper)?));
                }
                Ok(CborItem::Map(pairs))
            }
            _ => Err(Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authenticator_cbor_is_read() {
        // {"fmt": "none", "attStmt": {}, "authData": h'0102'}
        let bytes = b"\xA3\x63fmt\x64none\x67attStmt\xA0\x68authData\x42\x01\x02";
        let item = read_whole(bytes).unwrap();
        assert_eq!(item.at("fmt"), Some(&CborItem::Text("none")));
        assert_eq!(item.at("authData").unwrap().bytes(), Some(&[1, 2][..]));
        assert_eq!(item.at("attStmt").map(CborItem::len), Some(0));
        assert_eq!(read_whole(&[0x26]).unwrap(), CborItem::Whole(-7));
        assert_eq!(read_whole(&[0x38, 0x18]).unwrap(), CborItem::Whole(-25));
        assert_eq!(read(&[0xF5, 9]).unwrap(), (CborItem::Flag(true), &[9][..]));
    }

    #[test]
    fn malformed_cbor_is_rejected() {
        let deep = [0x81_u8; 20];
        let many = [&[0x98, 0xFF][..], &[0x00; 255][..]].concat();
        for bad in [
            &b""[..],
            &[0x18, 0x17],                   // not the shortest form
            &[0x19, 0x00, 0xFF],             // neither
            &[0x5F, 0x41, 0x01, 0xFF],       // of no said length
            &[0xFF],                         // an end of nothing
            &[0xC1, 0x00],                   // a tag
            &[0xF9, 0x3C, 0x00],             // a floating number
            &[0xF7],                         // undefined
            &[0xA2, 0x01, 0x02, 0x01, 0x03], // a key twice
            &[0x42, 0x01],                   // cut off
            &[0x61, 0xFF],                   // no UTF-8
            &[0x00, 0x00],                   // something behind it
            &[0x1B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            &[0x5B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            &[0x9B, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00],
            &deep,
            &many,
        ] {
            assert_eq!(read_whole(bad), Err(Malformed), "{bad:02x?}");
        }
    }
}
