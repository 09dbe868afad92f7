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

impl GlobShape {
    /// Whether a text matches a pattern of this shape, given its literal text (the whole pattern
    /// where it is `General`). With `fold`, which only `General` patterns have, ASCII case is
    /// ignored.
    #[inline(never)]
    pub fn compare(self, pattern: &str, fold: bool, text: &str) -> bool {
        if fold {
            return run(pattern.as_bytes(), text.as_bytes(), true);
        }
        match self {
            GlobShape::Any => true,
            GlobShape::Exact => text == pattern,
            GlobShape::Prefix => text.starts_with(pattern),
            GlobShape::Suffix => text.ends_with(pattern),
            GlobShape::Contains => text.contains(pattern),
            GlobShape::General => run(pattern.as_bytes(), text.as_bytes(), false),
        }
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
            for sample in ["", "a", "ab", "xab", "abx", "xabx", "ba", "aab"] {
                let same = shape.compare(text, false, sample) == matches(pattern, sample);
                assert!(same, "{pattern} {sample}");
            }
        }
    }
}
