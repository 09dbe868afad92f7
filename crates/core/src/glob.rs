//! Globs with `*` and `?`, matched in linear space and without recursion.

/// Whether `text` fits `pattern`. `*` is any run of bytes, `?` one byte; a pattern that begins with
/// `(?i)` ignores ASCII case. Work is bounded by `pattern × text`, both short.
pub fn matches(pattern: &str, text: &str) -> bool {
    match pattern.strip_prefix("(?i)") {
        Some(rest) => fits(rest.as_bytes(), text.as_bytes(), true),
        None => fits(pattern.as_bytes(), text.as_bytes(), false),
    }
}

/// Whether any of the patterns fits.
pub fn any(patterns: &[&str], text: &str) -> bool {
    patterns.iter().any(|p| matches(p, text))
}

fn fits(pattern: &[u8], text: &[u8], fold: bool) -> bool {
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
    fn stars_and_marks() {
        assert!(matches("delete-*", "delete-bucket"));
        assert!(matches("*.pem", "a.pem") && !matches("*.pem", "a.pem.txt"));
        assert!(matches("a*b*c", "axxbyyc") && !matches("a*b*c", "axxbyy"));
        assert!(matches("/dev/sd?", "/dev/sda") && !matches("/dev/sd?", "/dev/sda1"));
        assert!(matches("(?i)drop *", "DROP TABLE") && !matches("drop *", "DROP TABLE"));
        assert!(matches("", "") && !matches("", "x") && matches("*", ""));
    }
}
