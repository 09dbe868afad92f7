//! Small readings of text arguments: secrets, addresses, SQL, patches.

use super::table::SECRET_STARTS;
use super::target::Access;
use crate::finding::Span;

/// Text is read for secrets up to here.
const READ_TO: usize = 64 * 1024;

/// The first well-known secret in a text.
pub(super) fn secret(text: &str) -> Option<(&'static str, Span)> {
    let mut at = 0;
    let ends = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    for token in text.split(ends) {
        if token.len() >= 20 {
            let found = SECRET_STARTS
                .iter()
                .find(|(start, least, _)| token.len() >= *least && token.starts_with(start));
            if let Some((_, _, name)) = found {
                return Some((name, Span::new(at, at + token.len())));
            }
        }
        at += token.len() + separator(text, at + token.len());
        if at > READ_TO {
            break;
        }
    }
    let block = text.find("-----BEGIN ").filter(|_| text.contains("PRIVATE KEY-----"))?;
    Some(("a private key", Span::new(block, block + 11)))
}

/// Bytes of the character that ended a token.
fn separator(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
}

/// The host of an address such as `https://user@host:1/path`.
pub(super) fn host(url: &str) -> Option<&str> {
    let rest = url.trim().split_once("://").map_or(url.trim(), |(_, rest)| rest);
    let place = rest.split(['/', '?', '#', '\\']).next()?;
    let place = place.rsplit('@').next()?;
    let name = if let Some(six) = place.strip_prefix('[') {
        six.split(']').next()?
    } else {
        place.split(':').next()?
    };
    (!name.is_empty() && !name.contains(char::is_whitespace)).then_some(name)
}

/// Addresses at which cloud machines hand out their own credentials.
pub(super) fn is_metadata_host(host: &str) -> bool {
    matches!(
        host.to_ascii_lowercase().as_str(),
        "169.254.169.254" | "metadata.google.internal" | "fd00:ec2::254" | "100.100.100.200"
    )
}

/// Whether a text can be a path at all.
pub(super) fn looks_like_path(text: &str) -> bool {
    text.len() < 4096 && !text.contains('\n') && text.contains(['/', '\\', '.', '~', '*'])
}

/// Whether a text says enough to hide a command in.
pub(super) fn says_something(text: &str) -> bool {
    text.trim().contains(|c: char| c.is_whitespace() || ";|&$`/(".contains(c))
}

/// Whether a text begins like a statement for a database.
pub(super) fn looks_like_sql(text: &str) -> bool {
    const FIRST: [&str; 16] = [
        "select", "insert", "update", "delete", "drop", "alter", "create", "truncate", "grant",
        "revoke", "with", "merge", "replace", "copy", "vacuum", "explain",
    ];
    const NEXT: [&str; 14] = [
        "from", "into", "table", "set", "database", "index", "view", "schema", "on", "as",
        "select", "user", "column", "where",
    ];
    let text = text.trim_start();
    let Some((first, rest)) = text.split_once(char::is_whitespace) else { return false };
    if !FIRST.iter().any(|f| first.eq_ignore_ascii_case(f)) {
        return false;
    }
    let next = |word: &str| NEXT.iter().any(|n| word.eq_ignore_ascii_case(n));
    rest.split_whitespace().take(40).any(next)
}

/// The files a patch touches, with their places in it.
pub(super) fn patched(text: &str) -> Vec<(&str, Access, Span)> {
    const HEADS: [(&str, Access); 5] = [
        ("*** Add File: ", Access::Write),
        ("*** Update File: ", Access::Write),
        ("*** Delete File: ", Access::Delete),
        ("*** Move to: ", Access::Write),
        ("+++ b/", Access::Write),
    ];
    let mut files = Vec::new();
    let mut at = 0;
    let mut old: Option<(&str, usize)> = None;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end();
        for (head, access) in HEADS {
            if let Some(path) = bare.strip_prefix(head) {
                files.push((path, access, place(at + head.len(), path)));
            }
        }
        if let Some(path) = bare.strip_prefix("--- a/") {
            old = Some((path, at + 6));
        } else if bare == "+++ /dev/null"
            && let Some((path, start)) = old.take()
        {
            files.push((path, Access::Delete, place(start, path)));
        }
        at += line.len();
    }
    files
}

fn place(start: usize, text: &str) -> Span {
    Span::new(start, start + text.len())
}

/// An amount as written: a number above zero, perhaps with a sign of its currency.
pub(super) fn is_amount(text: &str) -> bool {
    let bare =
        text.trim().trim_start_matches(|c: char| !c.is_ascii_digit() && c != '-' && c != '.');
    let digits = |c: char| c.is_ascii_digit();
    bare.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == '-')
        && bare.chars().any(|c| digits(c) && c != '0')
        && text.len() <= 40
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_seen_with_their_place() {
        let key = format!("ghp_{}", "a".repeat(36));
        let (name, span) = secret(&format!("é: {key}, bye")).unwrap();
        assert_eq!((name, span), ("a GitHub token", Span::new(4, 4 + key.len())));
        assert!(secret("the secret of ghp_ is short").is_none());
        assert!(secret(&format!("ghp_{}", "a".repeat(20))).is_none());
        assert!(secret("-----BEGIN RSA PRIVATE KEY-----").is_some());
        assert!(secret("-----BEGIN CERTIFICATE-----").is_none());
    }

    #[test]
    fn hosts_are_what_is_really_called() {
        assert_eq!(host("https://a.example@b.example:8/x"), Some("b.example"));
        assert_eq!(host("www.site.example/x?y"), Some("www.site.example"));
        assert_eq!(host("http://[::1]:80/"), Some("::1"));
        assert_eq!(host("two words"), None);
    }

    #[test]
    fn questions_are_not_sql() {
        assert!(looks_like_sql("  DELETE from users"));
        assert!(looks_like_sql("update x set y=1") && !looks_like_sql("update my friends please"));
        assert!(!looks_like_sql("select"));
        assert!(!looks_like_sql("create a nice poem"));
    }

    #[test]
    fn patches_name_their_files() {
        let text = "*** Begin Patch\n*** Delete File: a b.txt\n--- a/x\n+++ /dev/null\n+++ b/y\n";
        let files: Vec<_> = patched(text).into_iter().map(|(p, a, _)| (p, a)).collect();
        assert_eq!(
            files,
            [("a b.txt", Access::Delete), ("x", Access::Delete), ("y", Access::Write)]
        );
    }
}
