//! Globs with `*` and `?`, classified by shape at build time so that most need no matching loop.

mod bytes;

pub use bytes::{ALWAYS, CAPITAL, bit_of, bytes_of};

/// The bit of `-`, with which every option begins; a test checks the value.
pub const DASH: u64 = 1 << 46;

/// The shape of a pattern; every shape except `General` is a plain comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlobShape {
    /// `*`
    Any,
    /// No star.
    Exact,
    /// `text*`
    Prefix,
    /// `*text`
    Suffix,
    /// `*text*`
    Contains,
    /// Anything else.
    General,
}

/// A pattern of the rule tables. A leading `(?i)` in the rule file ignores ASCII case.
#[derive(Debug, Clone, Copy)]
pub struct Glob {
    /// The literal text, or the whole pattern where it is `General`.
    pub text: &'static str,
    /// Its shape.
    pub shape: GlobShape,
    /// Ignores ASCII case.
    pub fold: bool,
    /// The bytes that a matching text contains, as a set from `bytes_of`.
    pub needs: u64,
}

impl Glob {
    /// Whether a text matches, given its set of bytes. Most patterns are rejected by the set alone.
    #[inline]
    pub fn fits(&self, text: &str, bytes: u64) -> bool {
        self.needs & !bytes == 0 && self.compare(text)
    }

    #[inline(never)]
    fn compare(&self, text: &str) -> bool {
        if self.fold {
            return run(self.text.as_bytes(), text.as_bytes(), true);
        }
        match self.shape {
            GlobShape::Any => true,
            GlobShape::Exact => text == self.text,
            GlobShape::Prefix => text.starts_with(self.text),
            GlobShape::Suffix => text.ends_with(self.text),
            GlobShape::Contains => text.contains(self.text),
            GlobShape::General => run(self.text.as_bytes(), text.as_bytes(), false),
        }
    }
}

/// Several patterns, of which any may match.
#[derive(Debug, Clone, Copy)]
pub struct Globs {
    /// The bytes that all of the patterns need.
    pub needs: u64,
    /// The rarest byte of each pattern: a text without any of them matches none.
    pub marks: u64,
    /// The patterns grouped by their rarest byte, each group with the bytes that all its patterns
    /// need.
    pub runs: &'static [(u64, &'static [Glob])],
}

impl Globs {
    /// Whether there are no patterns.
    pub const fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Whether any of the patterns matches.
    #[inline]
    pub fn fit(&self, text: &str, bytes: u64) -> bool {
        let likely = |(needs, run): &(u64, &'static [Glob])| {
            needs & !bytes == 0 && run.iter().any(|p| p.fits(text, bytes))
        };
        self.needs & !bytes == 0 && self.marks & bytes != 0 && self.runs.iter().any(likely)
    }
}

/// Whether `text` matches a pattern that is not from the tables.
pub fn matches(pattern: &str, text: &str) -> bool {
    run(pattern.as_bytes(), text.as_bytes(), false)
}

/// `*` matches any run of bytes, `?` one byte. No recursion; work is bounded by `pattern × text`.
fn run(pattern: &[u8], text: &[u8], fold: bool) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match (pattern.get(p), text.get(t)) {
            (None, None) => return true,
            (Some(b'*'), _) => {
                if p + 1 == pattern.len() {
                    return true;
                }
                retry = Some((p + 1, t));
                p += 1;
                continue;
            }
            (Some(&a), Some(&b)) if a == b'?' || a == b || (fold && a.eq_ignore_ascii_case(&b)) => {
                p += 1;
                t += 1;
                continue;
            }
            _ => {}
        }
        match retry {
            Some((after, from)) if from < text.len() => {
                p = after;
                t = from + 1;
                retry = Some((after, from + 1));
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dash_is_the_bit_of_the_hyphen() {
        assert_eq!(bytes_of("-"), DASH | ALWAYS);
    }

    #[test]
    fn stars_and_question_marks_match() {
        assert!(matches("delete-*", "delete-bucket"));
        assert!(matches("*.pem", "a.pem") && !matches("*.pem", "a.pem.txt"));
        assert!(matches("a*b*c", "axxbyyc") && !matches("a*b*c", "axxbyy"));
        assert!(matches("/dev/sd?", "/dev/sda") && !matches("/dev/sd?", "/dev/sda1"));
        assert!(matches("", "") && !matches("", "x") && matches("*", ""));
    }

    #[test]
    fn every_shape_agrees_with_the_general_matcher() {
        let shapes = [
            (GlobShape::Prefix, "ab", "ab*"),
            (GlobShape::Suffix, "ab", "*ab"),
            (GlobShape::Contains, "ab", "*ab*"),
            (GlobShape::Exact, "ab", "ab"),
            (GlobShape::Any, "", "*"),
        ];
        for (shape, text, pattern) in shapes {
            let glob = Glob { text, shape, fold: false, needs: bytes_of(text) };
            for sample in ["", "a", "ab", "xab", "abx", "xabx", "ba", "aab"] {
                assert_eq!(
                    glob.fits(sample, bytes_of(sample)),
                    matches(pattern, sample),
                    "{pattern} {sample}"
                );
            }
        }
    }
}
