//! Addresses: the host, and whether a name looks machine-made or borrowed from another site.

/// The host of an address.
pub(super) fn host(url: &str) -> Option<&str> {
    let rest = url.split_once("://")?.1;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host.split(':').next()?;
    (!host.is_empty()).then_some(host)
}

/// Whether the address hides behind a name that throw-away sites have: a host or a page named like
/// a site, with labels no person chose.
pub(super) fn disguised(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return false };
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = path.split_once('/').unwrap_or((path, ""));
    if authority.contains('@') || authority.contains("xn--") {
        return true;
    }
    let host = authority.split(':').next().unwrap_or_default();
    let mut labels = host.rsplit('.');
    let _top = labels.next();
    if labels.next().is_some_and(machine_made) {
        return true;
    }
    let page = path.rsplit('/').next().unwrap_or_default();
    let Some(site) = ["html", "htm", "php", "asp", "aspx"]
        .iter()
        .find_map(|end| page.strip_suffix(end).and_then(|p| p.strip_suffix('.')))
    else {
        return false;
    };
    let labels: Vec<&str> = site.split('.').collect();
    let top = labels.last().copied().unwrap_or_default();
    labels.len() >= 2
        && (2..=6).contains(&top.len())
        && top.bytes().all(|b| b.is_ascii_lowercase())
        && labels.iter().any(|label| machine_made(label))
}

/// Letters and digits mixed with hardly a vowel: nobody says such a name aloud.
fn machine_made(label: &str) -> bool {
    let bytes = label.as_bytes();
    if bytes.len() < 6 || !bytes.iter().all(u8::is_ascii_alphanumeric) {
        return false;
    }
    let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
    let vowels = bytes.iter().filter(|b| b"aeiouAEIOU".contains(b)).count();
    let turns = bytes
        .windows(2)
        .filter(|w| matches!(w, [a, b] if a.is_ascii_digit() != b.is_ascii_digit()))
        .count();
    digits > 0 && digits < bytes.len() && turns >= 2 && vowels * 5 <= bytes.len() - digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        assert_eq!(host("https://a.example:8080/x"), Some("a.example"));
        assert_eq!(host("http://user@evil.example/"), Some("evil.example"));
        assert_eq!(host("not an address"), None);
    }

    #[test]
    fn names_nobody_chose() {
        for url in [
            "https://pages.example/k93xtr.b7qzml.top.html",
            "http://q8zk2xvt.top/",
            "https://bank.example@evil.example/login",
        ] {
            assert!(disguised(url), "{url}");
        }
        for url in [
            "https://example.com/index.html",
            "https://api.github.com/repos/x/y",
            "https://cdn.example.com/app.3f2a9c.min.js",
            "https://d1x2y3z4k5.cloudfront.net/a.html",
            "https://docs.python.org/3.12/library/os.path.html",
            "https://w3schools.com/js/js.es6.html",
            "https://s3.amazonaws.com/bucket/k93xtr.csv",
            "https://example.com/v1.2.html",
        ] {
            assert!(!disguised(url), "{url}");
        }
    }
}
