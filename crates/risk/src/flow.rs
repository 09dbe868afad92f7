//! What is known of the bytes that flow between commands.

use std::borrow::Cow;

use crate::limit::{Excess, Limit};

/// Bytes of one text that flows between commands.
const TEXT: Limit = Limit::new("bytes in a text between commands", 64 * 1024);

/// Where data comes from; bits add up along a pipe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taint(pub u8);

impl Taint {
    /// From the network.
    pub const NET: Taint = Taint(1);
    /// From the network without encryption, or from a bare address.
    pub const NET_OPEN: Taint = Taint(2);
    /// Keys, passwords, tokens.
    pub const SECRET: Taint = Taint(4);
    /// Decoded or unpacked.
    pub const DECODED: Taint = Taint(8);
    /// A local file.
    pub const FILE: Taint = Taint(16);
    /// Computed by another command.
    pub const COMPUTED: Taint = Taint(32);

    /// Cut off by one of our own bounds; reported where it is used.
    pub const LOST: Taint = Taint(64);

    /// Compiled from source files.
    pub const BUILT: Taint = Taint(128);

    /// Both.
    #[must_use]
    pub const fn and(self, other: Taint) -> Taint {
        Taint(self.0 | other.0)
    }

    /// Whether all bits of `other` are here.
    pub const fn has(self, other: Taint) -> bool {
        self.0 & other.0 == other.0
    }
}

impl From<Excess> for Taint {
    fn from(_: Excess) -> Taint {
        Taint::LOST
    }
}

/// Bytes on their way from one command to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flow {
    /// Whether anything flows here at all.
    pub present: bool,
    /// The exact text, where it can be known.
    pub text: Option<String>,
    /// Where it comes from.
    pub taint: Taint,
    /// The folder whose files it names, as `find` lists them.
    pub place: Option<String>,
    /// A pattern for protected files among them, as `find -name .env` lists them.
    pub protected: Option<String>,
}

impl Flow {
    /// Nothing.
    pub fn none() -> Flow {
        Flow::default()
    }

    /// Known text.
    pub fn text(text: String) -> Flow {
        Flow { present: true, text: Some(text), ..Flow::default() }
    }

    /// Something unknown of this origin.
    pub fn unknown(taint: Taint) -> Flow {
        Flow { present: true, taint, ..Flow::default() }
    }

    /// What one of two commands writes.
    #[must_use]
    pub fn or(mut self, other: &Flow) -> Flow {
        if self.text != other.text {
            self.text = None;
        }
        self.taint = self.taint.and(other.taint);
        self.present |= other.present;
        self.join_files(other.place.as_deref(), other.protected.as_deref());
        self
    }

    /// Adds the files that another command lists. Two lists have no common folder.
    fn join_files(&mut self, place: Option<&str>, protected: Option<&str>) {
        if self.place.as_deref() != place {
            self.place = None;
        }
        if self.protected.is_none() {
            self.protected = protected.map(ToOwned::to_owned);
        }
    }

    /// What two commands write one after the other.
    #[must_use]
    pub fn then(mut self, next: Flow) -> Flow {
        if !self.present {
            return next;
        }
        if !next.present {
            return self;
        }
        self.taint = self.taint.and(next.taint);
        self.join_files(next.place.as_deref(), next.protected.as_deref());
        match (&mut self.text, next.text) {
            (Some(a), Some(b)) => match TEXT.check(a.len() + b.len()) {
                Ok(()) => a.push_str(&b),
                Err(excess) => {
                    self.taint = self.taint.and(excess.into());
                    self.text = None;
                }
            },
            (mine, _) => *mine = None,
        }
        self
    }
}

/// `printf FORMAT ARGS…`, for `%s`, `%b`, `%c`, `%d`, `%%` and escapes; bounded output.
pub fn printf(format: &str, args: &[Cow<'_, str>]) -> Option<String> {
    let mut out = String::new();
    let mut next = args.iter();
    for _ in 0..=args.len() {
        let mut chars = format.char_indices().peekable();
        let mut literal = String::new();
        let mut consumed = false;
        while let Some((_, c)) = chars.next() {
            if c != '%' {
                literal.push(c);
                if c == '\\' {
                    literal.extend(chars.next().map(|(_, c)| c));
                }
                continue;
            }
            out.push_str(&countersign_shell::posix::decode_escapes(&literal, false));
            literal.clear();
            while chars
                .peek()
                .is_some_and(|(_, c)| matches!(c, '-' | '+' | '0'..='9' | '.' | ' ' | '#'))
            {
                chars.next();
            }
            match chars.next().map(|(_, c)| c) {
                Some('%') => out.push('%'),
                Some('s' | 'd' | 'i') => {
                    consumed = true;
                    out.push_str(next.next().map_or("", |a| a));
                }
                Some('b') => {
                    consumed = true;
                    out.push_str(&countersign_shell::posix::decode_escapes(
                        next.next().map_or("", |a| a),
                        true,
                    ));
                }
                Some('c') => {
                    consumed = true;
                    out.extend(next.next().and_then(|a| a.chars().next()));
                }
                _ => return None,
            }
        }
        out.push_str(&countersign_shell::posix::decode_escapes(&literal, false));
        TEXT.check(out.len()).ok()?;
        if !consumed || next.len() == 0 {
            break;
        }
    }
    Some(out)
}

/// `tr SET1 SET2` with ranges, as used for simple ciphers.
pub fn translate(text: &str, from: &str, to: &str) -> Option<String> {
    let (from, to) = (ranges(from)?, ranges(to)?);
    let last = *to.last()?;
    Some(
        text.chars()
            .map(|c| match from.iter().position(|f| *f == c) {
                Some(i) => to.get(i).copied().unwrap_or(last),
                None => c,
            })
            .collect(),
    )
}

fn ranges(set: &str) -> Option<Vec<char>> {
    let mut out = Vec::new();
    let mut chars = set.chars().filter(|c| !matches!(c, '[' | ']')).peekable();
    while let Some(c) = chars.next() {
        if chars.peek() == Some(&'-') {
            chars.next();
            let Some(end) = chars.next() else {
                out.extend([c, '-']);
                break;
            };
            if end < c || u32::from(end) - u32::from(c) > 256 {
                return None;
            }
            out.extend(c..=end);
        } else {
            out.push(c);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_printf_and_tr() {
        assert_eq!(printf("%s %s\\n", &["a".into(), "b".into()]).as_deref(), Some("a b\n"));
        assert_eq!(printf("\\x72\\155", &[]).as_deref(), Some("rm"));
        assert_eq!(translate("ez -es /", "a-z", "n-za-m").as_deref(), Some("rm -rf /"));
    }
}
