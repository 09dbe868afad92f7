//! Adds a channel to `countersign.toml`: the person's own lines are kept, the previous file is
//! backed up, and nothing is written that the daemon would reject.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The text with a channel appended.
pub fn with_channel(text: &str, block: &str) -> String {
    let gap = match text {
        "" => "",
        _ if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    format!("{text}{gap}{block}")
}

/// The text with these channels at the first escalation level. The caller checks the result by
/// parsing it.
pub fn with_first_level(text: &str, channels: &[String]) -> String {
    let names: Vec<String> = channels.iter().map(|name| format!("{name:?}")).collect();
    let first = format!("first = [{}]", names.join(", "));
    let lines: Vec<&str> = text.lines().collect();
    // `ladder` is the section's former name.
    let is_head = |line: &&str| ["[escalation]", "[ladder]"].contains(&line.trim());
    let Some(head) = lines.iter().position(is_head) else {
        return with_channel(text, &format!("[escalation]\n{first}\n"));
    };
    let is_first = |line: &&str| {
        let rest = line.trim().strip_prefix("first").map(str::trim_start);
        rest.is_some_and(|rest| rest.starts_with('='))
    };
    let part = lines.iter().skip(head + 1).take_while(|line| !line.trim_start().starts_with('['));
    let old = part.clone().position(is_first).map(|at| head + 1 + at);
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        let new = old == Some(at);
        out.push_str(if new { &first } else { line });
        out.push('\n');
        if at == head && old.is_none() {
            out.push_str(&first);
            out.push('\n');
        }
    }
    out
}

/// Writes a secret that only its owner can read. The same secret may already exist.
pub fn write_secret(path: &Path, secret: &str) -> io::Result<bool> {
    if let Ok(there) = fs::read_to_string(path) {
        let for_others = fs::metadata(path)?.permissions().mode() & 0o077;
        let same = there.trim() == secret && for_others == 0;
        return if same { Ok(false) } else { Err(io::ErrorKind::AlreadyExists.into()) };
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(format!("{secret}\n").as_bytes())?;
    file.sync_all()?;
    Ok(true)
}

/// Replaces a file atomically and keeps the previous one. Returns its path, if there was one.
pub fn replace(path: &Path, text: &str) -> io::Result<Option<PathBuf>> {
    // If the path is a symbolic link, its target is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let beside = |end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    let (fresh, before) = (beside(".new"), beside(".before"));
    let mode = fs::metadata(&path).map_or(0o600, |about| about.permissions().mode() & 0o7777);
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()?;
    let kept = path.exists();
    if kept {
        fs::copy(&path, &before)?;
    }
    fs::rename(&fresh, &path)?;
    Ok(kept.then_some(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_persons_own_lines_stay() {
        let first_level = ["terminal".to_owned(), "telegram".to_owned()];
        let new = "first = [\"terminal\", \"telegram\"]";
        for (text, wanted) in [
            ("", format!("[escalation]\n{new}\n")),
            ("mode = \"observe\"", format!("mode = \"observe\"\n\n[escalation]\n{new}\n")),
            ("[escalation]\n# first = []\nnext = []\n[log]\nfirst = 1\n", {
                format!("[escalation]\n{new}\n# first = []\nnext = []\n[log]\nfirst = 1\n")
            }),
            (" [escalation]\nfirst=[\"terminal\"] # me\nnext = []\n", {
                format!(" [escalation]\n{new}\nnext = []\n")
            }),
            ("[ladder]\nfirst = []\n", format!("[ladder]\n{new}\n")),
        ] {
            assert_eq!(with_first_level(text, &first_level), wanted, "{text}");
        }
        assert_eq!(with_channel("a = 1\n", "[b]\n"), "a = 1\n\n[b]\n");
    }

    #[test]
    fn what_was_there_is_kept_and_secrets_are_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("countersign.toml");
        assert_eq!(replace(&path, "one").unwrap(), None);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let before = replace(&path, "two").unwrap().unwrap();
        assert_eq!(fs::read_to_string(&before).unwrap(), "one");
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o640);
        let secret = folder.path().join("token");
        assert!(write_secret(&secret, "1:a").unwrap());
        assert_eq!(mode(&secret), 0o600);
        assert!(!write_secret(&secret, "1:a").unwrap());
        assert!(write_secret(&secret, "1:b").is_err());
        assert_eq!(fs::read_to_string(&secret).unwrap(), "1:a\n");
    }
}
