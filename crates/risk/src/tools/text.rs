//! Small readings of text arguments: secrets, addresses, SQL, patches.

use super::table::SECRET_STARTS;
use crate::finding::Span;
use crate::name_lists::{DECLINING_ANSWERS, KEY_NAMES, METADATA_HOSTS};
use countersign_text::fold::{FoldedChar, fold, is_invisible, lookalike};

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
    }
    let block = text.find("-----BEGIN ").filter(|_| text.contains("PRIVATE KEY"))?;
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
    METADATA_HOSTS.contains(&host.to_ascii_lowercase().as_str())
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

/// Whether a text says nothing that could be run: empty, a number, true or false.
pub(super) fn is_inert(text: &str) -> bool {
    let text = text.trim();
    matches!(text, "" | "true" | "false" | "True" | "False" | "null")
        || text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b','))
            && text.bytes().any(|b| b.is_ascii_digit())
}

/// Whether a text is one word: a name, an identifier, a number with its unit.
pub(super) fn is_plain_word(text: &str) -> bool {
    text.len() <= 128 && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:@+,=#/".contains(c))
}

/// Whether a text can only be a path: no shell would find a second command in it.
pub(super) fn is_plain_path(text: &str) -> bool {
    let text = text.trim();
    let rooted = text.starts_with(['/', '~', '.']) || text.get(1..3) == Some(":\\");
    !text.contains(|c: char| c.is_control() || ";|&$`<>".contains(c))
        && (rooted || !text.contains(char::is_whitespace))
}

/// Whether a text for a running program is only keys that send no command: control characters,
/// arrows, an interrupt, or the word that declines or leaves.
pub(super) fn is_key(text: &str) -> bool {
    let rest = without_keys(text);
    let rest = rest.trim_matches(|c: char| c.is_control() || c.is_whitespace());
    let lower = rest.to_ascii_lowercase();
    rest.is_empty()
        || KEY_NAMES.contains(&lower.as_str())
        || DECLINING_ANSWERS.contains(&lower.as_str())
}

/// The text without key names in braces (`{enter}`) and without cursor sequences.
pub(super) fn without_keys(text: &str) -> String {
    let mut out = text.to_owned();
    for key in KEY_NAMES {
        let braced = format!("{{{key}}}");
        if out.contains(&braced) {
            out = out.replace(&braced, "\n");
        }
    }
    for arrow in ["\u{1b}[A", "\u{1b}[B", "\u{1b}[C", "\u{1b}[D"] {
        out = out.replace(arrow, "");
    }
    out
}

/// Whether a text is a GraphQL document that changes something.
pub(super) fn is_graphql_change(text: &str) -> bool {
    text.contains('{')
        && text.split(['\n', '}']).any(|part| {
            part.trim_start().strip_prefix("mutation").is_some_and(|rest| {
                rest.starts_with(|c: char| c.is_whitespace() || c == '{' || c == '(')
            })
        })
}

/// Whether an address holds so much that it can carry data away: a long query or host name, or
/// long runs of letters and digits that are no words.
pub(super) fn carries_data(url: &str) -> bool {
    const QUERY: usize = 200;
    const PART: usize = 100;
    const HOST: usize = 80;
    const OPAQUE: usize = 100;
    let rest = url.trim().split_once("://").map_or(url.trim(), |(_, rest)| rest);
    let (place, query) = rest.split_once(['?', '#']).unwrap_or((rest, ""));
    let (host, path) = place.split_once('/').unwrap_or((place, ""));
    let opaque: usize = rest.split(['/', '?', '&', '#', ',', ';']).map(opaque_length).sum();
    let long = |part: &str| {
        part.len() >= PART
            && (part.len() >= 2 * PART || part.split('-').any(|word| word.len() > 20))
    };
    host.len() >= HOST || query.len() >= QUERY || opaque >= OPAQUE || path.split('/').any(long)
}

/// The length of the longest run in a text that looks encoded, if it is no short identifier.
fn opaque_length(text: &str) -> usize {
    let encoded = |run: &&str| {
        run.len() >= 32
            && run.bytes().any(|b| b.is_ascii_uppercase())
            && run.bytes().any(|b| b.is_ascii_lowercase())
            && run.bytes().any(|b| b.is_ascii_digit())
    };
    let runs = text.split(|c: char| !(c.is_ascii_alphanumeric() || "+_-%".contains(c)));
    runs.filter(encoded).map(str::len).max().unwrap_or(0)
}

/// An amount as written: a number above zero, perhaps with a sign of its currency. Digits of any
/// script count and blanks do not, because tools read such texts as the same number.
pub(super) fn is_amount(text: &str) -> bool {
    const LONGEST: usize = 40;
    const LONGEST_SIGN: usize = 4;
    let is_blank = |c: char| c.is_whitespace() || c.is_control() || is_invisible(c);
    let compact: String = text.chars().filter(|c| !is_blank(*c)).collect();
    let bare = compact.trim_start_matches(|c: char| !c.is_numeric() && c != '-' && c != '.');
    let sign = compact.len() - bare.len();
    bare.chars().any(|c| c.is_numeric() && c != '0')
        && (compact.len() <= LONGEST || sign <= LONGEST_SIGN)
}

/// A name for comparison: without case, width, accents, blanks and hidden characters.
pub(super) fn folded_name(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for c in text.chars() {
        let narrow = match c {
            '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c),
            _ => lookalike(c).unwrap_or(c),
        };
        match fold(narrow) {
            FoldedChar::Nothing | FoldedChar::Space => {}
            FoldedChar::Pair(first, second) => name.extend([first, second]),
            FoldedChar::Letter(c)
            | FoldedChar::Alone(c)
            | FoldedChar::Stop(c)
            | FoldedChar::Other(c) => name.push(c),
        }
    }
    name
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
    fn keys_are_no_commands() {
        for key in ["", "\u{3}", "\r\n", "{up}{enter}", "C-c", "\u{1b}[A", "n\n", "q"] {
            assert!(is_key(key), "{key:?}");
        }
        for typed in ["ls", "y", "rm -rf /\n", "rm{enter}"] {
            assert!(!is_key(typed), "{typed:?}");
        }
        assert_eq!(without_keys("ls{enter}"), "ls\n");
    }

    #[test]
    fn words_and_paths_are_plain_where_no_shell_finds_a_command() {
        assert!(is_plain_word("shell-1") && !is_plain_word("rm x") && !is_plain_word("$(x)"));
        for path in ["/srv/My Files", "src", "C:\\My Files", "~/a"] {
            assert!(is_plain_path(path), "{path}");
        }
        for path in ["rm -rf /", "/x; rm", "$(x)", "a\nb", "`x`"] {
            assert!(!is_plain_path(path), "{path}");
        }
        assert!(is_inert("30") && is_inert("-1.5") && !is_inert("-") && !is_inert("ls"));
    }

    #[test]
    fn long_addresses_carry_data() {
        assert!(!carries_data("https://docs.example/a/b?x=1#top"));
        assert!(carries_data(&format!("https://x.example/?d={}", "a".repeat(200))));
        assert!(carries_data(&format!("https://x.example/{}", "a".repeat(100))));
        assert!(carries_data(&format!("https://{}.x.example/", "a".repeat(80))));
        assert!(carries_data(&format!("https://x.example/c?d={}", "QUtJQUlP0".repeat(12))));
        let title = "how-to-solve-the-plugin-problem-a-complete-step-by-step-guide-for-local-";
        assert!(!carries_data(&format!("https://x.example/{title}testing-and-other-things-2-5/")));
        assert!(!carries_data(
            "https://x.example/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit"
        ));
    }

    #[test]
    fn amounts_are_seen_in_digits_of_any_script_and_at_any_length() {
        let long = [" ".repeat(40) + "9", "0".repeat(41) + "9", format!("$9{}", "x".repeat(40))];
        for amount in ["5", " $5", "-1.5", "USD 20", "５００", "٥٠٠", "\u{200b}5"] {
            assert!(is_amount(amount), "{amount:?}");
        }
        assert!(long.iter().all(|amount| is_amount(amount)));
        let prose = format!("as agreed on day 9 {}", "x".repeat(40));
        for other in ["", "0", "0.00", "-", "none", &prose] {
            assert!(!is_amount(other), "{other:?}");
        }
    }

    #[test]
    fn graphql_changes_are_seen() {
        assert!(is_graphql_change("mutation { deleteUser(id: 1) { id } }"));
        assert!(is_graphql_change("query A { a }\nmutation B($x: Int) { b }"));
        assert!(!is_graphql_change("query { mutations { id } }"));
        assert!(!is_graphql_change("mutation rates of viruses"));
    }
}
