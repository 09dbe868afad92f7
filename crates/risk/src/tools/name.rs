//! Tool names in all their spellings: one compact key, and words.

/// Longer names are read to here and called unreadable.
pub(super) const LONGEST: usize = 160;

/// Letters and digits of a name in lower case, nothing else: every spelling gives one key.
pub(super) fn compact(name: &str) -> String {
    let mut key = String::with_capacity(name.len().min(LONGEST));
    for c in name.chars().filter(|c| c.is_alphanumeric()).take(LONGEST) {
        push_small(&mut key, c);
    }
    key
}

/// A name taken apart at its explicit separators.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts<'n> {
    /// The server, without words such as `mcp` and `server`; empty if none is named.
    pub server: String,
    /// The tool's own name.
    pub tool: &'n str,
}

/// Takes `mcp__server__tool`, `server.tool`, `server/tool`, `server:tool` apart.
pub(super) fn parts(name: &str) -> Parts<'_> {
    if !name.bytes().any(|b| matches!(b, b'_' | b'.' | b'/' | b':')) {
        return Parts { server: String::new(), tool: name };
    }
    let double = name.rsplit_once("__").filter(|(_, tool)| !tool.is_empty());
    let single = name.rsplit_once(['.', '/', ':']).filter(|(_, tool)| !tool.is_empty());
    let (server, tool) = match (double, single) {
        (Some(d), Some(s)) if s.1.len() < d.1.len() => s,
        (Some(d), _) => d,
        (None, Some(s)) => s,
        (None, None) => ("", name),
    };
    let mut key = String::new();
    for word in words(server).split(' ') {
        if !IGNORED_SERVER_WORDS.contains(&word) {
            key.push_str(word);
        }
    }
    Parts { server: key, tool }
}

include!(concat!(env!("OUT_DIR"), "/server_words.rs"));

/// The words of a name in lower case, one space between them.
pub(super) fn words(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 8);
    let mut before = ' ';
    let mut rest = name.chars().take(LONGEST).peekable();
    while let Some(c) = rest.next() {
        if !c.is_alphanumeric() {
            before = ' ';
            continue;
        }
        let next_small = rest.peek().is_some_and(|n| n.is_lowercase());
        let starts = c.is_uppercase()
            && (before.is_lowercase()
                || before.is_ascii_digit()
                || before.is_uppercase() && next_small);
        if (before == ' ' || starts) && !out.is_empty() {
            out.push(' ');
        }
        push_small(&mut out, c);
        before = c;
    }
    out
}

fn push_small(out: &mut String, c: char) {
    if c.is_ascii() {
        out.push(c.to_ascii_lowercase());
    } else {
        out.extend(c.to_lowercase());
    }
}

/// Whether an argument's name is this compact name in some spelling.
pub(super) fn same(key: &str, compact: &str) -> bool {
    key == compact
        || key.len() >= compact.len()
            && key
                .bytes()
                .filter(u8::is_ascii_alphanumeric)
                .map(|b| b.to_ascii_lowercase())
                .eq(compact.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_gives_one_key() {
        for name in ["create_issue", "createIssue", "CreateIssue", "create-issue", "create issue"] {
            assert_eq!(compact(name), "createissue");
        }
    }

    #[test]
    fn servers_are_taken_off() {
        let pairs = [
            ("mcp__github__create_issue", "github", "create_issue"),
            ("github.create_issue", "github", "create_issue"),
            ("server-github/create_issue", "github", "create_issue"),
            ("mcp__claude_ai_Gmail__send", "gmail", "send"),
            ("read_file", "", "read_file"),
            ("__", "", "__"),
            ("a.", "", "a."),
        ];
        for (name, server, tool) in pairs {
            assert_eq!(parts(name), Parts { server: server.to_owned(), tool }, "{name}");
        }
    }

    #[test]
    fn words_end_where_people_see_them_end() {
        assert_eq!(words("EpicFHIRManageRecords"), "epic fhir manage records");
        assert_eq!(words("get_user-info v2"), "get user info v2");
        assert_eq!(words("GmailSendEmail"), "gmail send email");
        assert_eq!(words("__"), "");
        assert_eq!(words("SSHKey2Add"), "ssh key2 add");
    }
}
