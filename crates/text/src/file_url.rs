//! `file:` URLs in all their spellings, such as `file:///etc/x`.

use std::borrow::Cow;

use crate::decode::percent_lossy;

/// The path of a `file:` URL: scheme in any case, an empty host or a name of this machine, percent
/// escapes decoded. `None` for any other text.
pub fn file(text: &str) -> Option<Cow<'_, str>> {
    let text = text.trim_start();
    let (scheme, rest) = (text.get(..5)?, text.get(5..)?);
    if !scheme.eq_ignore_ascii_case("file:") {
        return None;
    }
    let path = rest.strip_prefix("//").map_or(rest, |rest| {
        let (host, _) = rest.split_once('/').unwrap_or((rest, ""));
        let here = ["localhost", "127.0.0.1", "[::1]"];
        let here = here.iter().any(|name| host.eq_ignore_ascii_case(name));
        // Another host name may be the first directory of a URL with a missing slash.
        if here { rest.get(host.len()..).unwrap_or_default() } else { rest }
    });
    let end = path.find(['?', '#']).unwrap_or(path.len());
    Some(percent_lossy(path.get(..end).unwrap_or(path)))
}

/// The path of a URL without a host, whatever its scheme: `vault:///home/x`.
pub fn hostless(text: &str) -> Option<Cow<'_, str>> {
    let (_, path) = text.split_once("://")?;
    path.starts_with('/').then(|| percent_lossy(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_file_url_is_recognized() {
        for text in [
            "file:///etc/shadow",
            "FILE:///etc/shadow",
            "File:/etc/shadow",
            " file:///etc/shadow",
            "file://localhost/etc/shadow",
            "file://LocalHost/etc/shadow?x=1#y",
            "file:///etc/%73hadow",
            "file:///%65%74c/shadow",
        ] {
            assert_eq!(file(text).as_deref(), Some("/etc/shadow"), "{text}");
        }
        assert_eq!(file("file:x?mode=ro").as_deref(), Some("x"));
        assert_eq!(file("file://etc/shadow").as_deref(), Some("etc/shadow"));
        assert_eq!(file("file:///100%/x%2").as_deref(), Some("/100%/x%2"));
        assert_eq!(file("file:///.ss%68/x%ff").as_deref(), Some("/.ssh/x\u{fffd}"));
        for other in
            ["files:///etc/shadow", "/etc/shadow", "https://x.example/file:///y", "", "fil"]
        {
            assert_eq!(file(other), None, "{other}");
        }
        assert_eq!(hostless("fs:///etc/%73hadow").as_deref(), Some("/etc/shadow"));
        assert_eq!(hostless("https://x.example/etc/shadow"), None);
    }
}
